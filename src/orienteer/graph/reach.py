"""Reachability: distances from a set of pages, and the depth-d weight of every page.

The depth-d weight of page v is the total value of the distinct pages within d links of v, v included. For all pages it
is computed by bit-parallel search: for 512 pages x at a time, a breadth-first search backwards along the links finds
the pages that reach x within d links, with one bit per x in a 512-bit mask per page. The mask selects which of the 512
values to add; a table of partial sums per byte of the mask makes that 64 look-ups instead of 512 additions.
The result is exact up to float64 rounding, also for negative values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph, page_ids
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

_WORDS = 8  # 64-bit words of a mask
_BATCH = 64 * _WORDS
_MAX_STEPS = 20  # of progress reports
UNREACHED = -1


def distances(graph: LinkGraph, pages: ArrayLike, hops: int | None = None) -> NDArray[np.int32]:
    """Return the fewest links from any of `pages` to each page; -1 if there is no path within `hops`.

    >>> from orienteer.graph import shapes
    >>> distances(shapes.chain(4), [0], hops=2).tolist()
    [0, 1, 2, -1]
    """
    if hops is not None and hops < 0:
        raise InputError(f"hops is {hops}; it must be 0 or more")
    return _searched(graph, pages, graph.n_pages if hops is None else hops)[0]


def discovery_order(graph: LinkGraph, pages: ArrayLike) -> NDArray[np.uint32]:
    """Return the pages reachable from `pages`, in breadth-first order."""
    return _searched(graph, pages, graph.n_pages)[1]


def _searched(graph: LinkGraph, pages: ArrayLike, hops: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    ids = page_ids("pages", pages, graph.n_pages)
    return breadth_first(graph.offsets[:-1], graph.offsets[1:], graph.targets, ids, hops)


def breadth_first(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    targets: NDArray[np.uint32],
    pages: NDArray[np.integer],
    hops: int,
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return the distance of each page from `pages`, and the pages within `hops` in breadth-first order.

    The links of page i are `targets[starts[i]:ends[i]]`.
    """
    found = np.full(len(starts), UNREACHED, np.int32)
    queue = np.empty(len(starts), np.uint32)
    n_found = _search(starts, ends, targets, pages, hops, found, queue)
    return found, queue[:n_found]


def within(graph: LinkGraph, pages: ArrayLike, hops: int) -> NDArray[np.int64]:
    """Return the pages within `hops` links of any of `pages`, themselves included, in increasing order."""
    return np.flatnonzero(distances(graph, pages, hops) != UNREACHED)


