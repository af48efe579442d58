"""Fetches until a coverage of 0.98, by every policy: actual, by its own guarantee, and by the tight certificate.

Trusted are the 160 pages of the highest PageRank. Actual is known only in a simulation: the true rank of what was
fetched. `work` is what the certificate read until it was proved, in passes over the links of the fetched pages.
The figures in brackets are those of an independent prototype, where there are any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import table
from benchmarks.sizes import DATA, sized
from experiments.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

LEVEL = 0.98
N_PAGES = sized(200_000, 300)
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("optimal", {}),
    ("l-neighbor", {}),
    ("windowed-rankmass", {"window": 0.1}),
    ("windowed-rankmass", {"window": 0.05}),
    ("rankmass", {}),
    ("certified", {}),
    ("certified", {"eagerness": 0.1}),
    ("fractional", {}),
    ("fractional", {"inter_host_weight": 20.0}),
    ("opic", {}),
    ("breadth-first", {}),
    ("pagerank", {}),
    ("in-links", {}),
    ("random", {}),
]
# cnr-2000: actual, own guarantee, tight certificate.
PROTOTYPE = {
    "optimal": ("15,519", "", "28,615"),
    "l-neighbor": ("33,338", "325,552", "74,021"),
    "windowed-rankmass 0.1": ("16,464", "59,224", "28,192"),
    "windowed-rankmass 0.05": ("16,300", "41,094", "28,052"),
    "rankmass": ("16,289", "35,806", "28,052"),
    "fractional": ("16,880", "never", "28,758"),
    "opic": ("16,903", "", "28,901"),
    "pagerank": ("247,844", "", ""),
    "in-links": ("307,795", "", ""),
}


def graphs() -> dict[str, LinkGraph]:
    """The real graphs where they are at hand (../shared/data), and a generated web."""
    found = {}
    real = DATA / "graphs"
    for name in ("cnr-2000-nat", "docs-web-dev", "hollins-2004", "wb-cs-stanford-2001"):
        if (real / f"{name}.npz").exists():
            found[name] = LinkGraph.load(real / f"{name}.npz")
    found[f"generated, {N_PAGES:,} pages"] = LinkGraph.load(web_folder(N_PAGES))
    return found


def _row(graph: LinkGraph, name: str, settings: dict[str, Any], trusted: np.ndarray, truth: np.ndarray) -> list[str]:
    # Policies that push would go on pushing ever smaller mass to the end of the graph: stop them when all is proved.
    pushes = name in ("rankmass", "certified", "windowed-rankmass")
    trace = simulate(graph, name, trusted, until=LEVEL if pushes else None, **settings)
    covered = np.cumsum(truth[trace.order])
    actual = int(np.searchsorted(covered, LEVEL)) + 1
    own = ""
    if trace.guarantees is not None and name != "certified":
        proved = trace.guarantees >= LEVEL
        own = f"{int(np.argmax(proved)) + 1:,}" if proved.any() else "never"
    by_certificate = simulate(graph, name, trusted, until=LEVEL, by_certificate=True, **settings)
    links = int(graph.out_degrees()[by_certificate.order].sum())
    label = " ".join([name, *(f"{value:g}" for value in settings.values())])
    return [label, f"{actual:,}", own, f"{by_certificate.n_fetched:,}", f"{by_certificate.n_links_read / links:.0f}"]


def run() -> str:
    text = []
    for graph_name, graph in graphs().items():
        trusted = np.argsort(-pagerank(graph), kind="stable")[:160]
        truth = pagerank(graph, trusted, tolerance=1e-10)
        rows = []
        for name, settings in RUNS:
            if settings.get("inter_host_weight") and graph.hosts is None:
                continue
            row = _row(graph, name, settings, trusted, truth)
            if graph_name == "cnr-2000-nat" and row[0] in PROTOTYPE:
                row[1:4] = [
                    f"{ours} ({theirs})" if theirs else ours
                    for ours, theirs in zip(row[1:4], PROTOTYPE[row[0]], strict=True)
                ]
            rows.append(row)
        text.append(f"**{graph_name}**: {graph.n_pages:,} pages, {graph.n_links:,} links\n")
        text.append(table(["fetches until 0.98", "actual", "own guarantee", "certificate", "work, passes"], rows))
    return "\n".join(text)
