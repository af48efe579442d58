"""Choosing 10 seeds at 5 hops: what each method covers and costs, exact and sketched, and as the web grows.

`of greedy` is the coverage of a method as a share of exact greedy's. Exact is left out where it would take many
minutes. CPU time counts all threads; making the reverse graph, which the exact methods need once, is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import DATA, sized
from experiments.webs import web_folder
from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds import all_methods
from orienteer.seeds.select import seed_selection

K, HOPS = 10, 5
REAL = DATA / "graphs"
GROWTH = sized((100_000, 200_000, 1_000_000, 3_000_000, 10_000_000), (300,))
EXACT_UP_TO = 200_000


def selection(path: Path, method: str, depth: int) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    if method != "sketched-greedy":
        web.reverse()
    seed_selection(shapes.chain(3), 1, 2, method)

    def run() -> tuple[int, float | None]:
        found = seed_selection(web, K, HOPS, method, depth=depth)
        return found.n_covered, None if found.approximation is None else found.approximation.at_least

    return run


def _side_by_side(name: str, path: Path) -> str:
    web = LinkGraph.load(path)
    runs = [(method, 2) for method in all_methods()] + [("max-weight", 3)]
    results = {(method, depth): measured(selection, path, method, depth, rounds=1) for method, depth in runs}
    most = results["greedy", 2].result[0]
    rows = [
        [
            f"{method}({depth})" if method in ("max-weight", "max-scc", "root-scc") else method,
            f"{result.result[0]:,}",
            f"{result.result[0] / most:.3f}",
            f"{result.cpu_s:.2f}",
            f"{result.peak_mib:,.0f}",
        ]
        for (method, depth), result in sorted(results.items(), key=lambda item: -item[1].result[0])
    ]
    head = f"**{name}**: {web.n_pages:,} pages, {web.n_links:,} links\n\n"
    return head + table(["method", "pages covered", "of greedy", "CPU s", "peak MiB"], rows)


def _growth(sizes: tuple[int, ...]) -> str:
    rows = []
    for n_pages in sizes:
        path = web_folder(n_pages)
        sketched = measured(selection, path, "sketched-greedy", 2, rounds=1)
        covered, at_least = sketched.result
        of_exact, exact_s = "", ""
        if n_pages <= EXACT_UP_TO:
            exact = measured(selection, path, "greedy", 2, rounds=1)
            of_exact, exact_s = f"{covered / exact.result[0]:.3f}", f"{exact.cpu_s:.1f}"
        rows.append([f"{n_pages:,}", f"{covered:,}", of_exact, f"{at_least:.2f}", f"{sketched.cpu_s:.1f}",
                     f"{sketched.wall_s:.1f}", f"{sketched.peak_mib:,.0f}", exact_s])  # fmt: skip
    headings = ["generated web, pages", "covered by sketched-greedy", "of exact", "proved", "CPU s", "wall s",
                "peak MiB", "exact, CPU s"]  # fmt: skip
    return table(headings, rows) + "\n`proved`: each seed adds at least this share of the best page, at 99 %.\n"


def run(sizes: tuple[int, ...] = GROWTH) -> str:
    text = [machine("numba", "numpy") + "\n"]
    for name in ("cnr-2000-nat", "docs-web-dev", "schools-wikipedia-articles", "hollins-2004"):
        if (REAL / f"{name}.npz").exists():
            text.append(_side_by_side(name, REAL / f"{name}.npz"))
    text.append(_growth(sizes))
    return "\n".join(text)
