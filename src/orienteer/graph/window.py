"""Windowed RankMass's two steps: take the best part of the frontier, then sweep over all fetched pages once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.push import LINKS, PUSHES, row_of
from orienteer.kernel import kernel

# What a page is: never heard of, linked to, fetched, never to be fetched.
UNKNOWN, KNOWN, FETCHED, LOST = range(4)

_SHIFT = 52 - 6
_N_BUCKETS = 2048 << 6


@kernel
def sweep(
    links: Any, trusted: Any, trust: Any, returned_by_then: Any, p: Any, state: Any, frontier: Any, n_frontier: int,
    damping: float, work: Any,
) -> Any:  # fmt: skip
    """Push every fetched page, in the order of ids; a push may feed a page later in the same sweep.

    What dangling pages give back to the trusted ones is kept in one sum, from which a trusted page gets its share when
    the sweep comes to it, and the rest at the end; to do it at each dangling page took 40 % of the time.
    Pages heard of for the first time are added to the frontier. Returns (mass taken, pages in the frontier).
    """
    taken = 0.0
    returned = 0.0
    n_fed = 0  # trusted pages the sweep has come to; they are in the order of ids
    for page in range(len(p)):
        if n_fed < len(trusted) and trusted[n_fed] == page:
            p[page] += returned * trust[n_fed]
            returned_by_then[n_fed] = returned
            n_fed += 1
        amount = p[page]
        if state[page] != FETCHED or amount <= 0.0:
            continue
        p[page] = 0.0
        taken += amount
        work[PUSHES] += 1
        row = row_of(links, page)
        start, end = links.offsets[row], links.offsets[row + 1]
        if start == end:
            returned += damping * amount
            continue
        work[LINKS] += end - start
        share = damping * amount / (end - start)
        for k in range(start, end):
            target = links.targets[k]
            before = p[target]
            p[target] = before + share
            if before == 0.0 and state[target] == UNKNOWN:  # an unknown page has no mass: seldom a second look-up
                state[target] = KNOWN
                frontier[n_frontier] = target
                n_frontier += 1
    for k in range(len(trusted)):
        p[trusted[k]] += (returned - returned_by_then[k]) * trust[k]
    return taken, n_frontier


@kernel
def _count_buckets(frontier: Any, n_frontier: int, bits: Any, counts: Any) -> None:
    for k in range(n_frontier):
        counts[bits[frontier[k]] >> _SHIFT] += 1


@kernel
def _split(frontier: Any, n_frontier: int, bits: Any, cut: int, above: Any, at_cut: Any) -> Any:
    """Move pages above the cut bucket and in it out of the frontier; how many of each, and how many stay."""
    n_above, n_at, n_left = 0, 0, 0
    for k in range(n_frontier):
        page = frontier[k]
        bucket = bits[page] >> _SHIFT
        if bucket > cut:
            above[n_above] = page
            n_above += 1
        elif bucket == cut:
            at_cut[n_at] = page
            n_at += 1
        else:
            frontier[n_left] = page
            n_left += 1
    return n_above, n_at, n_left


def take_best(
    frontier: NDArray[np.uint32], n_frontier: int, p: NDArray[np.float64], n_wanted: int
) -> tuple[NDArray[np.uint32], int]:
    """The pages with the most mass, best first, ties by the lowest id; and how many stay in the frontier.

    Pages are counted by the bits of their mass; only the bucket where the cut falls has to be sorted to find it.
    """
    bits = p.view(np.int64)
    counts = np.zeros(_N_BUCKETS, np.int64)
    _count_buckets(frontier, n_frontier, bits, counts)
    from_top = np.cumsum(counts[::-1])
    cut = _N_BUCKETS - 1 - int(np.searchsorted(from_top, n_wanted))
    n_above = int(from_top[_N_BUCKETS - 1 - cut] - counts[cut])
    above, at_cut = np.empty(n_above, np.uint32), np.empty(counts[cut], np.uint32)
    _, _, n_left = _split(frontier, n_frontier, bits, cut, above, at_cut)
    at_cut = _best_first(at_cut, p)
    n_taken = n_wanted - n_above
    stay = at_cut[n_taken:]
    frontier[n_left : n_left + len(stay)] = stay
    return np.concatenate((_best_first(above, p), at_cut[:n_taken])), n_left + len(stay)


def _best_first(pages: NDArray[np.uint32], p: NDArray[np.float64]) -> NDArray[np.uint32]:
    return pages[np.lexsort((pages, -p[pages]))]
