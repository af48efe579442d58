"""A graph of 100 million pages and over 2 billion links on one machine: made, loaded, ranked, taken apart.

The growth from 1M to 100M pages shows what a link costs when the graph no longer fits any cache.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph import shapes
from orienteer.graph.components import components
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

SIZES = sized((1_000_000, 10_000_000, 100_000_000), (300,))


def made(n_pages: int) -> Callable[[], Any]:
    web_folder(1000)
    return lambda: LinkGraph.load(web_folder(n_pages)).n_links


def loaded(path: Path) -> Callable[[], Any]:
    return lambda: LinkGraph.load(path).n_links


def ranked(path: Path) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    pagerank(shapes.cycle(3))
    return lambda: float(pagerank(web).sum())


def taken_apart(path: Path) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    components(shapes.cycle(3))
    return lambda: components(web)[0]


def run() -> str:
    rows = []
    for n_pages in SIZES:
        make = measured(made, n_pages, rounds=1)
        path = web_folder(n_pages)
        n_links = make.result
        row = [f"{n_pages / 1e6:.0f} M", f"{n_links / 1e6:,.0f} M", f"{make.wall_s:.0f}"]
        for task in (loaded, ranked, taken_apart):
            result = measured(task, path, rounds=1)
            row += [f"{result.cpu_s:.1f}", f"{1e9 * result.cpu_s / n_links:.1f}", f"{result.peak_mib / 1024:.1f}"]
        rows.append(row)
    headings = ["pages", "links", "made and saved, wall s (0: was there)"]
    for task in ("loaded and checked", "PageRank to 1e-6", "components"):
        headings += [f"{task}, CPU s", "ns a link", "peak GiB"]
    return f"{machine('numpy', 'numba')}\n\n{table(headings, rows)}"
