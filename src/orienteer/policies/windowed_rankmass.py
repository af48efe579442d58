"""Windowed RankMass (Cho & Schonfeld, VLDB 2007): RankMass in batches."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import window as windows
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import LinkRows
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, Run, TrustedPages, checked_damping, policy

_NEGLIGIBLE = 1e-15  # of the mass: a sweep that pushes less proves nothing more


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
        self._state[trusted.pages] = windows.KNOWN
        self._work = np.zeros(3, np.int64)
        self._left_in_batch = self.batch_size(len(trusted.pages))
        self.guarantee = 0.0
        return Priorities(trusted.pages, self._p[trusted.pages])

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._count(page, windows.FETCHED, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._count(page, windows.LOST, web)

    def _count(self, page: int, state: int, web: GrowingGraph) -> Priorities:
        self._p, self._state = grown(self._p, web.n_pages), grown(self._state, web.n_pages)
        self._state[page] = state
        self._left_in_batch -= 1
        if self._left_in_batch > 0:
            return NO_CHANGE
        self._sweep(web)
        frontier = np.flatnonzero(self._state[: web.n_pages] == windows.KNOWN).astype(np.uint32)
        self._left_in_batch = self.batch_size(len(frontier))
        return Priorities(frontier, self._p[frontier])

    def conclude(self, web: GrowingGraph, until: float) -> None:
        while self.guarantee < until and self._sweep(web) > _NEGLIGIBLE:
            pass

    def _sweep(self, web: GrowingGraph) -> float:
        """Push every fetched page once and return the mass pushed."""
        n = web.n_pages
        links, new_pages = LinkRows.of(web), np.empty(n, np.uint32)
        pushed_mass, _ = windows.sweep(
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
        self._state[trusted.pages] = windows.KNOWN
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
                self._batch, self._n_frontier = windows.take_best(self._frontier, self._n_frontier, self._p, size)
            now = self._batch[: limit - self.n_fetched]
            self._batch = self._batch[len(now) :]
            self.order[self.n_fetched : self.n_fetched + len(now)] = now
            self.guarantees[self.n_fetched : self.n_fetched + len(now)] = self._pushed_mass
            self._state[now] = windows.FETCHED
            self.n_fetched += len(now)
            if len(self._batch) == 0 and self._sweep_proves(until):
                return

    def _sweep_proves(self, until: float) -> bool:
        """Sweep after a batch and return whether `until` is proved; with nothing left to fetch, sweep until it is."""
        assert self.guarantees is not None
        while True:
            pushed_mass, self._n_frontier = windows.sweep(
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
