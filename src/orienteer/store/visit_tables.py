"""The tables of crawl.db about epochs: when they began, the visits of pages in them, and their coverage surveys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.states import PageState
from orienteer.store.archive import Position
from orienteer.store.connection import DatabaseConnection
from orienteer.store.history import PAGES_PER_BATCH, expect_ids
from orienteer.store.page_row import blob_of, page_ids
from orienteer.store.url_tables import UrlTables
from orienteer.store.visits import EpochHead, EpochRow, Revisits, Visit, VisitKind

_CHANGE = "SELECT visit.position, visit.page, kind, visit.time, visit.redirect_to, title, outcome FROM visit "
_CHANGES_BETWEEN = f"{_CHANGE}JOIN page ON page.id = visit.page WHERE visit.position >= ? AND visit.position < ? "


class SeenChange(NamedTuple):
    """A visit of a page in an epoch, with the title of the page and the outcome of its last fetch."""

    position: int
    page: int
    kind: int
    time: float
    redirect_to: int | None
    title: str
    outcome: str


class SeenPages(NamedTuple):
    """All pages that are done, as arrays from which a refresh selects the pages that are due."""

    pages: NDArray[np.uint32]
    states: NDArray[np.uint8]
    first_times: NDArray[np.float64]
    checked: NDArray[np.float64]
    n_checks: NDArray[np.int64]
    n_changes: NDArray[np.int64]
    n_missing: NDArray[np.int64]


class EpochTables:
    """The table `epoch`."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables) -> None:
        self._db, self._urls = connection, urls

    def add(self, epoch: EpochRow) -> None:
        blobs = (blob_of(epoch.seeds), epoch.trust.astype("<f8").tobytes(), blob_of(epoch.due))
        self._db.write("INSERT INTO epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *epoch[:5], *blobs)

    def end(self, epoch: int, time: float) -> None:
        self._db.write("UPDATE epoch SET ended = ? WHERE id = ?", time, epoch)

    def all(self) -> list[EpochHead]:
        """Return all epochs after the first crawl."""
        sql = "SELECT id, began, ended, position, length(seeds) / 4, length(due) / 4 FROM epoch ORDER BY id"
        return [EpochHead(*row) for row in self._db.rows(sql)]

    def last(self) -> EpochRow | None:
        """Return the latest epoch; None while there is only the first crawl."""
        for *head, seeds, trust, due in self._db.rows("SELECT * FROM epoch ORDER BY id DESC LIMIT 1"):
            number, began, ended, position, hops = head
            with self._db.expecting_damage():
                weights = np.frombuffer(trust, "<f8").astype(np.float64)
                starts, due_pages = (expect_ids(page_ids([blob]), self._urls.count()) for blob in (seeds, due))
                if len(weights) != len(starts) or not (weights > 0).all() or not np.isfinite(weights).all():
                    raise ValueError("an epoch has seeds without trust")
                return EpochRow(number, began, ended, position, hops, starts, weights, due_pages)
        return None


class VisitTables:
    """The tables `visit` and `revisit`."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables) -> None:
        self._db, self._urls = connection, urls

    def add(self, visit: Visit) -> None:
        archived = visit.archived or (None, None, None)
        self._db.write("INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *visit[:6], *archived)

    def between(self, first: int, end: int) -> Iterator[Visit]:
        """Yield the visits at the positions in [first, end), in order."""
        columns = "position, page, kind, state, time, redirect_to, archive_file, archive_offset, archive_bytes"
        sql = f"SELECT {columns} FROM visit WHERE position >= ? AND position < ? ORDER BY position"
        for row in self._db.rows(sql, first, end):
            yield Visit._make((*row[:6], None if None in row[6:] else Position(*row[6:])))

    def counts(self, first: int, end: int | None = None) -> dict[VisitKind, int]:
        """Return the number of visits of each kind at the positions in [first, end)."""
        sql = "SELECT kind, count(*) FROM visit WHERE position >= ? AND position < ? GROUP BY kind ORDER BY kind"
        with self._db.expecting_damage():
            return {VisitKind(kind): n for kind, n in self._db.rows(sql, first, 2**63 - 1 if end is None else end)}

    def of_kinds(
        self, kinds: Collection[VisitKind], first: int, end: int | None = None, limit: int | None = None
    ) -> Iterator[SeenChange]:
        """Yield visits of these kinds at the positions in [first, end), the newest first."""
        which = f"AND kind IN ({', '.join(str(int(kind)) for kind in kinds)})"
        sql = f"{_CHANGES_BETWEEN} {which} ORDER BY visit.position DESC LIMIT ?"
        rows = self._db.rows(sql, first, 2**63 - 1 if end is None else end, -1 if limit is None else limit)
        return map(SeenChange._make, rows)

    def first_fetched(self, end: int | None = None, limit: int | None = None) -> Iterator[SeenChange]:
        """Yield the pages of the first crawl, which ended at position `end`, that still exist, the newest first."""
        fetched, new = int(PageState.FETCHED), int(VisitKind.NEW)
        sql = (
            "SELECT position, id, ?, coalesce(first_time, page.time) AS first_time, redirect_to, title, outcome "
            "FROM page LEFT JOIN revisit ON revisit.page = page.id WHERE position < ? AND state = ? "
            "AND id NOT IN (SELECT page FROM visit WHERE kind = ?) ORDER BY position DESC LIMIT ?"
        )
        rows = self._db.rows(sql, new, 2**63 - 1 if end is None else end, fetched, new, -1 if limit is None else limit)
        return map(SeenChange._make, rows)

    def unsent_bytes(self, first: int, end: int | None = None) -> int:
        """Return the size of content that servers did not send again because it was not modified."""
        sql = (
            "SELECT coalesce(sum(page.size_bytes), 0) FROM visit JOIN page ON page.id = visit.page "
            "WHERE visit.position >= ? AND visit.position < ? AND visit.kind = ?"
        )
        return int(self._db.first(sql, first, 2**63 - 1 if end is None else end, int(VisitKind.NOT_MODIFIED)))

    def revisits(self, page: int) -> Revisits | None:
        """Return the revisits of a page; None if it was never requested again."""
        for values in self._db.rows("SELECT * FROM revisit WHERE page = ?", int(page)):
            return Revisits(*values)
        return None

    def missing(self) -> Iterator[Revisits]:
        """Yield the pages that were missing at their last visit, the longest missing first."""
        sql = "SELECT * FROM revisit WHERE missing_since IS NOT NULL ORDER BY missing_since, page"
        for values in self._db.rows(sql):
            with self._db.expecting_damage():
                yield Revisits(*values)

    def newly_missing(self, first: int, end: int | None, before: int) -> Iterator[SeenChange]:
        """Yield pages that were missing at the positions in [first, end), the newest first.

        Pages that were missing in the previous epoch, which begins at `before`, are left out.
        """
        missing_before = "SELECT page FROM visit WHERE position >= ? AND position < ? AND kind = ?"
        which = f"AND kind = ? AND visit.page NOT IN ({missing_before})"
        sql = f"{_CHANGES_BETWEEN} {which} ORDER BY visit.position DESC"
        missing = int(VisitKind.MISSING)
        rows = self._db.rows(sql, first, 2**63 - 1 if end is None else end, missing, before, first, missing)
        for change in map(SeenChange._make, rows):
            seen = self.revisits(change.page)
            yield change._replace(outcome=(seen.missing_as if seen is not None else None) or VisitKind.MISSING.words)

    def set_revisits(self, revisits: Revisits) -> None:
        self._db.write("INSERT OR REPLACE INTO revisit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *revisits)

    def seen_pages(self) -> SeenPages:
        sql = (
            "SELECT page.id, page.state, coalesce(first_time, page.time) AS first_time, "
            "coalesce(checked, page.time) AS checked, coalesce(n_checks, 0) AS n_checks, "
            "coalesce(n_changes, 0) AS n_changes, coalesce(n_missing, 0) AS n_missing "
            "FROM page LEFT JOIN revisit ON revisit.page = page.id ORDER BY page.position"
        )
        kinds: tuple[Any, ...] = (np.uint32, np.uint8, np.float64, np.float64, np.int64, np.int64, np.int64)
        columns: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in kinds]
        for rows in self._db.batches(PAGES_PER_BATCH, sql):
            with self._db.expecting_damage():
                for column, kind, values in zip(columns, kinds, zip(*rows, strict=True), strict=True):
                    column.append(np.array(values, kind))
        seen = SeenPages(*(np.concatenate(column) for column in columns))
        with self._db.expecting_damage():
            expect_ids(seen.pages, self._urls.count())
        return seen


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
