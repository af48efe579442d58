"""The walks of a survey of a fixed set of pages: how many are in flight, which pages they need, and the stopping rule.

Lives are drawn independently and scored in the order of beginning, so the result of the first n lives is a function of
the seed and the web; neither the order in which pages arrive nor the number of lives in flight matters. Scores count in
blocks of equal size, so the survey ends after the same life, however it was driven, interrupted and resumed.

Stopping rule: the interval is as narrow as the goal, or would not get noticeably narrower, or the budget is spent.

*Gaps* are the groups of pages outside where a surfer spends the most time, each with bounds. Let h be some pages
outside the set. W_h is the score of a life for its visits outside if the last of them was in h, and 0 otherwise. Its
mean is proportional to the time on h, by the same argument as for the whole score: a visit of page q is the last one
with probability (1 - out), and then scores (1 - d) / (1 - out).

Time behind blocked pages or unknown links belongs to no group. The bounds of a group hold for that group alone: among
many groups, a few may violate theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.graph.survey.walking import DANGLING, OUTSIDE, UNKNOWN
from orienteer.pages.stop_reason import StopReason

_BLOCK = 16  # lives that count together
_AHEAD = 4  # as a multiple of the lives in flight: how many may begin before the first unfinished one has ended
_MAX_WALKS = 200_000  # a limit for surveys that do not converge


class FixedWalks:
    """Walks until the goal is met: `advance` returns the pages to fetch, `record_page` receives their outcomes."""

    def __init__(self, survey: FixedSurvey, goal: SurveyGoal, width: int) -> None:
        """Create the walks of a survey, with about `width` lives in flight at a time."""
        self.survey = survey
        self.goal = goal
        self.measured: Measured = survey.measured(0)
        self.stopped_because: StopReason | None = None
        self.n_probes = 0  # recorded pages
        self._width = width
        self._requested: set[int] = set()  # pages returned by `advance`, or recorded
        self._pending: set[int] = set()  # of these, those not recorded yet

    def restart(self, entries: Iterable[int], links: LinkRows) -> None:
        """Begin the recorded lives of an interrupted survey again; its pages are then recorded again."""
        self.survey.begin_at(entries, links)

    def record_page(self, page: int, is_fetched: bool, links: LinkRows) -> None:
        """Record the outcome of a page."""
        self.n_probes += 1
        self._requested.add(page)
        self._pending.discard(page)
        self.survey.record_page(page, is_fetched, links)

    def advance(self, links: LinkRows) -> list[tuple[int, int]]:
        """Begin lives while there is room, and return the additional pages to fetch, each with its first life."""
        self._count_blocks()
        while self._has_room():
            n_free = self._width - self.survey.lives.n_in_flight
            self.survey.begin(min(n_free, _BLOCK), links)
            self._count_blocks()
        if self.stopped_because is not None:
            return []
        room = None if self.goal.budget is None else max(self.goal.budget - len(self._requested), 0)
        new = [(page, life) for page, life in self.survey.lives.needed() if page not in self._requested][:room]
        self._requested.update(page for page, _ in new)
        self._pending.update(page for page, _ in new)
        if not self._pending:
            self._end(StopReason.BUDGET if self.survey.lives.n_in_flight else StopReason.SETTLED)
        return new

    def conclude(self) -> Measured:
        """Return the result of all lives that have ended; the bounds hold also before the goal is met."""
        if self.stopped_because in (None, StopReason.BUDGET):
            self.measured = self.survey.measured()
        return self.measured

    def _has_room(self) -> bool:
        lives = self.survey.lives
        if self.stopped_because is not None or not self.survey.has_lives or lives.n_begun >= _MAX_WALKS:
            return False
        is_spent = self.goal.budget is not None and len(self._requested) >= self.goal.budget and lives.n_in_flight > 0
        n_ahead = lives.n_begun - lives.n_scored
        return not is_spent and lives.n_in_flight < self._width and n_ahead < max(_AHEAD * self._width, _BLOCK)

    def _count_blocks(self) -> None:
        """Count the complete blocks of lives, until the goal is met."""
        if self.measured.n_walks == 0:
            self._check_goal()  # the proved bounds alone may meet it
        while self.stopped_because is None and self.survey.lives.n_scored >= self.survey.n_counted + _BLOCK:
            self.measured = self.survey.measured(self.survey.n_counted + _BLOCK)
            self._check_goal()

    def _check_goal(self) -> None:
        if self.measured.half_width <= self.goal.half_width:
            self._end(StopReason.PRECISE)
            return
        least, half = self.survey.least_half_width, self.goal.half_width / 2
        if self.measured.n_walks and least > half and self.measured.half_width <= least + half:
            self._end(StopReason.SETTLED)

    def _end(self, why: StopReason) -> None:
        self.stopped_because = why
        self._pending.clear()


@dataclass(frozen=True)
class Gap:
    """A group of pages outside: the `share` of the surfer's time on them, and its bounds, with the survey's confidence.

    `page` is the page of the group with the most time, one with links if there is any: a crawl can start there.
    `n_walks` have ended on these pages.
    """

    name: str
    share: float
    lower: float
    upper: float
    n_walks: int
    page: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def last_pages(survey: FixedSurvey) -> NDArray[np.int64]:
    """Return the last page outside of each walk that counts."""
    return np.array(survey.lives.last_pages[: survey.n_counted], np.int64)


def largest_gaps(survey: FixedSurvey, names: Sequence[str], n: int) -> list[Gap]:
    """Return the n groups with the most time, the largest first; `names` are the groups of the `last_pages`."""
    if not names or n < 1:
        return []
    scores, pages = survey.scores, last_pages(survey)
    known, groups = np.unique(np.array(names), return_inverse=True)
    time = np.bincount(groups, weights=scores[:, OUTSIDE], minlength=len(known))
    largest = [int(group) for group in np.argsort(-time, kind="stable")[:n] if time[group] > 0.0]
    dangling = float(scores[:, DANGLING].mean())
    found = []
    for group in largest:
        is_in = groups == group
        bounds = survey.bounds_of_group(1.0 - survey.confidence)
        bounds.add_scores(_scores_of(scores, is_in))
        share = survey.share_of(float(time[group]) / len(scores), dangling)
        lower, upper = 1.0 - bounds.upper, 1.0 - bounds.lower
        share = min(max(share, lower), upper)
        page = _most_visited(pages[is_in], scores[is_in], survey.lives.damping)
        found.append(Gap(str(known[group]), share, lower, upper, int(is_in.sum()), page))
    return found


def _scores_of(scores: NDArray[np.float64], is_in: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the scores for the time on the pages of one group."""
    of_group = scores.copy()
    of_group[:, UNKNOWN] = 0.0
    of_group[~is_in, OUTSIDE] = 0.0
    return of_group


def _most_visited(pages: NDArray[np.int64], scores: NDArray[np.float64], damping: float) -> int:
    """Return the page with the most time, preferably with links: a walk that ends without any scores d as dangling."""
    has_links = scores[:, DANGLING] < damping * (1.0 - 1e-9)
    known, places = np.unique(pages, return_inverse=True)
    time = np.bincount(places, weights=scores[:, OUTSIDE] * np.where(has_links, 1.0, 1e-9))
    return int(known[np.argmax(time)])
