"""Strongly connected components, compared with SciPy, NetworKit, igraph and NetworkX.

Converting the graph into each library's own form is not counted. All must find the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import is_installed, machine, measured, table
from benchmarks.peers import igraph_graph, networkit_graph
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph import shapes
from orienteer.graph.components import components
from orienteer.graph.link_graph import LinkGraph


def orienteer(path: Path) -> Callable[[], Any]:
    web = LinkGraph.load(path)
    components(shapes.cycle(3))
    return lambda: components(web)[0]


def scipy(path: Path) -> Callable[[], Any]:
    from scipy.sparse.csgraph import connected_components

    matrix = LinkGraph.load(path).to_scipy()
    return lambda: int(connected_components(matrix, connection="strong")[0])


def networkit(path: Path) -> Callable[[], Any]:
    import networkit as nk

    graph = networkit_graph(path)
    return lambda: nk.components.StronglyConnectedComponents(graph).run().numberOfComponents()


def igraph(path: Path) -> Callable[[], Any]:
    graph = igraph_graph(path)
    return lambda: len(graph.connected_components(mode="strong"))


def networkx(path: Path) -> Callable[[], Any]:
    import networkx

    graph = LinkGraph.load(path).to_networkx()
    return lambda: networkx.number_strongly_connected_components(graph)


def run(n_pages: int = sized(1_000_000, 300)) -> str:
    path = web_folder(n_pages)
    web = LinkGraph.load(path)
    results = {}
    for contender, rounds in ((orienteer, 5), (scipy, 5), (networkit, 3), (igraph, 3), (networkx, 1)):
        if not is_installed(contender.__name__):
            continue
        results[contender.__name__] = measured(contender, path, rounds=rounds)
    assert len({result.result for result in results.values()}) == 1, "the libraries disagree"
    ours = results["orienteer"].cpu_s
    rows = [
        [name, f"{result.cpu_s:.2f}", f"{ours / result.cpu_s:.2f}", f"{result.peak_mib:,.0f}"]
        for name, result in results.items()
    ]
    return (
        f"{web.n_pages:,} pages, {web.n_links:,} links, {results['orienteer'].result:,} components. "
        f"{machine('numba', 'scipy', 'networkit', 'igraph', 'networkx')}\n\n"
        + table(["", "CPU s", "orienteer's time is ... of it", "peak MiB"], rows)
    )  # fmt: skip
