"""The walks of a survey of a fixed set: how many are under way, which pages they need, and when it is enough.

Lives are drawn independently and scored in the order of beginning, so it does not matter when a page comes, or how many
lives are under way: what the first n lives say follows from the seed and the web alone. They are heard in blocks of the
same size, and so the survey ends at the same life, however it was driven, interrupted and resumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.graph.push import Links
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.survey import DEFAULT_HALF_WIDTH, FixedSurvey
from orienteer.pages.stop_reason import StopReason

_BLOCK = 16  # lives that are heard together
_AHEAD = 4  # times the lives under way: how many may have begun after the first that has not ended
_MOST_WALKS = 200_000  # without any end in sight


@dataclass(frozen=True)
class SurveyGoal:
    """When a survey has walked enough: its interval is at most `half_width` to each side, or `budget` pages are spent.

    The result holds with the `confidence`, wherever it ends.
    """

    half_width: float = DEFAULT_HALF_WIDTH
    budget: int | None = None
    confidence: float = 0.999

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        if not 0 < self.half_width < 0.5:
            raise InputError(f"half width is {self.half_width}; it must lie between 0 and 0.5, such as 0.005")
        if self.budget is not None and self.budget < 0:
            raise InputError(f"budget is {self.budget}; it must be 0 or more pages")


class FixedWalks:
    """Walks until it is enough. `go_on` names pages to fetch; what came of them is `told`."""

    def __init__(self, survey: FixedSurvey, goal: SurveyGoal, width: int) -> None:
        """About `width` lives are under way at a time."""
        self.survey = survey
        self.goal = goal
        self.measured: Measured = survey.measured(0)
        self.stopped_because: StopReason | None = None
        self.n_probes = 0  # pages that were told
        self._width = width
        self._asked: set[int] = set()  # pages that go_on has named, or that were told
        self._awaited: set[int] = set()  # of these, those that were not told

    def begin_again(self, entries: Iterable[int], links: Links) -> None:
        """The lives of before; what was told to them is told again."""
        self.survey.begin_at(entries, links)

    def told(self, page: int, is_fetched: bool, links: Links) -> None:
        """It is known now what came of a page."""
        self.n_probes += 1
        self._asked.add(page)
        self._awaited.discard(page)
        self.survey.told(page, is_fetched, links)

    def go_on(self, links: Links) -> list[tuple[int, int]]:
        """Begin lives while there is room for them; the pages to be fetched besides, each with the first life."""
        self._hear()
        while self._has_room():
            n_free = self._width - self.survey.lives.n_under_way
            self.survey.begin(min(n_free, _BLOCK), links)
            self._hear()
        if self.stopped_because is not None:
            return []
        room = None if self.goal.budget is None else max(self.goal.budget - len(self._asked), 0)
        new = [(page, life) for page, life in self.survey.lives.needed() if page not in self._asked][:room]
        self._asked.update(page for page, _ in new)
        self._awaited.update(page for page, _ in new)
        if not self._awaited:
            self._end(StopReason.BUDGET if self.survey.lives.n_under_way else StopReason.SETTLED)
        return new

    def conclude(self) -> Measured:
        """What all lives say that have ended, where it is not enough yet: that holds, too."""
        if self.stopped_because in (None, StopReason.BUDGET):
            self.measured = self.survey.measured()
        return self.measured

    def _has_room(self) -> bool:
        lives = self.survey.lives
        if self.stopped_because is not None or not self.survey.has_lives or lives.n_begun >= _MOST_WALKS:
            return False
        is_spent = self.goal.budget is not None and len(self._asked) >= self.goal.budget and lives.n_under_way > 0
        n_ahead = lives.n_begun - lives.n_scored
        return not is_spent and lives.n_under_way < self._width and n_ahead < max(_AHEAD * self._width, _BLOCK)

    def _hear(self) -> None:
        """Hear the blocks of lives that are complete, until it is enough."""
        if self.measured.n_walks == 0:
            self._judge()  # it may be proved
        while self.stopped_because is None and self.survey.lives.n_scored >= self.survey.n_heard + _BLOCK:
            self.measured = self.survey.measured(self.survey.n_heard + _BLOCK)
            self._judge()

    def _judge(self) -> None:
        if self.measured.half_width <= self.goal.half_width:
            self._end(StopReason.PRECISE)
            return
        least, half = self.survey.least_half_width, self.goal.half_width / 2
        if self.measured.n_walks and least > half and self.measured.half_width <= least + half:
            self._end(StopReason.SETTLED)

    def _end(self, why: StopReason) -> None:
        self.stopped_because = why
        self._awaited.clear()
