"""The reverse of a graph, in bounded memory; cached on disk for large graphs in a graph folder.

The sources are scattered one range of targets at a time, so that random writes stay within one block of memory
regardless of the size of the graph. Each link is read once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph

BLOCK_LINKS = 1 << 28  # one block of sources is 1 GiB
FROM_LINKS = 20_000_000  # reversing a smaller graph is as fast as opening the cached file


def reversed_graph(graph: LinkGraph) -> LinkGraph:
    """Return the graph with every link reversed, with the same hosts and URLs."""
    from orienteer.graph.formats import folder

    if graph.home is None or graph.n_links < FROM_LINKS:
        return _reversed(graph, np.empty(graph.n_links, np.uint32))
    return folder.read_reverse(graph) or folder.store_reverse(graph, lambda sources: _reversed(graph, sources))


def _reversed(graph: LinkGraph, sources: NDArray[np.uint32]) -> LinkGraph:
    """Return the reverse, with its links stored in `sources`."""
    offsets = np.zeros(graph.n_pages + 1, np.int64)
    np.cumsum(graph.in_degrees(), out=offsets[1:])
    fill_sources(graph, offsets, sources)
    return LinkGraph(offsets, sources, graph.hosts, graph.urls)


def fill_sources(
    graph: LinkGraph, offsets: NDArray[np.int64], out: NDArray[np.uint32], block_links: int = BLOCK_LINKS
) -> None:
    """Write the source of every link to `out`, grouped by target according to `offsets`."""
    position = graph.offsets[:-1].copy()
    cursor = offsets[:-1].copy()
    first = 0
    while first < graph.n_pages:
        last = int(np.searchsorted(offsets, offsets[first] + block_links, side="right")) - 1
        last = min(max(last, first + 1), graph.n_pages)
        base = int(offsets[first])
        csr.scatter_sources(graph.offsets, graph.targets, position, last, cursor, base, out[base : offsets[last]])
        first = last
