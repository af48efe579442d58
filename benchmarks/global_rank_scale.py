"""The price of estimating the global rank: seconds a round as the crawled part grows, and a whole run in a large web.

Rounds are measured one by one where so many pages are crawled already: choosing the pages to fetch (stochastic
complement), taking in their links, ranking to 1e-6 with a warm start, estimating. Links are those of the crawled pages,
to the frontier too. The whole run is a domain of 60,000 pages in a generated web of 5 million, 2n pages in 50 rounds,
with the final answer to 1e-8; computing the true rank is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph import shapes
from orienteer.graph.estimation.estimation import Estimation, estimate_global_rank
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

METHODS = ("paper", "frontier-return")
SIZES = sized((10_000, 30_000, 100_000, 300_000, 1_000_000), (300,))
WEB = sized(5_000_000, 2_000)
DOMAIN = sized(60_000, 100)
ROUNDS = 3


def rounds(path: Path, size: int, method: str) -> Callable[[], Any]:
    """Three rounds where `size` pages are crawled, a third of them local: CPU seconds of each, links, frontier."""
    web = LinkGraph.load(path)
    first = web.n_pages // 3
    known = GrowingGraph()
    known.grow_to(web.n_pages)
    pages = np.arange(first, first + size, dtype=np.uint32)
    known.add_batch(pages, *_rows(web, pages))
    estimate_global_rank(shapes.cycle(9), [0, 1], method=method)
    estimation = Estimation(known, pages[: size // 3], method=method)

    def run() -> tuple[list[float], int, int]:
        seconds = []
        for _ in range(ROUNDS):
            start = time.process_time()
            wanted = estimation.next_pages(size // 75)
            estimation.fetched_batch(wanted, *_rows(web, wanted))
            estimation.round()
            seconds.append(time.process_time() - start)
        return seconds, estimation.neighborhood.n_links, len(estimation.neighborhood.frontier)

    return run


def whole(path: Path, method: str) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    truth = pagerank(web, tolerance=1e-10)
    local = np.arange(web.n_pages // 3, web.n_pages // 3 + DOMAIN)
    estimate_global_rank(shapes.cycle(9), [0, 1], method=method)

    def run() -> tuple[Any, Any, int, int]:
        found = estimate_global_rank(web, local, method=method, truth=truth)
        neighborhood = found.estimation.neighborhood
        return found.history[0].errors, found.history[-1].errors, neighborhood.n_links, len(neighborhood.frontier)

    return run


def _rows(web: LinkGraph, pages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    degrees = web.ends[pages] - web.starts[pages]
    offsets = np.concatenate(([0], np.cumsum(degrees)))
    return offsets, web.targets[np.arange(offsets[-1]) + np.repeat(web.starts[pages] - offsets[:-1], degrees)]


def run() -> str:
    path = web_folder(WEB)
    growth = []
    for size in SIZES:
        for method in METHODS:
            seconds, n_links, n_frontier = measured(rounds, path, size, method, rounds=1).result
            typical = float(np.median(seconds))
            growth.append([f"{size:,}, {method}", f"{n_links:,}", f"{n_frontier:,}", f"{typical:.2f}",
                           f"{1e9 * typical / n_links:.0f}"])  # fmt: skip
    complete = []
    for method in METHODS:
        result = measured(whole, path, method, rounds=1)
        before, after, n_links, n_frontier = result.result
        complete.append([method, f"{result.wall_s:.0f}", f"{result.cpu_s:.0f}", f"{result.peak_mib:,.0f}",
                         f"{n_links:,}", f"{n_frontier:,}", f"{before.l1:.4f}", f"{after.l1:.4f}",
                         f"{before.tau:.3f}", f"{after.tau:.3f}"])  # fmt: skip
    heads = [f"{DOMAIN:,} pages in {WEB:,}", "wall s", "CPU s", "peak MiB", "links", "frontier", "L1 before", "after",
             "tau before", "after"]  # fmt: skip
    return "\n".join([
        machine("numba", "numpy") + "\n",
        table(["crawled pages", "links", "frontier", "CPU s a round", "ns a link"], growth),
        table(heads, complete),
    ])  # fmt: skip
