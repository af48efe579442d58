"""Fractional PageRank with an ordinary binary heap: every change of a priority pushes an entry, old ones go stale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph


@njit(cache=True, nogil=True)
def _push(keys: Any, pages: Any, size: int, key: float, page: int) -> None:
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] > key or (keys[above] == key and pages[above] <= page):
            break
        keys[at], pages[at] = keys[above], pages[above]
        at = above
    keys[at], pages[at] = key, page


@njit(cache=True, nogil=True)
def _pop(keys: Any, pages: Any, size: int) -> None:
    key, page = keys[size], pages[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size:
            if keys[below + 1] > keys[below] or (keys[below + 1] == keys[below] and pages[below + 1] < pages[below]):
                below += 1
        if keys[below] < key or (keys[below] == key and pages[below] >= page):
            break
        keys[at], pages[at] = keys[below], pages[below]
        at = below
    keys[at], pages[at] = key, page


@njit(cache=True, nogil=True)
def _run(offsets: Any, targets: Any, trusted: Any, damping: float, priority: Any, order: Any) -> int:
    room = 1 << 20
    keys, pages = np.empty(room), np.empty(room, np.uint32)
    size, n_fetched = 0, 0
    for page in trusted:
        priority[page] = (1 - damping) / len(trusted)
        _push(keys, pages, size, priority[page], page)
        size += 1
    while size > 0:
        key, page = keys[0], pages[0]
        size -= 1
        _pop(keys, pages, size)
        if priority[page] != key:
            continue
        priority[page] = -1.0
        order[n_fetched] = page
        n_fetched += 1
        start, end = offsets[page], offsets[page + 1]
        if start == end:
            continue
        if size + end - start > room:
            room = 2 * room + end - start
            larger_keys, larger_pages = np.empty(room), np.empty(room, np.uint32)
            larger_keys[:size] = keys[:size]
            larger_pages[:size] = pages[:size]
            keys, pages = larger_keys, larger_pages
        share = damping * key / (end - start)
        for k in range(start, end):
            target = targets[k]
            if priority[target] >= 0:
                priority[target] += share
                _push(keys, pages, size, priority[target], target)
                size += 1
    return n_fetched


def fractional_order(web: LinkGraph, trusted: NDArray[Any]) -> NDArray[np.uint32]:
    """The order of `fractional`; the same as ours, by another way."""
    order = np.empty(web.n_pages, np.uint32)
    n = _run(web.offsets, web.targets, trusted, 0.85, np.zeros(web.n_pages), order)
    return order[:n]
