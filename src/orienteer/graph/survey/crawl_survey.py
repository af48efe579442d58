"""The survey of a running crawl: random walks among its pages, until they show that the target is reached.

`record_page` receives each page in the order of the crawl and returns the pages that walks need, which are fetched
first. From time to time a round of walks begins. Its time and its entries are functions of the recorded pages and the
seed, so a resumed crawl has the same walks. Rounds are stored nevertheless (`rounds`): they can be verified, and are
the same on a machine with other floating-point rounding. The survey pushes mass on its own Coverage, at times that
depend only on the recorded pages. Pushing costs most of its time, so it happens at *checks* only, when the crawl has
grown by a share since the last one; at a check the survey plans whether walks begin now, and when the next check is.

A server must not recognise the pages of walks by the order of requests. So some rounds are *decoys*: they enter and
walk like all others, but with a stake of 0, so that their scores do not change the evidence. A fair coin,
derived from the seed, decides whether a planned round is a decoy. Other decoys begin between checks, from the start of
the crawl, long before walks can be useful. They enter by the mass as it is: since they are no evidence, it need not be
pushed.

Stopping rule: the target is reached once the evidence is 1/δ, which is wrong with a probability of at most δ (see
evidence.py).
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
from orienteer.graph.push import LinkRows, R
from orienteer.graph.survey.evidence import Evidence, Pace, Plan, recent_walks
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.walking import (
    BLOCKED_PAGE,
    DANGLING,
    OUTSIDE,
    UNKNOWN,
    Edge,
    Lives,
    Rows,
    draw_entries,
    highest_score,
    random_level,
)

_FIRST_SHARE = 0.9  # of the allowed error is for the first survey, 0.9 of the remainder for the next, and so on
_COARSE = 0.05  # of the mass on unfetched pages: what a check leaves on fetched pages
_SETTLED = 0.005  # of the time that may be outside: the same when a round that may count begins
_CHECK_SHARE = 0.05  # of the pages fetched, between checks while the target cannot be reached
_MIN_STEP = 4
_ROUND_SIZES, _PAGES_PER_LIFE = (2, 16), 500  # lives in a round: minimum, maximum; pages fetched per life
_PAGES_PER_EXTRA_LIFE = 1000  # larger crawls have larger rounds, to be worth the pushes
_IN_FLIGHT_DIVISOR = 4  # at most 1 in 4 of the walks that seem to be missing is in flight
# Prefixes of the seeds of surveys with decoys, and of those whose walks begin by the rules below: the walks of version
# 0.2 and before began at other moments, without decoys.
_DECOYS, _THESE_RULES = "decoys-", "decoys-2-"
_COUNT_PROBABILITY = 0.5  # the probability that a round counts, with decoys
_WALK_SHARE = 0.1  # with decoys, at least this share of the pages is fetched for walks, at any time


def survey_seed(random: bytes) -> str:
    """Return the seed of a new survey, from random bytes."""
    return _THESE_RULES + random.hex()


@dataclass(frozen=True)
class SurveyStart:
    """The parameters of a survey: its target, the allowed error, and its randomness.

    It begins after `n_events` events. The seed comes from the system's randomness, so that no server can predict it,
    and is made by `survey_seed`; with any other seed there are no decoys. About `width` pages are requested at a time.
    `of_reachable`: the surfer restarts at pages without known links.
    """

    until: float
    confidence: float
    seed: str
    n_events: int = 0
    width: int = 1
    of_reachable: bool = False
    error: float = 0.0  # of this survey; after a restart less than 1 - confidence remains

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if not self.error:
            object.__setattr__(self, "error", error_left(self.confidence, 0))
        if not 0.0 < self.error < 1.0:
            raise InputError(f"the error of a survey is {self.error}; it must be above 0 and below 1")

    @property
    def has_decoys(self) -> bool:
        """Whether only some of the rounds count."""
        return self.seed.startswith(_DECOYS)

    @property
    def is_repeatable(self) -> bool:
        """Whether its walks can be drawn again from its seed; not those of an earlier version."""
        return self.seed.startswith(_THESE_RULES)


def error_left(confidence: float, n_before: int) -> float:
    """Return the allowed error of the survey after `n_before` others; the sum over all stays below 1 - confidence."""
    return _FIRST_SHARE * (1.0 - _FIRST_SHARE) ** n_before * (1.0 - confidence)


def restarted(start: SurveyStart, of_reachable: bool) -> SurveyStart:
    """Return the parameters of a new survey after the target has changed: new walks, and the remaining error."""
    digest = hashlib.blake2b(f"{start.seed} again".encode(), digest_size=16)
    seed = survey_seed(digest.digest()) if start.has_decoys else digest.hexdigest()
    return replace(start, seed=seed, of_reachable=of_reachable, error=(1.0 - _FIRST_SHARE) * start.error)


@dataclass(frozen=True)
class SurveyRound:
    """Walks that began together, after `n_events` events, and their parameters in `Evidence`."""

    n_events: int
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
        rounds: tuple[SurveyRound, ...] = (),
    ) -> None:
        """Create a survey; `rounds` were recorded by an earlier run, and begin again after the same events."""
        self.start = start
        self.n_events = 0
        self.rounds: list[SurveyRound] = []
        self.is_reached = False
        self.n_missing = 0  # estimated number of further walks needed
        self.pending_rounds = deque(rounds)  # recorded rounds that have not begun again
        self._coverage = Coverage(trust, damping, known_trust, counts_visits=True)
        self._lives = Lives(start.seed, damping)
        self._evidence = Evidence(start.error)
        self._peak_evidence = 0.0
        self._pace = Pace(highest_score(damping), _COUNT_PROBABILITY if start.has_decoys else 1.0)
        self._order = array("I")  # fetched pages
        self._n_pushed = 0  # of the fetched pages
        self._blocked = array("I")  # since the last push
        self._when: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._n_fetched_at = array("q")  # of each life: pages fetched when it began
        self._n_uncounted = 0  # lives before the first that counts
        self._gains: NDArray[np.float64] = np.zeros(64)  # of each life from the first that counts on, at the last check
        self._next_check = max(len(np.flatnonzero(trust)), start.n_events)
        self._decoys_at = self._next_check
        self._stake = 0.0  # of a round that begins now, unless it is a decoy

    # -- events --------------------------------------------------------------------------------------------------

    def record_page(self, page: int, is_fetched: bool, coverage: Coverage, links: LinkRows) -> list[tuple[int, int]]:
        """Record the outcome of a page; return the further pages that walks need, each with its first walk's number.

        `coverage` says which recorded pages are aliases, and how many of their links are unknown.
        """
        self.n_events += 1
        self._when = grown(self._when, page + 1)
        self._when[page] = self.n_events if is_fetched else BLOCKED_PAGE
        (self._order if is_fetched else self._blocked).append(page)
        needs_it = self._lives.needs(page)
        if needs_it:
            n_before = self._lives.n_scored
            self._lives.resume(page, links, self._rows(coverage, links))
            if self._lives.n_scored > n_before:
                self._score_walks()
        has_begun = self._begin_if_due(coverage, links)
        return self._lives.take_new() if needs_it or has_begun else []

    def _begin_if_due(self, coverage: Coverage, links: LinkRows) -> bool:
        """Begin a round of walks if one is due; a recorded round begins after the same event as before."""
        if self.n_events < min(self._next_check, self._decoys_at) and not self.pending_rounds:
            return False
        n_lives = self._n_lives()
        is_recorded = bool(self.pending_rounds) and self.pending_rounds[0].n_events == self.n_events
        is_check, begins = self._is_due(n_lives), is_recorded or self._needs_decoys(n_lives)
        if not is_check and not begins:
            return False
        self._push_new(coverage, links)
        self._stake = self._checked(links) if is_check else 0.0
        if not begins and not self._stake:
            return False
        if is_recorded:
            self._begin_round(self.pending_rounds.popleft(), coverage, links)
            return True
        edge = Edge.of(self._coverage)
        if self.is_reached or edge.free <= 0.0:
            self._decoys_at = self.n_events + self._pause()
            return False
        if not self.pending_rounds:
            self._begin_round(self._new_round(edge, n_lives), coverage, links)
        return not self.pending_rounds

    def _checked(self, links: LinkRows) -> float:
        """Push the mass and plan the next check; return the stake of walks that are to begin now, 0 for none."""
        own = self._coverage
        own.push_until(links, _COARSE * max(float(own.mass[R]), 1.0 - self.start.until))
        edge = Edge.of(own).settled()
        self._pace.observe(len(self._order), edge.free / edge.total)
        self._update_gains(links)
        if self._weigh_evidence() or not self._planned_stake(edge):
            return 0.0
        own.settle(links, _SETTLED * (1.0 - self.start.until))
        return self._planned_stake(Edge.of(own))

    def _planned_stake(self, edge: Edge) -> float:
        """Return the stake of walks that begin now; if it is better to wait, return 0 and set the next check."""
        if self._is_useless(edge):
            self._next_check = self.n_events + self._pause()
            return 0.0
        plan = self._plan(edge)
        if not plan.stake:
            self._next_check = self.n_events + (plan.n_pages or _MIN_STEP)
        return plan.stake

    def _pause(self) -> int:
        """Return the number of events until the next check while walks would be useless."""
        return max(_MIN_STEP, int(_CHECK_SHARE * len(self._order)))

    def _new_round(self, edge: Edge, n_lives: int) -> SurveyRound:
        first = self._lives.n_begun
        levels = np.array([random_level(self.start.seed, life) for life in range(first, first + n_lives)])
        entries = tuple(draw_entries(self._coverage, edge.free, levels).tolist())
        return SurveyRound(self.n_events, entries, edge.allowed(*self._goal()), edge.free, self._stake_of(first))

    def _stake_of(self, first: int) -> float:
        """Return the stake of a round that begins now with the life `first`: 0 if its walks are decoys."""
        counts = not self.start.has_decoys or random_level(f"{self.start.seed} counts", first) < _COUNT_PROBABILITY
        return self._stake if counts else 0.0

    def _needs_decoys(self, n_lives: int) -> bool:
        """Return whether a round must begin because fewer pages were fetched for walks than their share."""
        start = self.start
        if not start.has_decoys or self.is_reached or self.n_events < self._decoys_at:
            return False
        if self.n_probes >= _WALK_SHARE * (self.n_events - start.n_events):
            self._decoys_at = start.n_events + int(self.n_probes / _WALK_SHARE)
            return False
        return not self._lives.n_in_flight or self._lives.n_in_flight + n_lives <= start.width

    def _plan(self, edge: Edge) -> Plan:
        n_fetched, evidence, allowed = len(self._order), self._evidence, edge.allowed(*self._goal())
        recent = evidence.scores[: evidence.n][recent_walks(self._starts(), n_fetched)]
        plan = self._pace.plan(
            n_fetched, allowed, edge.free, evidence, self._gains, recent, self._lives.n_begun, self.n_probes
        )
        self.n_missing = plan.n_walks
        return plan

    def _n_lives(self) -> int:
        """Return the number of lives in a round that begins now."""
        n_fetched = len(self._order)
        return min(
            max(n_fetched // _PAGES_PER_LIFE, _ROUND_SIZES[0]), _ROUND_SIZES[1] + n_fetched // _PAGES_PER_EXTRA_LIFE
        )

    def _is_due(self, n_lives: int) -> bool:
        if self.is_reached or self.n_events < self._next_check:
            return False
        n_in_flight = self._lives.n_in_flight
        return not n_in_flight or n_in_flight + n_lives <= min(self.start.width, self.n_missing // _IN_FLIGHT_DIVISOR)

    def _is_useless(self, edge: Edge) -> bool:
        """Return whether walks from this edge cannot contribute evidence for the target."""
        is_too_low = edge.free > 0.0 and edge.upper(self.start.of_reachable) < self.start.until
        return edge.allowed(*self._goal()) <= 0.0 or edge.free <= 0.0 or is_too_low

    def needed(self) -> set[int]:
        """Return the pages that walks wait for."""
        return {page for page, _ in self._lives.needed()}

    def restore(self, start: SurveyStart, rounds: Iterable[SurveyRound]) -> None:
        """Continue from a checkpoint, which must be of the survey with this start; `rounds` are all recorded rounds."""
        if start != self.start:
            raise ValueError("the checkpoint is of another survey")
        self.pending_rounds = deque(list(rounds)[len(self.rounds) :])

    @property
    def n_probes(self) -> int:
        """Number of pages that walks have needed."""
        return self._lives.n_needed

    @property
    def n_walks(self) -> int:
        """Number of walks that have ended and have a score."""
        return self._lives.n_scored

    @property
    def progress(self) -> float:
        """The evidence so far, as a share of the evidence needed."""
        return min(self._peak_evidence / self._evidence.goal, 1.0)

    def measured(self, proved: Certificate) -> Measured | None:
        """Return the measured coverage of the pages fetched so far, of which `proved` are the bounds.

        It is None before the first walk has ended.
        """
        if self._evidence.n == 0:
            return None
        of_reachable = self.start.of_reachable
        lower, upper = (proved.of_reachable, 1.0) if of_reachable else (proved.lower, proved.upper)
        lower = max(self.start.until, lower) if self.is_reached else lower
        upper = max(upper, lower)
        estimate = min(max(self._estimated(proved), lower), upper)
        return Measured(lower, upper, estimate, self.start.confidence, self.n_walks, self.n_probes, of_reachable)

    # -- internals -----------------------------------------------------------------------------------------------

    def _goal(self) -> tuple[float, bool]:
        return self.start.until, self.start.of_reachable

    def _rows(self, coverage: Coverage, links: LinkRows) -> Rows:
        self._when = grown(self._when, links.n_pages)
        coverage.grow_to(links.n_pages)
        return Rows.of(self._when, coverage)

    def _begin_round(self, round: SurveyRound, coverage: Coverage, links: LinkRows) -> None:
        self.rounds.append(round)
        if not round.stake and self._n_uncounted == self._lives.n_begun:
            self._n_uncounted += len(round.entries)
        rows = self._rows(coverage, links)
        for entry in round.entries:
            self._evidence.stake(self._lives.n_begun, round.allowed, round.free, round.stake)
            self._n_fetched_at.append(len(self._order))
            self._gains = grown(self._gains, len(self._n_fetched_at))
            self._lives.begin(self.n_events, entry, links, rows)

    def _push_new(self, coverage: Coverage, links: LinkRows) -> None:
        """Push each page once that was fetched since the last call."""
        new, blocked = np.array(self._order[self._n_pushed :], np.uint32), np.array(self._blocked, np.uint32)
        self._n_pushed = len(self._order)
        del self._blocked[:]
        self._coverage.grow_to(links.n_pages)
        self._coverage.copy_page_states(new, coverage)
        self._coverage.block(blocked)
        self._coverage.fetch(new, links)

    def _starts(self) -> NDArray[np.int64]:
        return np.array(self._n_fetched_at[: self._evidence.n], np.int64)

    def _update_gains(self, links: LinkRows) -> None:
        """Update, for each life, the least time that the surfer spends on pages fetched since it began."""
        starts = np.array(self._n_fetched_at[self._n_uncounted :], np.int64)
        if len(starts):
            first = int(starts[0])
            visits = self._coverage.visits(np.array(self._order[first:], np.uint32), links)
            since = np.append(np.cumsum(visits[::-1])[::-1], 0.0)
            gains = (1.0 - self._coverage.damping) * since[starts - first]
            self._gains[self._n_uncounted : len(self._n_fetched_at)] = gains

    def _score_walks(self) -> None:
        new = slice(self._evidence.n, self._lives.n_scored)
        scores = self._lives.scores[new]
        unknown_counts = 1.0 - self.start.until if self.start.of_reachable else 1.0
        dangling = (1.0 - self.start.until) * scores[:, DANGLING]
        self._evidence.add_scores(scores[:, OUTSIDE] + unknown_counts * scores[:, UNKNOWN] + dangling)
        if self._evidence.stakes[new].any():
            self._weigh_evidence()

    def _weigh_evidence(self) -> bool:
        self._peak_evidence = self._evidence.peak(self._gains)
        self.is_reached = self.is_reached or self._peak_evidence >= self._evidence.goal
        return self.is_reached

    def _estimated(self, proved: Certificate) -> float:
        """Estimate the coverage of all fetched pages, assuming that new walks would score like the recent ones.

        The walks score the mass that is on pages to fetch, or not pushed yet. All mass here is in shares of the total.
        """
        recent = recent_walks(self._starts(), len(self._order))
        scores = self._lives.scores[: len(recent)]
        scores = scores[recent] if recent.any() else scores
        hidden = self._coverage.hidden / Edge.of(self._coverage).total
        free = max(proved.frontier + proved.unsettled - hidden, 0.0)
        outside, unknown, dangling = free * scores.mean(axis=0)
        stuck, total = proved.blocked + proved.unknown + float(unknown), 1.0 - float(dangling)
        outside += hidden
        if self.start.of_reachable:
            return float(1.0 - outside / (total - stuck))
        return float(1.0 - (outside + stuck) / total)


def check_confidence(confidence: float) -> None:
    """Raise an InputError unless the confidence is at least 0.5 and below 1."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be at least 0.5 and below 1, such as 0.999")
