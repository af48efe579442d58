"""The survey of a crawl's coverage, stored in its folder: its start, and its walks."""

from __future__ import annotations

import secrets

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.survey.crawl_survey import SurveyRound, SurveyStart, error_left, survey_seed
from orienteer.store.database import Database
from orienteer.store.survey_tables import SurveyRow, WalksRow


class StoredSurvey:
    """The last survey of an epoch, if it measures what the goal needs now."""

    def __init__(self, database: Database, epoch: int, goal: Goal) -> None:
        self._database, self._epoch = database, epoch
        self.start: SurveyStart | None = None
        self.rounds: tuple[SurveyRound, ...] = ()
        self._number = -1
        last = database.last_survey(epoch) if goal.until is not None and goal.confidence is not None else None
        if last is not None and _matches(last[1], goal):
            self._number, row = last
            self.start = SurveyStart(
                row.until, row.confidence, row.seed, row.n_events, row.width, row.of_reachable, row.error
            )
            self.rounds = tuple(SurveyRound(*walks) for walks in database.walks(self._number))
        self._n_saved = len(self.rounds)

    def begin(self, crawl: Crawl, width: int) -> None:
        """Begin a survey if the goal needs one, and there is none yet."""
        goal = crawl.goal
        if goal.until is None or goal.confidence is None or crawl.survey is not None or crawl.stopped_because:
            return
        seed = survey_seed(secrets.token_bytes(16))  # from the system: no web can foresee where walks will go
        # All surveys of an epoch share the allowed error, so that repeated ones are all right with this confidence.
        error = error_left(goal.confidence, self._database.n_surveys(self._epoch))
        crawl.begin_survey(SurveyStart(goal.until, goal.confidence, seed, 0, width, goal.of_reachable, error))

    def save(self, crawl: Crawl) -> bool:
        """Store new rounds; return whether there were any."""
        survey = crawl.survey
        if survey is None:
            return False
        if survey.start != self.start:
            start = survey.start
            row = SurveyRow(
                self._epoch, start.n_events, start.seed, start.until, start.confidence, start.error, start.of_reachable,
                start.width,
            )  # fmt: skip
            self._number, self.start, self._n_saved = self._database.add_survey(row), start, 0
        elif self._n_saved == len(survey.rounds):
            return False
        new = survey.rounds[self._n_saved :]
        rows = [WalksRow(one.n_events, one.entries, one.allowed, one.free, one.stake) for one in new]
        self._database.add_walks(self._number, self._n_saved, rows)
        self._n_saved = len(survey.rounds)
        return True


def _matches(row: SurveyRow, goal: Goal) -> bool:
    """Whether a survey measures what the goal needs. It may have switched to what is reachable by itself."""
    same = row.until == goal.until and row.confidence == goal.confidence
    return same and (row.of_reachable or not goal.of_reachable)
