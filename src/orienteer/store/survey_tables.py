"""The tables of crawl.db about coverage surveys: their goals, and their walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orienteer.store.connection import DatabaseConnection
from orienteer.store.history import expect_ids
from orienteer.store.page_row import blob_of, page_ids
from orienteer.store.url_tables import UrlTables


class SurveyRow(NamedTuple):
    """A row of the table `survey`: its goal, and the number of events before it."""

    epoch: int
    n_events: int
    seed: str
    until: float
    confidence: float
    error: float
    of_reachable: bool
    width: int


class WalksRow(NamedTuple):
    """A row of the table `walks`: walks that began together."""

    n_events: int
    entries: tuple[int, ...]
    allowed: float
    free: float
    stake: float


class SurveyTables:
    """The tables `survey` and `walks`."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables) -> None:
        self._db, self._urls = connection, urls

    def add(self, row: SurveyRow) -> int:
        """Add a survey; return its number."""
        number = int(self._db.first("SELECT coalesce(max(id) + 1, 0) FROM survey"))
        self._db.write("INSERT INTO survey VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", number, *row)
        return number

    def last(self, epoch: int) -> tuple[int, SurveyRow] | None:
        """Return the latest survey of an epoch, and its number; None if there is none."""
        sql = "SELECT * FROM survey WHERE epoch = ? ORDER BY id DESC LIMIT 1"
        for number, _, n_events, seed, until, confidence, error, of_reachable, width in self._db.rows(sql, epoch):
            with self._db.expecting_damage():
                row = SurveyRow(
                    epoch, int(n_events), str(seed), float(until), float(confidence), float(error), bool(of_reachable),
                    int(width),
                )  # fmt: skip
            return number, row
        return None

    def count(self, epoch: int) -> int:
        """Return the number of surveys begun in an epoch."""
        return int(self._db.first("SELECT count(*) FROM survey WHERE epoch = ?", epoch))

    def add_walks(self, survey: int, first: int, rows: Sequence[WalksRow]) -> None:
        for k, row in enumerate(rows):
            values = (survey, first + k, row.n_events, blob_of(row.entries), row.allowed, row.free, row.stake)
            self._db.write("INSERT INTO walks VALUES (?, ?, ?, ?, ?, ?, ?)", *values)

    def walks(self, survey: int) -> list[WalksRow]:
        """Return all walks of a survey, in the order in which they began."""
        sql = "SELECT n_told, entries, allowed, free, stake FROM walks WHERE survey = ? ORDER BY number"
        rows = []
        for n_events, entries, allowed, free, stake in self._db.rows(sql, survey):
            with self._db.expecting_damage():
                pages = tuple(expect_ids(page_ids([entries]), self._urls.count()).tolist())
                rows.append(WalksRow(int(n_events), pages, float(allowed), float(free), float(stake)))
        return rows
