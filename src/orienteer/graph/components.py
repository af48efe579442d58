"""Strongly connected components: the maximal sets of pages that all reach each other, and the graph between them.

Pearce's variant of Tarjan's algorithm, without recursion. One array holds both visit order and low-link, so each link
is read once and costs one random look-up. Components are numbered in topological order: a link between two of them goes
from the lower to the higher number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.kernel import allocating_kernel


def components(graph: LinkGraph) -> tuple[int, NDArray[np.uint32]]:
    """Return the number of strongly connected components and the component of every page, in topological order.

    >>> from orienteer.graph import shapes
    >>> components(shapes.clique_and_cycle(3, 2))[1].tolist()
    [0, 0, 0, 1, 1]
    """
    labels = np.zeros(graph.n_pages, np.uint32)
    n_components = int(_label(graph.offsets, graph.targets, labels))
    return n_components, labels


def condensation(graph: LinkGraph) -> tuple[LinkGraph, NDArray[np.uint32]]:
    """Return the graph of components and the component of every page; a component links to the targets of its pages."""
    n_components, labels = components(graph)
    return LinkGraph.from_links(n_components, labels[graph.sources()], labels[graph.targets]), labels


def connected_by(pointers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each item, the same for items that pointers connect, in either direction.

    Following its pointer again and again, each item comes to a circle, or to an item that points to itself. The
    lowest item of the circle is the number of its component.

    >>> connected_by(np.array([2, 1, 2, 0])).tolist()
    [2, 1, 2, 2]
    """
    lowest, target = np.arange(len(pointers)), pointers
    for _ in range(len(pointers).bit_length()):  # twice as many steps each time
        lowest, target = np.minimum(lowest, lowest[target]), target[target]
    return lowest[target]


@allocating_kernel
def _label(offsets: Any, targets: Any, order: Any) -> Any:
    """Turn `order` (all zero) into component numbers and return the number of components.

    Invariant of the search: order[v] is 0 for an unvisited page, a low-link counting up from 1 for a page on the stack,
    and a component number counting down from n for a finished page. Finished values always exceed open ones, so one
    comparison tells the two apart.
    """
    n_pages = len(order)
    path = np.empty(n_pages, np.uint32)  # pages being explored
    cursor = np.empty(n_pages, np.int64)  # the next link to follow from each of them
    is_root = np.empty(n_pages, np.bool_)
    open_pages = np.empty(n_pages, np.uint32)  # explored, component not assigned yet
    n_open = 0
    visited = np.uint32(1)
    number = np.uint32(n_pages)
    for start in range(n_pages):
        if order[start] != 0:
            continue
        depth = 0
        path[0] = start
        cursor[0] = offsets[start]
        is_root[0] = True
        order[start] = visited
        visited += np.uint32(1)
        while depth >= 0:
            page = path[depth]
            k = cursor[depth]
            end = offsets[page + 1]
            low = order[page]
            root = is_root[depth]
            child: Any = -1
            while k < end:
                seen = order[targets[k]]
                if seen == 0:
                    child = np.int64(targets[k])
                    break
                if seen < low:
                    low = seen
                    root = False
                k += 1
            order[page] = low
            if child >= 0:
                cursor[depth] = k  # the link is read again when the child is finished, for its low-link
                is_root[depth] = root
                depth += 1
                path[depth] = child
                cursor[depth] = offsets[child]
                is_root[depth] = True
                order[child] = visited
                visited += np.uint32(1)
                continue
            depth -= 1
            if not root:
                open_pages[n_open] = page
                n_open += 1
                continue
            visited -= np.uint32(1)
            while n_open > 0 and order[open_pages[n_open - 1]] >= low:
                n_open -= 1
                order[open_pages[n_open]] = number
                visited -= np.uint32(1)
            order[page] = number
            number -= np.uint32(1)
    for page in range(n_pages):
        order[page] -= number + np.uint32(1)
    return n_pages - np.int64(number)
