"""The survey of a crawl's coverage, kept in its folder: what it began with, and its walks."""

from __future__ import annotations

import secrets

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.survey.crawl_survey import Round, SurveyStart, error_left
from orienteer.store.database import Database
from orienteer.store.survey_tables import SurveyRow, WalksRow


class KeptSurvey:
    """The last survey of an epoch, if it asks what the goal asks now."""

    def __init__(self, database: Database, epoch: int, goal: Goal) -> None:
        self._database, self._epoch = database, epoch
        self.start: SurveyStart | None = None
        self.rounds: tuple[Round, ...] = ()
        self._number = -1
        found = database.last_survey(epoch) if goal.until is not None and goal.confidence is not None else None
        if found is not None and _asks(found[1], goal):
            self._number, row = found
            self.start = SurveyStart(
                row.until, row.confidence, row.seed, row.n_told, row.width, row.of_reachable, row.error
            )
            self.rounds = tuple(Round(*walks) for walks in database.walks(self._number))
        self._n_saved = len(self.rounds)

    def begin(self, crawl: Crawl, width: int) -> None:
        """Let the crawl be measured if its goal asks for it, and it is not yet."""
        goal = crawl.goal
        if goal.until is None or goal.confidence is None or crawl.survey is not None or crawl.stopped_because:
            return
        seed = secrets.token_hex(16)  # from the system: no web can foresee where walks will go
        # Whoever asks one question after the other is wrong in one of them at most with the chance that was allowed.
        error = error_left(goal.confidence, self._database.n_surveys(self._epoch))
        crawl.begin_survey(SurveyStart(goal.until, goal.confidence, seed, 0, width, goal.of_reachable, error))

    def save(self, crawl: Crawl) -> bool:
        """Write down what is new; whether there was something."""
        survey = crawl.survey
        if survey is None:
            return False
        if survey.start != self.start:
            start = survey.start
            row = SurveyRow(
                self._epoch, start.n_told, start.seed, start.until, start.confidence, start.error, start.of_reachable,
                start.width,
            )  # fmt: skip
            self._number, self.start, self._n_saved = self._database.add_survey(row), start, 0
        elif self._n_saved == len(survey.rounds):
            return False
        new = survey.rounds[self._n_saved :]
        rows = [WalksRow(one.n_told, one.entries, one.allowed, one.free, one.stake) for one in new]
        self._database.add_walks(self._number, self._n_saved, rows)
        self._n_saved = len(survey.rounds)
        return True


def _asks(row: SurveyRow, goal: Goal) -> bool:
    """Whether a survey asks what the goal asks. One may have turned to what is reachable by itself."""
    same = row.until == goal.until and row.confidence == goal.confidence
    return same and (row.of_reachable or not goal.of_reachable)
