"""The tables of crawl.db that hold surveys: what each was to find out, and its walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orienteer.store.epoch_tables import EpochTables
from orienteer.store.history import expect_ids
from orienteer.store.page_row import blob_of, page_ids


class SurveyRow(NamedTuple):
    """A survey, as the database has it."""

    epoch: int
    n_told: int
    seed: str
    until: float
    confidence: float
    error: float
    of_reachable: bool
    width: int


class WalksRow(NamedTuple):
    """Walks that began together."""

    n_told: int
    entries: tuple[int, ...]
    allowed: float
    free: float
    stake: float


class SurveyTables(EpochTables):
    """The tables `survey` and `walks`."""

    def add_survey(self, row: SurveyRow) -> int:
        """Its number."""
        number = int(self._first("SELECT coalesce(max(id) + 1, 0) FROM survey"))
        self._write("INSERT INTO survey VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", number, *row)
        return number

    def last_survey(self, epoch: int) -> tuple[int, SurveyRow] | None:
        """The survey of this epoch that was begun last, and its number."""
        if "survey" in self.missing_tables:
            return None
        sql = "SELECT * FROM survey WHERE epoch = ? ORDER BY id DESC LIMIT 1"
        for number, _, n_told, seed, until, confidence, error, of_reachable, width in self._rows(sql, epoch):
            with self._expecting_damage():
                row = SurveyRow(
                    epoch, int(n_told), str(seed), float(until), float(confidence), float(error), bool(of_reachable),
                    int(width),
                )  # fmt: skip
            return number, row
        return None

    def n_surveys(self, epoch: int) -> int:
        """How many surveys of this epoch were begun."""
        return int(self._first("SELECT count(*) FROM survey WHERE epoch = ?", epoch))

    def add_walks(self, survey: int, first: int, rows: Sequence[WalksRow]) -> None:
        for k, row in enumerate(rows):
            values = (survey, first + k, row.n_told, blob_of(row.entries), row.allowed, row.free, row.stake)
            self._write("INSERT INTO walks VALUES (?, ?, ?, ?, ?, ?, ?)", *values)

    def walks(self, survey: int) -> list[WalksRow]:
        """All of them, in the order in which they began."""
        sql = "SELECT n_told, entries, allowed, free, stake FROM walks WHERE survey = ? ORDER BY number"
        rows = []
        for n_told, entries, allowed, free, stake in self._rows(sql, survey):
            with self._expecting_damage():
                pages = tuple(expect_ids(page_ids([entries]), self.n_urls()).tolist())
                rows.append(WalksRow(int(n_told), pages, float(allowed), float(free), float(stake)))
        return rows
