"""Compressed sparse rows: the two arrays behind every graph, and the loops that build and check them.

`offsets[i]:offsets[i+1]` is page i's slice of `targets`. Invariant: in a *proper* graph each row is strictly increasing
and holds no self-link, so links are distinct. Every kernel relies on it and indexes without bounds checks, so
`first_fault` checks every array before it becomes a LinkGraph.

All loops are linear: a graph is sorted by grouping its links twice (by target, then by source), which is a radix
sort with one digit per page.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import allocating_kernel

Offsets = NDArray[np.int64]
Targets = NDArray[np.uint32]

# Page ids are uint32; the last value is reserved for "no page".
MAX_PAGES = 2**32 - 1
NO_PAGE = np.uint32(2**32 - 1)

# The faults that `first_fault` reports, as endings of the message "the graph is corrupt: ".
FAULTS = {
    1: "offsets decrease or do not start at 0",
    2: "a link points outside the graph",
    3: "a page's links are not strictly increasing",
    4: "a page links to itself",
}


@allocating_kernel
def first_fault(offsets: Any, targets: Any, n_links: int) -> tuple[int, int]:
    """Return (fault, page) of the first page that violates the invariant of proper rows, or (0, 0)."""
    n_pages = len(offsets) - 1
    if offsets[0] != 0:
        return 1, 0
    for page in range(n_pages):
        start, end = offsets[page], offsets[page + 1]
        if end < start or end > n_links:
            return 1, page
        previous: Any = -1
        for k in range(start, end):
            target = np.int64(targets[k])
            if target >= n_pages:
                return 2, page
            if target <= previous:
                return 3, page
            if target == page:
                return 4, page
            previous = target
    return 0, 0


@allocating_kernel
def grouped(n_pages: int, keys: Any, values: Any) -> tuple[Any, Any]:
    """Group the values by key, stably, and return (offsets, values)."""
    offsets = np.zeros(n_pages + 1, np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for page in range(n_pages):
        offsets[page + 1] += offsets[page]
    cursor = offsets[:-1].copy()
    out = np.empty(len(values), np.uint32)
    for k in range(len(keys)):
        out[cursor[keys[k]]] = values[k]
        cursor[keys[k]] += 1
    return offsets, out


@allocating_kernel
def _proper_degrees(by_target: Any, sources: Any, last: Any, offsets: Any) -> None:
    for target in range(len(by_target) - 1):
        for k in range(by_target[target], by_target[target + 1]):
            source = sources[k]
            if source != target and last[source] != target:
                last[source] = target
                offsets[source + 1] += 1
    for page in range(len(offsets) - 1):
        offsets[page + 1] += offsets[page]


@allocating_kernel
def _proper_rows(by_target: Any, sources: Any, cursor: Any, offsets: Any, out: Any) -> None:
    for target in range(len(by_target) - 1):
        for k in range(by_target[target], by_target[target + 1]):
            source = sources[k]
            at = cursor[source]
            if source != target and (at == offsets[source] or out[at - 1] != target):
                out[at] = target
                cursor[source] = at + 1


def proper_rows(n_pages: int, sources: Targets, targets: Targets) -> tuple[Offsets, Targets]:
    """Return the proper rows of any list of links: sorted, without repeats and self-links. Ids are below `n_pages`."""
    by_target, grouped_sources = grouped(n_pages, targets, sources)
    offsets = np.zeros(n_pages + 1, np.int64)
    last = np.full(n_pages, NO_PAGE, np.uint32)
    _proper_degrees(by_target, grouped_sources, last, offsets)
    out = np.empty(int(offsets[-1]), np.uint32)
    _proper_rows(by_target, grouped_sources, offsets[:-1].copy(), offsets, out)
    return offsets, out


@allocating_kernel
def row_ids(offsets: Any) -> Any:
    """Return the source of every link, in storage order."""
    sources = np.empty(offsets[-1], np.uint32)
    for page in range(len(offsets) - 1):
        for k in range(offsets[page], offsets[page + 1]):
            sources[k] = page
    return sources


@allocating_kernel
def in_degrees(n_pages: int, targets: Any) -> Any:
    """Return the number of links to each page."""
    degrees = np.zeros(n_pages, np.int64)
    for target in targets:
        degrees[target] += 1
    return degrees


@allocating_kernel
def scatter_sources(offsets: Any, targets: Any, position: Any, last: int, cursor: Any, base: int, out: Any) -> None:
    """Write the source of each link to a page below `last` at that page's cursor in `out`, which starts at `base`.

    `position` stores where each source's row continues, so calls with increasing `last` read each link once.
    """
    for source in range(len(offsets) - 1):
        k = position[source]
        end = offsets[source + 1]
        while k < end and targets[k] < last:
            target = targets[k]
            out[cursor[target] - base] = source
            cursor[target] += 1
            k += 1
        position[source] = k
