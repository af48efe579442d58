"""Ordering at web scale: CPU time of the policies on a generated web of 10 million pages.

Fractional PageRank is compared with the same loop over an ordinary binary heap that leaves stale entries behind, the
usual implementation. Trusted are the 160 pages with the most in-links.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lazy_heap import fractional_order
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.crawl.simulate import simulate
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web

EPS = 0.01
RUNS: list[tuple[str, str, dict[str, Any]]] = [
    ("fractional, all pages", "fractional", {}),
    ("fractional with M = 100, all pages", "fractional", {"inter_host_weight": 100.0}),
    ("rankmass until 0.99", "rankmass", {"until": 1 - EPS}),
    ("windowed-rankmass 5 % until 0.99", "windowed-rankmass", {"until": 1 - EPS, "window": 0.05}),
    ("certified until 0.99", "certified", {"until": 1 - EPS}),
    ("fractional until 0.99 certified", "fractional", {"until": 1 - EPS}),
]


def trusted_pages(web: LinkGraph) -> np.ndarray:
    return np.sort(np.argsort(-web.in_degrees(), kind="stable")[:160])


def policy(path: Path, name: str, settings: dict[str, Any]) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    trusted = trusted_pages(web)
    simulate(synthetic_web(2000), name, [0], **settings)

    def run() -> tuple[int, int]:
        trace = simulate(web, name, trusted, **settings)
        return trace.n_fetched, max(int(web.out_degrees()[trace.order].sum()), trace.n_links_read)

    return run


def lazy_heap(path: Path) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    trusted = trusted_pages(web)
    fractional_order(synthetic_web(2000), np.array([0]))

    def run() -> tuple[int, int]:
        order = fractional_order(web, trusted)
        return len(order), int(web.out_degrees()[order].sum())

    return run


def run(n_pages: int = sized(10_000_000, 300)) -> str:
    path = web_folder(n_pages)
    n_links = LinkGraph.load(path).n_links
    measurements = {label: measured(policy, path, name, settings, rounds=1) for label, name, settings in RUNS}
    measurements["fractional, all pages, lazy binary heap"] = measured(lazy_heap, path, rounds=1)
    base = measurements["fractional, all pages"].cpu_s
    rows = []
    for label, result in measurements.items():
        fetched, links = result.result
        rows.append([label, f"{fetched:,}", f"{result.cpu_s:.1f}", f"{fetched / result.cpu_s / 1e6:.2f}",
                     f"{1e9 * result.cpu_s / links:.0f}", f"{result.cpu_s / base:.2f}",
                     f"{result.peak_mib / 1024:.1f}"])  # fmt: skip
    headings = ["", "pages fetched", "CPU s", "M pages per CPU-s", "ns per link read", "x fractional", "peak GiB"]
    return f"{n_pages:,} pages, {n_links:,} links. {machine('numpy', 'numba')}\n\n{table(headings, rows)}"
