"""A survey of a crawl that goes on: walks between its pages, until they say that the target is reached.

It hears of every page in the order in which the Crawl does (`told`), and answers with the pages that walks need; these
are fetched first. Now and then a round of walks begins. When it does, and where, follows from what was told and from
the seed alone: a crawl that is resumed has the same walks. Rounds are written down all the same (`rounds`), so that
they can be checked, and begin as they did on a machine that rounds otherwise.

It pushes mass on a Coverage of its own, at moments that depend on nothing else than what it was told.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.proved import Certificate
from orienteer.graph.push import Links
from orienteer.graph.survey.entries import Edge, drawn, quick_upper, random_level
from orienteer.graph.survey.evidence import Evidence
from orienteer.graph.survey.lives import Lives
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.pace import Pace, Plan, recent_walks
from orienteer.graph.survey.walking import DANGLING, NOT_TOLD, OUTSIDE, UNKNOWN, Rows, highest_score

_FIRST_SHARE = 0.9  # of the error is for the survey that begins first, 0.9 of the rest for the next, and so on
_ROUGHLY, _SETTLED = 0.02, 0.002  # of the time that may be outside: left to push at a look, and when a round begins
_LOOK_SHARE = 0.03  # of the pages fetched, between looks while the target is out of reach
_LEAST_STEP = 4
_LIVES, _PAGES_A_LIFE = (2, 16), 500  # in a round: the least, the most; and pages fetched for each life
_PAGES_A_LIFE_MORE = 1500  # in a large crawl there are more: a round must be worth the pushing
_AT_ONCE = 4  # the share of the walks that seem to be missing that may be under way: 1 in so many


@dataclass(frozen=True)
class SurveyStart:
    """What a survey begins with: its target, the error that is allowed, and its randomness.

    It begins when `n_told` events have been told. The seed comes from the system, so that no web can foresee it. About
    `width` pages are asked for at the same time. `of_reachable`: the surfer starts again where nobody knows.
    """

    until: float
    confidence: float
    seed: str
    n_told: int = 0
    width: int = 1
    of_reachable: bool = False
    error: float = 0.0  # of this survey; where it must begin anew, less than 1 - confidence is left

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if not self.error:
            object.__setattr__(self, "error", error_left(self.confidence, 0))


def error_left(confidence: float, n_before: int) -> float:
    """The error that a survey may allow itself after so many others: all together stay below 1 - confidence."""
    return _FIRST_SHARE * (1.0 - _FIRST_SHARE) ** n_before * (1.0 - confidence)


def again(start: SurveyStart, of_reachable: bool) -> SurveyStart:
    """A survey that begins anew, since what it asks has become another question: new walks, and what error is left."""
    seed = hashlib.blake2b(f"{start.seed} again".encode(), digest_size=16).hexdigest()
    return replace(start, seed=seed, of_reachable=of_reachable, error=(1.0 - _FIRST_SHARE) * start.error)


@dataclass(frozen=True)
class Round:
    """Walks that began together, when `n_told` events had been told; what `Evidence` says of them all."""

    n_told: int
    entries: tuple[int, ...]
    allowed: float
    free: float
    stake: float


class CrawlSurvey:
    """Measures whether a crawl has reached its target."""

    def __init__(
        self,
        start: SurveyStart,
        trust: NDArray[np.float64],
        damping: float,
        known_trust: float = 1.0,
        rounds: tuple[Round, ...] = (),
    ) -> None:
        """`rounds` are those of before, which begin again when their moment has come."""
        self.start = start
        self.n_told = 0
        self.rounds: list[Round] = []
        self.is_reached = False
        self.n_missing = 0  # walks, as it seems
        self.to_come = deque(rounds)  # those of before that have not begun again
        self._coverage = Coverage(trust, damping, known_trust, counts_visits=True)
        self._lives = Lives(start.seed, damping)
        self._evidence = Evidence(start.error)
        self._found = 0.0
        self._pace = Pace(highest_score(damping))
        self._order = array("I")  # fetched pages
        self._n_pushed = 0  # of these
        self._when: NDArray[np.int32] = np.full(1024, NOT_TOLD, np.int32)
        self._blocked: NDArray[np.bool_] = np.zeros(1024, np.bool_)
        self._n_fetched_at = array("q")  # of each life: pages fetched when it began
        self._gains: NDArray[np.float64] = np.zeros(64)  # of each life, as it was at the last look
        self._look_at = len(np.flatnonzero(trust))
        self._edge: Edge | None = None  # as it was at the last look
        self._asked: set[int] = set()  # pages that walks have needed

    # -- what is told --------------------------------------------------------------------------------------------

    def told(self, page: int, is_fetched: bool, coverage: Coverage, links: Links) -> list[tuple[int, int]]:
        """Something came of a page; the pages that walks need now, each with the number of the first walk.

        `coverage` knows whether the page is another name, and whether links of it are not known.
        """
        self.n_told += 1
        self._know(max(page + 1, links.n_pages))
        self._when[page] = self.n_told
        own = self._coverage
        own.take_row(page, coverage)
        if is_fetched:
            self._order.append(page)
        else:
            own.block(np.array([page], np.uint32))
            self._blocked[page] = own.is_blocked(page)
        needed_it = self._lives.needs(page)
        if needed_it:
            n_before = self._lives.n_scored
            self._lives.told(page, links, self._rows())
            if self._lives.n_scored > n_before:
                self._hear()
        has_begun = self._look(links)
        return self._needed() if needed_it or has_begun else []

    def _look(self, links: Links) -> bool:
        """Begin a round of walks if it is time for one; one of before begins at its moment, whatever is thought now."""
        is_due = bool(self.to_come) and self.to_come[0].n_told == self.n_told
        n_lives = self._n_lives()
        if not is_due and not self._is_time(n_lives):
            return False
        self._push_new(links)
        if not is_due and quick_upper(self._coverage, self.start.of_reachable) < self.start.until:
            return self._look_later()
        for share in (_ROUGHLY, _SETTLED):
            edge = self._settle(links, share)
            allowed = edge.allowed(*self._goal())
            if (self._weigh_evidence() or self._is_out_of_reach(edge, allowed)) and not is_due:
                return self._look_later()
            plan = self._plan(edge, allowed)
            if plan.n_pages and not is_due:
                self._look_at = self.n_told + plan.n_pages
                return False
        if self.to_come:
            if is_due:
                self._begin(self.to_come.popleft(), links)
            return is_due
        first = self._lives.n_begun
        levels = np.array([random_level(self.start.seed, life) for life in range(first, first + n_lives)])
        entries = tuple(drawn(self._coverage, edge.free, levels).tolist())
        self._begin(Round(self.n_told, entries, allowed, edge.free, plan.stake), links)
        return True

    def _plan(self, edge: Edge, allowed: float) -> Plan:
        n_fetched, evidence = len(self._order), self._evidence
        recent = evidence.scores[: evidence.n][recent_walks(self._starts(), n_fetched)]
        plan = self._pace.plan(
            n_fetched, allowed, edge.free, evidence, self._gains, recent, self._lives.n_begun, self.n_probes
        )
        self.n_missing = plan.n_walks
        return plan

    def _n_lives(self) -> int:
        """In a round that begins now."""
        n_fetched = len(self._order)
        return min(max(n_fetched // _PAGES_A_LIFE, _LIVES[0]), _LIVES[1] + n_fetched // _PAGES_A_LIFE_MORE)

    def _is_time(self, n_lives: int) -> bool:
        if self.is_reached or self.n_told < max(self._look_at, self.start.n_told):
            return False
        n_under_way = self._lives.n_under_way
        return not n_under_way or n_under_way + n_lives <= min(self.start.width, self.n_missing // _AT_ONCE)

    def _is_out_of_reach(self, edge: Edge, allowed: float) -> bool:
        """Whether walks could say nothing."""
        is_too_low = edge.free > 0.0 and edge.upper(self.start.of_reachable) < self.start.until
        return allowed <= 0.0 or edge.free <= 0.0 or is_too_low

    def _look_later(self) -> bool:
        self._look_at = self.n_told + max(_LEAST_STEP, int(_LOOK_SHARE * len(self._order)))
        return False

    def needed(self) -> set[int]:
        """The pages that walks wait for."""
        return {page for page, _ in self._lives.needed()}

    def go_on(self, start: SurveyStart, rounds: Iterable[Round]) -> None:
        """Go on from a state that was kept, which must be of the survey with this start, and had these rounds."""
        if start != self.start:
            raise ValueError("the checkpoint is of another survey")
        self.to_come = deque(list(rounds)[len(self.rounds) :])

    @property
    def n_probes(self) -> int:
        """Pages that walks have needed."""
        return len(self._asked)

    @property
    def n_walks(self) -> int:
        """Walks that have ended and count."""
        return self._lives.n_scored

    @property
    def progress(self) -> float:
        """The evidence so far, as a share of what is needed."""
        return min(self._found / self._evidence.goal, 1.0)

    def measured(self, proved: Certificate) -> Measured | None:
        """What walks say of the pages fetched so far; None before the first of them has ended."""
        if self._edge is None or self.n_walks == 0:
            return None
        of_reachable = self.start.of_reachable
        lower, upper = (proved.of_reachable, 1.0) if of_reachable else (proved.lower, proved.upper)
        lower = max(self.start.until, lower) if self.is_reached else lower
        upper = max(upper, lower)
        estimate = min(max(self._estimated(self._edge), lower), upper)
        return Measured(lower, upper, estimate, self.start.confidence, self.n_walks, self.n_probes, of_reachable)

    # -- within --------------------------------------------------------------------------------------------------

    def _know(self, n_pages: int) -> None:
        n_before = len(self._when)
        if n_pages > n_before:
            self._when = grown(self._when, n_pages)
            self._blocked = grown(self._blocked, len(self._when))
            self._when[n_before:] = NOT_TOLD
        self._coverage.know(len(self._when))

    def _goal(self) -> tuple[float, bool]:
        return self.start.until, self.start.of_reachable

    def _rows(self) -> Rows:
        return Rows.of(self._when, self._blocked, self._coverage)

    def _needed(self) -> list[tuple[int, int]]:
        needed = self._lives.needed()
        self._asked.update(page for page, _ in needed)
        return needed

    def _begin(self, one: Round, links: Links) -> None:
        self.rounds.append(one)
        for entry in one.entries:
            self._evidence.stake(self._lives.n_begun, one.allowed, one.free, one.stake)
            self._n_fetched_at.append(len(self._order))
            self._gains = grown(self._gains, len(self._n_fetched_at))
            self._lives.begin(self.n_told, entry, links, self._rows())

    def _push_new(self, links: Links) -> None:
        """Push the pages once that were fetched since."""
        new = np.array(self._order[self._n_pushed :], np.uint32)
        self._n_pushed = len(self._order)
        self._know(links.n_pages)
        self._coverage.fetch(new, links)

    def _settle(self, links: Links, share: float) -> Edge:
        """Push the mass through all that is fetched."""
        self._coverage.push_on(links, share * (1.0 - self.start.until))
        edge = Edge.of(self._coverage)
        self._pace.see(len(self._order), edge.free / edge.total)
        self._edge = edge
        self._see_gains()
        return edge

    def _starts(self) -> NDArray[np.int64]:
        return np.array(self._n_fetched_at[: self._evidence.n], np.int64)

    def _see_gains(self) -> None:
        """For each life, the least time that the surfer is on pages that were fetched since it began."""
        starts = np.array(self._n_fetched_at, np.int64)
        if len(starts):
            first = int(starts[0])
            visits = self._coverage.visits[np.array(self._order[first:], np.uint32)]
            since = np.append(np.cumsum(visits[::-1])[::-1], 0.0)
            self._gains[: len(starts)] = (1.0 - self._coverage.damping) * since[starts - first]

    def _hear(self) -> None:
        scores = self._lives.scores[self._evidence.n : self._lives.n_scored]
        unknown_counts = 1.0 - self.start.until if self.start.of_reachable else 1.0
        dangling = (1.0 - self.start.until) * scores[:, DANGLING]
        self._evidence.hear(scores[:, OUTSIDE] + unknown_counts * scores[:, UNKNOWN] + dangling)
        self._weigh_evidence()

    def _weigh_evidence(self) -> bool:
        self._found = self._evidence.found(self._gains)
        self.is_reached = self.is_reached or self._found >= self._evidence.goal
        return self.is_reached

    def _estimated(self, edge: Edge) -> float:
        """The coverage of all that is fetched, if walks from here end as those of late did."""
        recent = recent_walks(self._starts(), len(self._order))
        scores = self._lives.scores[: len(recent)]
        scores = scores[recent] if recent.any() else scores
        outside, unknown, dangling = edge.free * scores.mean(axis=0)
        stuck, total = edge.stuck + float(unknown), edge.total - float(dangling)
        outside += edge.hidden + edge.unsettled / 2
        if self.start.of_reachable:
            return float(1.0 - outside / (total - stuck))
        return float(1.0 - (outside + stuck) / total)


def check_confidence(confidence: float) -> None:
    """Between one half and 1."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be at least 0.5 and below 1, such as 0.999")
