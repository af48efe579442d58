"""Fractional PageRank as the web grows, up to 80 million of 100 million pages.

The figure published with Fractional PageRank is under 2 hours for 80 million pages of a graph of 105,896,555 pages and
3,738,733,648 links, on one core with 4 GB (Java). Peak memory counts the mapped graph as far as it was touched.
"""

from __future__ import annotations

from benchmarks.crawl_speed import policy
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph.link_graph import LinkGraph

SIZES = sized({1_000_000: 800_000, 10_000_000: 8_000_000, 100_000_000: 80_000_000}, {300: 200})


def run() -> str:
    rows = []
    for n_pages, budget in SIZES.items():
        path = web_folder(n_pages)
        result = measured(policy, path, "fractional", {"budget": budget}, rounds=1)
        fetched, links = result.result
        rows.append([f"{fetched / 1e6:g} of {n_pages / 1e6:g} M", f"{LinkGraph.load(path).n_links / 1e6:,.0f} M",
                     f"{result.wall_s:.1f}", f"{result.cpu_s:.1f}", f"{fetched / result.cpu_s / 1e6:.2f}",
                     f"{1e9 * result.cpu_s / links:.0f}", f"{result.peak_mib / 1024:.1f}"])  # fmt: skip
    headings = ["pages", "links of the graph", "wall s", "CPU s", "M pages per CPU-s", "ns per link", "peak GiB"]
    return f"{machine('numpy', 'numba')}\n\n{table(headings, rows)}"
