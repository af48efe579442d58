"""The database of a crawl as it was at one moment, opened to be read, while another process may go on writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from orienteer.store.failures import explained
from orienteer.store.history import expect_ids
from orienteer.store.page_row import COLUMNS, PageRow, page_ids
from orienteer.store.visits import VisitKind

IMPORTED_TIMES = "imported_times"  # in the database: when the first and the last page came that were imported

_PAGES_PER_BATCH = 100_000
_ROWS_PER_BATCH = 500


class Group(NamedTuple):
    """The pages with the same state and outcome; how many of them repeat another page, exactly or nearly.

    `n_other_names` are other names of pages: redirects, and pages that were merged with another.
    """

    state: int
    outcome: str
    n_pages: int
    n_duplicates: int
    n_near_duplicates: int
    n_other_names: int
    n_unarchived: int = 0


class DonePage(NamedTuple):
    """What came of a page, and whether it repeats another one, exactly or nearly, or is another name of it, or is not
    in the archive."""

    page: int
    state: int
    outcome: str
    repeats: int
    nearly_repeats: int
    is_other_name: int
    is_unarchived: int


class DatabaseView(Database):
    """A database opened to be read: what is committed after that is not seen."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        try:
            with explained(path):
                self._connection.execute("BEGIN")
            self.n_urls()  # SQLite fixes the moment with the first read
        except BaseException:
            self.close()
            raise

    def outcomes_from(self, position: int) -> Iterator[list[DonePage]]:
        """What has come of pages at this position and behind it, many at a time; a page may come twice, with the same.

        The rows of pages that were there before may have changed in an epoch.
        """
        repeats = "duplicate_of IS NOT NULL, near_duplicate_of IS NOT NULL, page.redirect_to IS NOT NULL"
        columns = f"id, page.state, outcome, {repeats}, page.archive_bytes IS NULL"
        yield from self._done(f"SELECT {columns} FROM page WHERE position >= ?", position)
        if position > 0:
            visited = "FROM visit JOIN page ON page.id = visit.page WHERE visit.position >= ? AND visit.kind != ?"
            yield from self._done(f"SELECT {columns} {visited}", position, int(VisitKind.CARRIED))

    def _done(self, sql: str, *values: int) -> Iterator[list[DonePage]]:
        for rows in self._batches(_PAGES_PER_BATCH, sql, *values):
            with self._expecting_damage():
                done = [DonePage._make(row) for row in rows]
            yield done

    def readable_pages(self) -> Iterator[list[PageRow]]:
        """The pages whose content is in the archive, in the order they were done, many at a time."""
        where = "state = ? AND outcome = ? AND archive_bytes IS NOT NULL"
        yield from self._page_rows(where, int(PageState.FETCHED), str(Outcome.OK))

    def archived_rows(self, until: int) -> Iterator[PageRow]:
        """All pages with a record in the archive that were done before a position, in this order."""
        for rows in self._page_rows("archive_bytes IS NOT NULL AND position < ?", until):
            yield from rows

    def fetched_rows(self) -> Iterator[PageRow]:
        """All fetched pages and redirects, in the order they were done."""
        for rows in self._page_rows("state = ?", int(PageState.FETCHED)):
            yield from rows

    def done_rows(self) -> Iterator[PageRow]:
        """All pages that are done, whatever came of them, in the order they were done."""
        for rows in self._page_rows("true"):
            yield from rows

    def known_otherwise(self) -> NDArray[np.uint32]:
        """The pages that became known otherwise than by a link: those in sitemaps, and the feeds and translations that
        pages name; a page may be there twice."""
        with self._expecting_damage():
            blobs = [blob for (blob,) in self._rows("SELECT pages FROM known ORDER BY position")]
            return expect_ids(page_ids(blobs), self.n_urls())

    def _page_rows(self, where: str, *values: int | str) -> Iterator[list[PageRow]]:
        sql = f"SELECT {COLUMNS} FROM page WHERE {where} ORDER BY position"
        n_urls = self.n_urls()
        for rows in self._batches(_ROWS_PER_BATCH, sql, *values):
            with self._expecting_damage():
                pages = [PageRow.of_stored(row) for row in rows]
                if not 0 <= min(row.id for row in pages) <= max(row.id for row in pages) < n_urls:
                    raise ValueError("a page has no URL")
            yield pages

    def titles(self, pages: Sequence[int]) -> list[str]:
        """Of pages that are done."""
        return [str(self._first("SELECT title FROM page WHERE id = ?", int(page)) or "") for page in pages]

    def times(self) -> tuple[float, float] | None:
        """Unix time of the first and of the last page that was done; None while there is none."""
        sql = "SELECT coalesce(first_time, time) FROM page LEFT JOIN revisit ON page = id ORDER BY position LIMIT 1"
        first = self._first(sql)
        lasts = [self._first(f"SELECT time FROM {table} ORDER BY position DESC LIMIT 1") for table in ("page", "visit")]
        if first is None:
            return None
        times = [float(first), *(float(last) for last in lasts if last is not None)]
        imported = self.get(IMPORTED_TIMES, ())  # what was imported did not come in the order of its positions
        times += [float(time) for time in imported]
        return min(times), max(times)

    def n_in_states(self, states: Sequence[int], until: int | None = None) -> int:
        """How many pages are in one of these states, of those done up to a position."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT count(*) FROM page WHERE state IN ({marks}) AND position <= ?"
        return int(self._first(sql, *map(int, states), 2**63 - 1 if until is None else until))

    def groups_until(self, position: int) -> list[Group]:
        """The pages that were done before a position, by state and outcome, as their rows are now."""
        sums = "duplicate_of IS NOT NULL", "near_duplicate_of IS NOT NULL", "redirect_to IS NOT NULL"
        counts = ", ".join(f"sum({condition})" for condition in (*sums, "archive_bytes IS NULL"))
        sql = f"SELECT state, outcome, count(*), {counts} FROM page WHERE position < ? GROUP BY state, outcome"
        with self._expecting_damage():
            return [
                Group(int(state), str(outcome), *map(int, numbers))
                for state, outcome, *numbers in self._rows(sql, position)
            ]

    def unknown_until(self, position: int) -> dict[str, int]:
        """How many of these have links that are not known, by the reason."""
        if "unknown" in self.missing_tables:
            return {}
        sql = "SELECT why, count(*) FROM unknown JOIN page ON page.id = unknown.page WHERE position < ? GROUP BY why"
        with self._expecting_damage():
            return {str(why): int(n) for why, n in self._rows(sql, position)}

    def archived_until(self, position: int) -> dict[int, int]:
        """How far the records of these pages go in each file of the archive, in bytes."""
        ends = "SELECT archive_file, max(archive_offset + archive_bytes) FROM page"
        sql = f"{ends} WHERE position < ? AND archive_bytes IS NOT NULL GROUP BY archive_file"
        with self._expecting_damage():
            return {int(file): int(end) for file, end in self._rows(sql, position)}

    def times_until(self, position: int) -> tuple[float, float] | None:
        """Unix time of the first and of the last answer before a position; None where there is none."""
        times = "SELECT time FROM page WHERE position < ? UNION ALL SELECT time FROM visit WHERE position < ?"
        sql = f"SELECT min(time), max(time) FROM ({times} UNION ALL SELECT first_time FROM revisit)"
        with self._expecting_damage():
            for first, last in self._rows(sql, position, position):
                return None if first is None else (float(first), float(last))
        return None

    def find_urls(self, urls: Sequence[str]) -> dict[str, int]:
        """The ids of those URLs that are known; reads through all of them once."""
        marks = ", ".join("?" * len(urls))
        return dict(self._rows(f"SELECT url, id FROM url WHERE url IN ({marks})", *urls))
