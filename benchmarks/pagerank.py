"""PageRank to a true L1 error of 1e-6, compared with SciPy, NetworKit, igraph and NetworkX.

Every peer gets the loosest setting that reaches the error (found beforehand, not timed); ours runs with its default
tolerance, which is a proven bound. What it takes to bring the graph into each library's own form is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import is_installed, machine, measured, table
from benchmarks.peers import igraph_graph, networkit_graph
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank

ERROR = 1e-6
PACKAGES = ("numpy", "numba", "scipy", "networkit", "igraph", "networkx")


def orienteer(path: Path, truth: Path) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    pagerank(synthetic_sample())
    return lambda: error_of(pagerank(web), truth)


def synthetic_sample() -> LinkGraph:
    """A tiny graph to compile the kernels with."""
    return LinkGraph.from_links(3, [0, 1], [1, 2])


def scipy(path: Path, truth: Path) -> Callable[[], Any]:
    import scipy.sparse

    web = LinkGraph.load(path)
    degrees = web.out_degrees()
    weights = np.repeat(1 / np.maximum(degrees, 1), degrees)
    step = scipy.sparse.csr_array(
        (weights, web.targets.astype(np.int32), web.offsets.astype(np.int32)), shape=(web.n_pages, web.n_pages)
    ).T.tocsr()
    dangling = np.flatnonzero(degrees == 0)
    jump = np.full(web.n_pages, 1 / web.n_pages)
    right = np.load(truth)

    def power(iterations: int, watch: bool = False) -> tuple[np.ndarray, int]:
        rank = jump.copy()
        for k in range(iterations):
            rank = 0.85 * (step @ rank) + (0.15 + 0.85 * rank[dangling].sum()) * jump
            if watch and np.abs(rank - right).sum() <= ERROR:
                return rank, k + 1
        return rank, iterations

    _, needed = power(1000, watch=True)
    return lambda: error_of(power(needed)[0], truth)


def networkit(path: Path, truth: Path) -> Callable[[], Any]:
    import networkit as nk

    graph = networkit_graph(path)
    sinks = nk.centrality.SinkHandling.DistributeSinks

    def run(tolerance: float) -> np.ndarray:
        ranking = nk.centrality.PageRank(graph, 0.85, tolerance, False, sinks)
        ranking.norm = nk.centrality.Norm.L1_NORM
        ranking.run()
        rank = np.array(ranking.scores())
        return rank / rank.sum()

    loosest = next(t for t in 10.0 ** -np.arange(4, 14) for r in [run(t)] if error_of(r, truth) <= ERROR)
    return lambda: error_of(run(loosest), truth)


def igraph(path: Path, truth: Path) -> Callable[[], Any]:
    graph = igraph_graph(path)
    return lambda: error_of(np.array(graph.pagerank(damping=0.85)), truth)


def networkx(path: Path, truth: Path) -> Callable[[], Any]:
    import networkx

    graph = LinkGraph.load(path).to_networkx()

    def run() -> Any:
        # its tolerance is the change per page
        rank = networkx.pagerank(graph, 0.85, tol=1e-7 / len(graph), max_iter=500)
        return error_of(np.array([rank[k] for k in range(len(graph))]), truth)

    return run


def error_of(rank: np.ndarray, truth: Path) -> float:
    return float(np.abs(rank - np.load(truth)).sum())


def run(n_pages: int = sized(1_000_000, 300)) -> str:
    path = web_folder(n_pages)
    web = LinkGraph.load(path)
    truth = path.with_suffix(".rank.npy")
    if not truth.exists():
        np.save(truth, pagerank(web, tolerance=1e-12))
    rows = []
    results = {}
    for contender, rounds in ((orienteer, 3), (scipy, 3), (networkit, 2), (igraph, 2), (networkx, 1)):
        if not is_installed(contender.__name__):
            continue
        results[contender.__name__] = measured(contender, path, truth, rounds=rounds)
    ours = results["orienteer"].cpu_s
    for name, result in results.items():
        ratio = ours / result.cpu_s
        rows.append([name, f"{result.cpu_s:.2f}", f"{ratio:.2f}", f"{result.result:.1e}", f"{result.peak_mib:,.0f}"])
    return (
        f"{web.n_pages:,} pages, {web.n_links:,} links. {machine(*PACKAGES)}\n\n"
        + table(["", "CPU s", "orienteer's time is ... of it", "true L1 error", "peak MiB"], rows)
    )  # fmt: skip
