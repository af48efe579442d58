"""Windowed RankMass and L-Neighbor (Cho & Schonfeld, VLDB 2007): RankMass in batches, and level by level.

In Windowed RankMass two steps alternate: take the best pages of the frontier, then sweep once over all fetched pages.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import LINKS, PUSHES, LinkRows, row_of
from orienteer.graph.reach import UNREACHED, distances
from orienteer.kernel import kernel
from orienteer.policies.policy import (
    NO_CHANGE,
    PlannedRun,
    Policy,
    Priorities,
    Run,
    TrustedPages,
    checked_damping,
    policy,
)

_NEGLIGIBLE = 1e-15  # of the mass: a sweep that pushes less proves nothing more
# States of a page: unknown, linked to, fetched, can never be fetched.
UNKNOWN, KNOWN, FETCHED, LOST = range(4)

_SHIFT = 52 - 6
_N_BUCKETS = 2048 << 6


@policy
class WindowedRankMass(Policy):
    """Fetch the best `window` share of the known pages as one batch, then push every fetched page once, in id order.

    A window of 1 fetches level by level like L-Neighbor; towards 0 it tends to the tight greedy. Its own guarantee is
    the total mass pushed in the sweeps.
    """

    name: ClassVar[str] = "windowed-rankmass"
    proves: ClassVar[bool] = True

    def __init__(self, window: float = 0.1, damping: float = 0.85) -> None:
        if not 0 < window <= 1:
            raise InputError(f"window is {window}; it must be above 0 and at most 1 (a share of the known pages)")
        self.window = window
        self.damping = checked_damping(damping)

    def batch_size(self, n_frontier: int) -> int:
        return max(1, math.ceil(self.window * n_frontier))

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._trusted = trusted
        self._p = np.zeros(max(web.n_pages, 1024))
        self._p[trusted.pages] = (1 - self.damping) * trusted.trust
        self._state = np.zeros(len(self._p), np.uint8)
        self._state[trusted.pages] = KNOWN
        self._work = np.zeros(3, np.int64)
        self._left_in_batch = self.batch_size(len(trusted.pages))
        self.guarantee = 0.0
        return Priorities(trusted.pages, self._p[trusted.pages])

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._count(page, FETCHED, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._count(page, LOST, web)

    def _count(self, page: int, state: int, web: GrowingGraph) -> Priorities:
        self._p, self._state = grown(self._p, web.n_pages), grown(self._state, web.n_pages)
        self._state[page] = state
        self._left_in_batch -= 1
        if self._left_in_batch > 0:
            return NO_CHANGE
        self._sweep(web)
        frontier = np.flatnonzero(self._state[: web.n_pages] == KNOWN).astype(np.uint32)
        self._left_in_batch = self.batch_size(len(frontier))
        return Priorities(frontier, self._p[frontier])

    def conclude(self, web: GrowingGraph, until: float) -> None:
        while self.guarantee < until and self._sweep(web) > _NEGLIGIBLE:
            pass

    def _sweep(self, web: GrowingGraph) -> float:
        """Push every fetched page once and return the mass pushed."""
        n = web.n_pages
        links, new_pages = LinkRows.of(web), np.empty(n, np.uint32)
        pushed_mass, _ = sweep(
            links,
            *self._trusted,
            np.empty(len(self._trusted.pages)),
            self._p[:n],
            self._state[:n],
            new_pages,
            0,
            self.damping,
            self._work,
        )
        self.guarantee += float(pushed_mass)
        return float(pushed_mass)

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return _WindowedRun(graph, trusted, self)


class _WindowedRun(Run):
    def __init__(self, graph: LinkGraph, trusted: TrustedPages, owner: WindowedRankMass) -> None:
        super().__init__(graph)
        self._owner = owner
        self._trusted = trusted
        self._links = LinkRows.of(graph)
        self._p = np.zeros(graph.n_pages)
        self._p[trusted.pages] = (1 - owner.damping) * trusted.trust
        self._state = np.zeros(graph.n_pages, np.uint8)
        self._state[trusted.pages] = KNOWN
        self._frontier = np.empty(graph.n_pages, np.uint32)
        self._frontier[: len(trusted.pages)] = trusted.pages
        self._n_frontier = len(trusted.pages)
        self._batch: np.ndarray = np.empty(0, np.uint32)
        self._pushed_mass = 0.0
        self.work = np.zeros(3, np.int64)
        self.guarantees = np.zeros(graph.n_pages)

    def advance(self, limit: int, until: float) -> None:
        assert self.guarantees is not None
        while self.n_fetched < limit and not self.is_empty:
            if len(self._batch) == 0:
                size = self._owner.batch_size(self._n_frontier)
                self._batch, self._n_frontier = take_best(self._frontier, self._n_frontier, self._p, size)
            now = self._batch[: limit - self.n_fetched]
            self._batch = self._batch[len(now) :]
            self.order[self.n_fetched : self.n_fetched + len(now)] = now
            self.guarantees[self.n_fetched : self.n_fetched + len(now)] = self._pushed_mass
            self._state[now] = FETCHED
            self.n_fetched += len(now)
            if len(self._batch) == 0 and self._sweep_proves(until):
                return

    def _sweep_proves(self, until: float) -> bool:
        """Sweep after a batch and return whether `until` is proved; with nothing left to fetch, sweep until it is."""
        assert self.guarantees is not None
        while True:
            pushed_mass, self._n_frontier = sweep(
                self._links, *self._trusted, np.empty(len(self._trusted.pages)), self._p, self._state, self._frontier,
                self._n_frontier, self._owner.damping, self.work,
            )  # fmt: skip
            self._pushed_mass += pushed_mass
            self.guarantees[self.n_fetched - 1] = self._pushed_mass
            self.is_empty = self._n_frontier == 0
            if self._pushed_mass >= until:
                return True
            if not self.is_empty or until > 1 or pushed_mass < _NEGLIGIBLE:
                return False


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


@policy
class LNeighbor(Policy):
    """Fetch the trusted pages, then their targets, and so on; within a level the lowest id first.

    Bound: once level L is complete, coverage is at least 1 - d^(L+1), because a surfer who jumps with probability 1 - d
    at every step is rarely further away. (The paper's pseudo-code stops one level earlier than its Theorem 2 allows.)
    """

    name: ClassVar[str] = "l-neighbor"
    proves: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._levels = np.zeros(max(web.n_pages, 1024), np.int32)  # 1 + the level; 0 if unknown
        self._levels[trusted.pages] = 1
        self._unfetched = np.zeros(64, np.int64)  # by level
        self._unfetched[0] = len(trusted.pages)
        self.guarantee = 0.0
        return Priorities(trusted.pages, np.zeros(len(trusted.pages)))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._levels = grown(self._levels, web.n_pages)
        level = int(self._levels[page]) - 1
        if level < 0:  # no fetched page links here: it has no level and does not affect the guarantee
            return NO_CHANGE
        links = web.links(page)
        new = links[self._levels[links] == 0]
        self._levels[new] = level + 2
        self._unfetched = grown(self._unfetched, level + 2)
        self._unfetched[level + 1] += len(new)
        self._unfetched[level] -= 1
        incomplete = np.flatnonzero(self._unfetched)
        # Without unfetched pages, the surfer is always on fetched pages.
        self.guarantee = 1 - self.damping ** int(incomplete[0]) if len(incomplete) else 1.0
        return Priorities(new, np.full(len(new), -(level + 1.0)))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        level = distances(graph, trusted.pages)
        reached = np.flatnonzero(level != UNREACHED)
        order = reached[np.argsort(level[reached], kind="stable")].astype(np.uint32)
        levels = level[order]
        # After k + 1 pages the levels below that of the next page are complete.
        complete = np.append(levels[1:], 0).astype(np.float64)
        guarantees = 1 - self.damping**complete
        guarantees[-1:] = 1.0
        return PlannedRun(graph, order, guarantees)