def add_depth_weights(
    graph: LinkGraph,
    depth: int,
    pages: NDArray[np.int64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    progress: Progress = silent,
) -> None:
    """Add the value of each of `pages` to the weight of every page that reaches it within `depth` links.

    This updates depth-d weights after the values of some pages change: pass the differences.
    """
    back = graph.reverse()
    step = _BATCH * max(-(-len(pages) // (_BATCH * _MAX_STEPS)), 16)
    for first in range(0, len(pages), step):
        progress("weighing pages", first, len(pages))
        _add_reaching(back.offsets, back.targets, pages[first : first + step], values, depth, weights)


def weights_of(graph: LinkGraph, pages: ArrayLike, depth: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exact depth-d weights of a few pages, by forward searches of 64 pages at a time, one bit per page.

    >>> from orienteer.graph import shapes
    >>> weights_of(shapes.chain(4), [3, 0], 2, np.ones(4)).tolist()
    [1.0, 3.0]
    """
    ids = page_ids("pages", pages, graph.n_pages)
    weights = np.zeros(len(ids))
    for first in range(0, len(ids), 64):
        batch = slice(first, first + 64)
        _add_reached(graph.offsets, graph.targets, ids[batch], depth, values, weights[batch])
    return weights


@allocating_kernel
def _search(starts: Any, ends: Any, targets: Any, pages: Any, hops: int, found: Any, queue: Any) -> int:
    n_found = 0
    for page in pages:
        if found[page] < 0:
            found[page] = 0
            queue[n_found] = page
            n_found += 1
    at = 0
    while at < n_found:
        page = queue[at]
        at += 1
        if found[page] == hops:
            break
        for k in range(starts[page], ends[page]):
            target = targets[k]
            if found[target] < 0:
                found[target] = found[page] + 1
                queue[n_found] = target
                n_found += 1
    return n_found


@allocating_kernel
def _add_reaching(offsets: Any, sources: Any, pages: Any, value: Any, depth: int, weights: Any) -> None:
    """weights[v] += value[x] for every x of `pages` that v reaches within `depth`. Works on the reverse graph."""
    n_pages = len(value)
    seen = np.zeros((n_pages, _WORDS), np.uint64)  # which x this page reaches
    fresh = np.zeros((n_pages, _WORDS), np.uint64)  # ... first found in the last step
    coming = np.zeros((n_pages, _WORDS), np.uint64)  # ... found in this step, possibly not for the first time
    is_touched = np.zeros(n_pages, np.bool_)
    touched = np.empty(n_pages, np.uint32)
    active = np.empty(n_pages, np.uint32)
    is_next = np.zeros(n_pages, np.bool_)
    following = np.empty(n_pages, np.uint32)
    table = np.zeros((_BATCH // 8, 256))
    for first in range(0, len(pages), _BATCH):
        batch = pages[first : first + _BATCH]
        n_active, n_touched = 0, 0
        for k in range(len(batch)):
            page = batch[k]
            bit = np.uint64(1) << np.uint64(k % 64)
            seen[page, k // 64] |= bit
            fresh[page, k // 64] |= bit
            active[k] = page
            touched[k] = page
            is_touched[page] = True
        n_active = n_touched = len(batch)
        for _ in range(depth):
            n_following = _step(offsets, sources, active, n_active, fresh, coming, is_next, following)
            n_active, n_touched = _settle(following, n_following, seen, fresh, coming, is_next, active, is_touched,
                                          touched, n_touched)  # fmt: skip
            if n_active == 0:
                break
        for k in range(n_active):
            fresh[active[k]] = 0
        _fill_table(table, batch, value)
        for k in range(n_touched):
            page = touched[k]
            weights[page] += _masked_sum(table, seen[page])
            seen[page] = 0
            is_touched[page] = False


@allocating_kernel
def _add_reached(offsets: Any, targets: Any, pages: Any, depth: int, value: Any, weights: Any) -> None:
    """weights[k] += value[x] for every x that pages[k] reaches within `depth`, at most 64 pages at once."""
    n_pages = len(value)
    seen = np.zeros(n_pages, np.uint64)  # bit k: pages[k] reaches this page
    fresh = np.zeros(n_pages, np.uint64)  # ... found in the last step
    coming = np.zeros(n_pages, np.uint64)  # ... found in this step
    active = np.empty(n_pages, np.uint32)
    following = np.empty(n_pages, np.uint32)
    n_active = 0
    for k in range(len(pages)):
        bit = np.uint64(1) << np.uint64(k)
        if fresh[pages[k]] == 0:
            active[n_active] = pages[k]
            n_active += 1
        fresh[pages[k]] |= bit
        seen[pages[k]] |= bit
        weights[k] += value[pages[k]]
    for _ in range(depth):
        n_following = 0
        for a in range(n_active):
            page = active[a]
            bits = fresh[page]
            fresh[page] = 0
            for k in range(offsets[page], offsets[page + 1]):
                target = targets[k]
                if bits & ~seen[target]:
                    if coming[target] == 0:
                        following[n_following] = target
                        n_following += 1
                    coming[target] |= bits
        n_active = n_following
        for a in range(n_following):
            page = following[a]
            new = coming[page] & ~seen[page]
            coming[page] = 0
            seen[page] |= new
            fresh[page] = new
            active[a] = page
            if value[page] != 0:
                for k in range(len(pages)):
                    if new >> np.uint64(k) & np.uint64(1):
                        weights[k] += value[page]


@allocating_kernel
def _step(
    offsets: Any, sources: Any, active: Any, n_active: int, fresh: Any, coming: Any, is_next: Any, following: Any
) -> int:
    """Pass the fresh bits of every active page to the pages that link to it; return the number of these pages."""
    n_following = 0
    for a in range(n_active):
        page = active[a]
        for k in range(offsets[page], offsets[page + 1]):
            source = sources[k]
            for word in range(_WORDS):
                coming[source, word] |= fresh[page, word]
            if not is_next[source]:
                is_next[source] = True
                following[n_following] = source
                n_following += 1
    for a in range(n_active):
        fresh[active[a]] = 0
    return n_following


@allocating_kernel
def _settle(
    following: Any, n_following: int, seen: Any, fresh: Any, coming: Any, is_next: Any, active: Any, is_touched: Any,
    touched: Any, n_touched: int,
) -> tuple[int, int]:  # fmt: skip
    """Reduce the incoming bits to those new to a page; return the number of active and of touched pages."""
    n_active = 0
    for a in range(n_following):
        page = following[a]
        is_next[page] = False
        anything = np.uint64(0)
        for word in range(_WORDS):
            new = coming[page, word] & ~seen[page, word]
            seen[page, word] |= new
            fresh[page, word] = new
            coming[page, word] = 0
            anything |= new
        if anything:
            active[n_active] = page
            n_active += 1
            if not is_touched[page]:
                is_touched[page] = True
                touched[n_touched] = page
                n_touched += 1
    return n_active, n_touched


@allocating_kernel
def _fill_table(table: Any, batch: Any, value: Any) -> None:
    """table[b, m]: total value of those of the batch's pages 8b..8b+7 whose bit is set in m."""
    for byte in range(len(table)):
        table[byte, 0] = 0.0
        for bit in range(8):
            k = 8 * byte + bit
            amount = value[batch[k]] if k < len(batch) else 0.0
            for mask in range(1 << bit):
                table[byte, (1 << bit) + mask] = table[byte, mask] + amount


@allocating_kernel
def _masked_sum(table: Any, mask: Any) -> float:
    total = 0.0
    for word in range(_WORDS):
        bits = mask[word]
        byte = 8 * word
        while bits:
            total += table[byte, bits & np.uint64(255)]
            bits >>= np.uint64(8)
            byte += 1
    return total
