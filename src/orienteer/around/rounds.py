"""What to fetch around a local domain: round by round, what an estimate of its global rank wants (graph/estimation).

A policy like any other to the Crawl, but one that follows no links by itself: only the pages of the round wait in the
frontier. When the last of them is done, they are taken in in order of their ids, whatever the order they came in, and
the next round is chosen; so a crawl that is told again all that happened chooses the same rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from orienteer.errors import InputError
from orienteer.graph.estimation import make_estimator, make_selection
from orienteer.graph.estimation.estimation import METHOD, SELECT, Estimation
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, TrustedPages


@dataclass(frozen=True)
class EstimateSettings:
    """How the global rank is estimated.

    `budget` pages are fetched in `rounds` rounds; None: twice as many as the domain has. It ends before, when the
    estimate has settled: when it changed by less than `settle` (in L1, which is 2 at most) while the last pages were
    fetched, a fifth of the domain's number; 0: it does not. `select` says how pages are chosen, `method` how the rank
    follows from them.
    """

    budget: int | None = None
    rounds: int = 50
    select: str = SELECT
    method: str = METHOD
    settle: float = 0.005

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 0:
            raise InputError(f"budget is {self.budget}; it must be 0 or more pages")
        if self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}; at least one is needed")
        if not 0 <= self.settle < 2:
            raise InputError(f"settle is {self.settle}; a change is from 0 to 2")
        make_selection(self.select)
        make_estimator(self.method)


class Rounds(Policy):
    """The trusted pages are the local ones; when all of them are in, the rounds begin.

    `sizes` are those of the rounds so far; they are kept, so that another budget does not change what was.
    """

    name: ClassVar[str] = "estimate"
    follows_links: ClassVar[bool] = False

    def __init__(self, settings: EstimateSettings, sizes: list[int], damping: float = 0.85) -> None:
        self.settings = settings
        self.sizes = sizes
        self.damping = damping
        self.estimation: Estimation | None = None
        self.stopped_because: StopReason | None = None  # "settled", "budget", "no page left"
        self.n_asked = 0
        self._n_begun = 0
        self._local = np.empty(0, np.uint32)
        self._missing: set[int] = set()  # pages of this round, at first the local ones, that are not done
        self._came: list[int] = []
        self._lost: dict[int, bool] = {}  # and whether there is no page at all

    @property
    def budget(self) -> int:
        return 2 * len(self._local) if self.settings.budget is None else self.settings.budget

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._local = trusted.pages
        self._missing = set(trusted.pages.tolist())
        return Priorities(trusted.pages, np.zeros(len(trusted.pages)))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._came.append(page)
        return self._done(page, web)

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        self._lost[page] = True
        return self._done(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        self._lost[page] = False
        return self._done(page, web)

    def _done(self, page: int, web: GrowingGraph) -> Priorities:
        self._missing.discard(page)
        return NO_CHANGE if self._missing else self._next_round(web)

    def _next_round(self, web: GrowingGraph) -> Priorities:
        """Close a round and choose the next; none when it is enough."""
        if self.estimation is None:
            settings = self.settings
            self.estimation = Estimation(web, self._local, settings.select, settings.method, damping=self.damping)
        else:
            self._close(self.estimation)
        self._came, self._lost = [], {}
        k = self._size()
        if k == 0:
            return NO_CHANGE
        chosen = self.estimation.wanted(k)
        self._missing = set(chosen.tolist())
        if self._n_begun == len(self.sizes):
            self.sizes.append(k)
        self._n_begun += 1
        return Priorities(chosen, np.arange(len(chosen), 0, -1, dtype=np.float64))

    def _close(self, estimation: Estimation) -> None:
        for page in sorted(self._lost):
            estimation.failed(page, "no page" if self._lost[page] else "unknown")
        estimation.took_in(sorted(self._came))
        self.n_asked += len(self._came) + sum(self._lost.values())
        estimation.round()

    def _size(self) -> int:
        """Of the next round; 0 where there is none to be."""
        if self._n_begun < len(self.sizes):
            return self.sizes[self._n_begun]
        if self.n_asked >= self.budget:
            self.stopped_because = StopReason.BUDGET
            return 0
        assert self.estimation is not None
        if not self.estimation.around.open.any():
            self.stopped_because = StopReason.NO_PAGE_LEFT
            return 0
        if self.estimation.has_settled(self.settings.settle):
            self.stopped_because = StopReason.SETTLED
            return 0
        goals = (self.budget * done // self.settings.rounds for done in range(1, self.settings.rounds + 1))
        return next(goal for goal in goals if goal > self.n_asked) - self.n_asked

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> NoReturn:
        raise InputError("an estimate on a known graph is made by estimate_global_rank")
