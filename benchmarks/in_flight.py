"""The price of many requests at once: fetches until 98 % is proved, with 1, 16, 64 and 512 in flight.

With more requests in flight the crawl knows less when it chooses: links of the pages in flight are not known yet.
Simulated over whole graphs, by the policy `certified`; every request takes about as long as any other.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import table
from benchmarks.sizes import DATA, sized
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web

GRAPHS = DATA / "graphs"
UNTIL = 0.98
IN_FLIGHT = (1, 16, 64, 512)
N_PAGES = sized(100_000, 300)


def webs() -> dict[str, tuple[LinkGraph, list[int]]]:
    """Graphs, with the pages that are trusted."""
    found: dict[str, tuple[LinkGraph, list[int]]] = {}
    generated = synthetic_web(N_PAGES)
    found[f"generated, {N_PAGES:,} pages"] = generated, home_pages(generated)
    if (GRAPHS / "docs-web-dev.npz").exists():
        documentation = LinkGraph.load(GRAPHS / "docs-web-dev.npz")
        found["36 documentation hosts"] = documentation, home_pages(documentation)
    return found


def home_pages(graph: LinkGraph) -> list[int]:
    """The first page of each host."""
    assert graph.hosts is not None
    pages: list[int] = np.unique(graph.hosts, return_index=True)[1].tolist()
    return pages


def latency_s(page: int, rng: np.random.Generator) -> float:
    return float(rng.uniform(0.5, 1.5))


def run() -> str:
    rows = []
    for name, (graph, seeds) in webs().items():
        fetches = [
            len(simulate(graph, "certified", trust=seeds, until=UNTIL, workers=n, latency_s=latency_s).order)
            for n in IN_FLIGHT
        ]
        rows.append([
            name, f"{fetches[0]:,}", *(f"{n:,}" for n in fetches[1:]),
            *(f"{100 * (n / fetches[0] - 1):+.1f}" for n in fetches[1:]),
        ])  # fmt: skip
    more = [f"{n} in flight" for n in IN_FLIGHT[1:]]
    return table(
        ["fetches until 98 % is proved", "one at a time", *more, *(f"{n}, % more" for n in IN_FLIGHT[1:])], rows
    )
