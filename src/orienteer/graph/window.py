"""The two steps of Windowed RankMass: take the best pages of the frontier, then sweep once over all fetched pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.push import LINKS, PUSHES, row_of
from orienteer.kernel import kernel

# States of a page: unknown, linked to, fetched, can never be fetched.
UNKNOWN, KNOWN, FETCHED, LOST = range(4)

_SHIFT = 52 - 6
_N_BUCKETS = 2048 << 6


@kernel
def sweep(
    links: Any, trusted: Any, trust: Any, returned_by_then: Any, p: Any, state: Any, frontier: Any, n_frontier: int,
    damping: float, work: Any,
) -> Any:  # fmt: skip
    """Push every fetched page, in the order of ids; a push may add mass to a page later in the same sweep.

    The mass that dangling pages return to the trusted pages accumulates in one sum. A trusted page gets its share when
    the sweep reaches it, and the rest at the end; doing this at each dangling page took 40 % of the time.
    Newly discovered pages are added to the frontier. Return the mass pushed and the size of the frontier.
    """
    taken = 0.0
    returned = 0.0
    n_fed = 0  # trusted pages that the sweep has reached; they are sorted by id
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
            if before == 0.0 and state[target] == UNKNOWN:  # unknown pages have no mass, so `state` is rarely read
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
    """Move pages above the cut bucket and in it out of the frontier; return the numbers of both, and of the others."""
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
    frontier: NDArray[np.uint32], n_frontier: int, p: NDArray[np.float64], n: int
) -> tuple[NDArray[np.uint32], int]:
    """Remove the n pages with the most mass; return them, best first, ties by the lowest id, and the new frontier size.

    Pages are counted by the bits of their mass; only the bucket that contains the cut is sorted to find it.
    """
    bits = p.view(np.int64)
    counts = np.zeros(_N_BUCKETS, np.int64)
    _count_buckets(frontier, n_frontier, bits, counts)
    from_top = np.cumsum(counts[::-1])
    cut = _N_BUCKETS - 1 - int(np.searchsorted(from_top, n))
    n_above = int(from_top[_N_BUCKETS - 1 - cut] - counts[cut])
    above, at_cut = np.empty(n_above, np.uint32), np.empty(counts[cut], np.uint32)
    _, _, n_left = _split(frontier, n_frontier, bits, cut, above, at_cut)
    at_cut = _best_first(at_cut, p)
    n_taken = n - n_above
    stay = at_cut[n_taken:]
    frontier[n_left : n_left + len(stay)] = stay
    return np.concatenate((_best_first(above, p), at_cut[:n_taken])), n_left + len(stay)


def _best_first(pages: NDArray[np.uint32], p: NDArray[np.float64]) -> NDArray[np.uint32]:
    return pages[np.lexsort((pages, -p[pages]))]
