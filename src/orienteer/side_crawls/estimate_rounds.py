"""The policy of a neighborhood: it selects pages in rounds, for an estimate of the global rank (graph/estimation).

It follows no links by itself: only the pages of the round wait in the frontier. When the last of them is done, they are
added in order of their ids, whatever the order of responses, and the next round is selected; so a replay selects the
same rounds.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.graph.estimation.estimation import Estimation
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.ledger.settings import EstimateSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, TrustedPages


class Rounds(Policy):
    """The policy: the trusted pages are the local ones; when all of them are done, the rounds begin.

    `sizes` are those of the rounds so far; they are stored, so that another budget does not change past rounds.
    """

    name: ClassVar[str] = "estimate"
    follows_links: ClassVar[bool] = False

    def __init__(self, settings: EstimateSettings, sizes: list[int], damping: float = 0.85) -> None:
        self.settings = settings
        self.sizes = sizes
        self.damping = damping
        self.estimation: Estimation | None = None
        self.stopped_because: StopReason | None = None  # "settled", "budget", "no page left"
        self.n_requested = 0
        self._n_rounds = 0
        self._local = np.empty(0, np.uint32)
        self._missing: set[int] = set()  # pages of this round, at first the local ones, that are not done
        self._fetched: list[int] = []
        self._failed: dict[int, bool] = {}  # whether the page does not exist

    @property
    def budget(self) -> int:
        return 2 * len(self._local) if self.settings.budget is None else self.settings.budget

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._local = trusted.pages
        self._missing = set(trusted.pages.tolist())
        return Priorities(trusted.pages, np.zeros(len(trusted.pages)))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._fetched.append(page)
        return self._done(page, web)

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        self._failed[page] = True
        return self._done(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        self._failed[page] = False
        return self._done(page, web)

    def _done(self, page: int, web: GrowingGraph) -> Priorities:
        self._missing.discard(page)
        return NO_CHANGE if self._missing else self._next_round(web)

    def _next_round(self, web: GrowingGraph) -> Priorities:
        """Close a round and select the next, if any."""
        if self.estimation is None:
            settings = self.settings
            self.estimation = Estimation(web, self._local, settings.select, settings.method, damping=self.damping)
        else:
            self._close(self.estimation)
        self._fetched, self._failed = [], {}
        k = self._size()
        if k == 0:
            return NO_CHANGE
        chosen = self.estimation.next_pages(k)
        self._missing = set(chosen.tolist())
        if self._n_rounds == len(self.sizes):
            self.sizes.append(k)
        self._n_rounds += 1
        return Priorities(chosen, np.arange(len(chosen), 0, -1, dtype=np.float64))

    def _close(self, estimation: Estimation) -> None:
        for page in sorted(self._failed):
            estimation.failed(page, "no page" if self._failed[page] else "unknown")
        estimation.mark_fetched(sorted(self._fetched))
        self.n_requested += len(self._fetched) + sum(self._failed.values())
        estimation.round()

    def _size(self) -> int:
        """Return the size of the next round; 0 if there is none."""
        if self._n_rounds < len(self.sizes):
            return self.sizes[self._n_rounds]
        if self.n_requested >= self.budget:
            self.stopped_because = StopReason.BUDGET
            return 0
        assert self.estimation is not None
        if not self.estimation.neighborhood.open.any():
            self.stopped_because = StopReason.NO_PAGE_LEFT
            return 0
        if self.estimation.has_settled(self.settings.settle):
            self.stopped_because = StopReason.SETTLED
            return 0
        goals = (self.budget * done // self.settings.rounds for done in range(1, self.settings.rounds + 1))
        return next(goal for goal in goals if goal > self.n_requested) - self.n_requested
