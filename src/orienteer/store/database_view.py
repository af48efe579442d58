"""A read-only snapshot of the database of a crawl, while another process may write to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.archive import Position
from orienteer.store.column_ranges import RowRanges
from orienteer.store.connection import schema_problem
from orienteer.store.database import Database
from orienteer.store.failures import damaged, map_disk_errors
from orienteer.store.history import expect_ids
from orienteer.store.page_row import COLUMNS, PageRow, page_ids
from orienteer.store.visits import Visit, VisitKind

IMPORTED_TIMES = "imported_times"  # a meta key: the times of the first and the last imported page

_PAGES_PER_BATCH = 100_000
_ROWS_PER_BATCH = 500


class StateGroup(NamedTuple):
    """The pages with the same state and outcome, and how many of them are duplicates or near-duplicates.

    `n_aliases` counts aliases: redirects, and pages that were merged with another.
    """

    state: int
    outcome: str
    n_pages: int
    n_duplicates: int
    n_near_duplicates: int
    n_aliases: int
    n_unarchived: int = 0


class DonePage(NamedTuple):
    """The outcome of a page, and whether it is a duplicate, a near-duplicate, an alias or missing in the archive."""

    page: int
    state: int
    outcome: str
    repeats: int
    nearly_repeats: int
    is_alias: int
    is_unarchived: int


class DatabaseView(Database):
    """A read-only database; later commits of other processes are not visible."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        try:
            with map_disk_errors(path):
                self._connection.execute("BEGIN")
            self.n_urls()  # the first read fixes the snapshot
        except BaseException:
            self.close()
            raise

    def schema_problem(self) -> str:
        """Return why queries of this database may contradict each other, in a few words; "" where they do not."""
        with map_disk_errors(self.path):
            return schema_problem(self._connection, self.kind.schema)

    def outcomes_from(self, position: int) -> Iterator[list[DonePage]]:
        """Yield the outcomes of pages done or visited from this position on, in batches.

        A page with an older position is included if a refresh visited it; a page may occur twice, with equal values.
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
        """Yield the pages whose content is in the archive, in the order they were done, in batches."""
        where = "state = ? AND outcome = ? AND archive_bytes IS NOT NULL"
        yield from self._page_rows(where, int(PageState.FETCHED), str(Outcome.OK))

    def archived_rows(self, until: int) -> Iterator[PageRow]:
        """Yield all pages with a record in the archive that were done before a position, in order."""
        for rows in self._page_rows("archive_bytes IS NOT NULL AND position < ?", until):
            yield from rows

    def claimed_records(self) -> NDArray[np.int64]:
        """Return file, offset and size of all records of pages, one per row, in the order of the archive."""
        sql = "SELECT archive_file, archive_offset, archive_bytes FROM page WHERE archive_bytes IS NOT NULL"
        with self._expecting_damage():
            return np.array(list(self._rows(f"{sql} ORDER BY 1, 2")), np.int64).reshape(-1, 3)

    def visits_between(self, first: int, end: int) -> Iterator[Visit]:
        """Yield the visits at the positions in [first, end), in order."""
        columns = "position, page, kind, state, time, redirect_to, archive_file, archive_offset, archive_bytes"
        sql = f"SELECT {columns} FROM visit WHERE position >= ? AND position < ? ORDER BY position"
        for row in self._rows(sql, first, end):
            yield Visit._make((*row[:6], None if None in row[6:] else Position(*row[6:])))

    def unarchived_until(self, position: int) -> Iterator[tuple[int, int, str, int]]:
        """Yield id, state, outcome and number of unknown links of pages done before a position without a record."""
        n_urls = self.n_urls()
        columns = self._with_unknown("id, state, outcome, {n_unknown} AS n_unknown, position")
        sql = f"SELECT {columns} FROM page WHERE archive_bytes IS NULL AND position < ?"
        for page, state, outcome, n_unknown, _ in self._rows(sql, position):
            if page >= n_urls:
                raise damaged(self.path, f"page {page:,} has no URL")
            yield page, state, outcome, n_unknown

    def n_with_impossible_links(self) -> int:
        """Return the number of pages that have links although they were not fetched."""
        sql = "SELECT count(*) FROM page WHERE state != ? AND length(links) > 0"
        return int(self._first(sql, int(PageState.FETCHED)))

    def fetched_rows(self) -> Iterator[PageRow]:
        """Yield all fetched pages and redirects, in the order they were done."""
        for rows in self._page_rows("state = ?", int(PageState.FETCHED)):
            yield from rows

    def done_rows(self) -> Iterator[PageRow]:
        """Yield all pages that are done, with any outcome, in the order they were done."""
        for rows in self._page_rows("true"):
            yield from rows

    def known_without_link(self) -> NDArray[np.uint32]:
        """Return the pages discovered without a link: in sitemaps, and as feeds and translations of other pages.

        A page may occur twice.
        """
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
        """Return the titles of pages that are done; "" for others."""
        return [str(self._first("SELECT title FROM page WHERE id = ?", int(page)) or "") for page in pages]

    def times(self) -> tuple[float, float] | None:
        """Return the Unix times of the first and the last page that was done; None if there is none."""
        joined = "FROM page LEFT JOIN revisit ON page = id"
        sql = f"SELECT coalesce(first_time, time) AS time {joined} ORDER BY position LIMIT 1"
        first = self._first(sql)
        lasts = [self._first(f"SELECT time FROM {table} ORDER BY position DESC LIMIT 1") for table in ("page", "visit")]
        if first is None:
            return None
        times = [float(first), *(float(last) for last in lasts if last is not None)]
        imported = self.get(IMPORTED_TIMES, ())  # the positions of imported pages are not in the order of their times
        with self._expecting_damage():
            times += [float(time) for time in imported]
            RowRanges(["time"] * len(times)).check(times)
        return min(times), max(times)

    def n_in_states(self, states: Sequence[int], until: int | None = None) -> int:
        """Return the number of pages in one of these states, of those done up to a position."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT count(*) FROM page WHERE state IN ({marks}) AND position <= ?"
        return int(self._first(sql, *map(int, states), 2**63 - 1 if until is None else until))

    def groups_until(self, position: int) -> list[StateGroup]:
        """Return the pages that were done before a position, grouped by their current state and outcome."""
        sums = "duplicate_of IS NOT NULL", "near_duplicate_of IS NOT NULL", "redirect_to IS NOT NULL"
        counts = ", ".join(f"sum({condition})" for condition in (*sums, "archive_bytes IS NULL"))
        sql = f"SELECT state, outcome, count(*), {counts} FROM page WHERE position < ? GROUP BY state, outcome"
        with self._expecting_damage():
            return [
                StateGroup(int(state), str(outcome), *map(int, numbers))
                for state, outcome, *numbers in self._rows(sql, position)
            ]

    def unknown_until(self, position: int) -> dict[str, int]:
        """Return the number of pages done before a position that have unknown links, by reason."""
        if "unknown" in self.missing_tables:
            return {}
        sql = "SELECT why, count(*) FROM unknown JOIN page ON page.id = unknown.page WHERE position < ? GROUP BY why"
        with self._expecting_damage():
            return {str(why): int(n) for why, n in self._rows(sql, position)}

    def archived_until(self, position: int) -> dict[int, int]:
        """Return the end, in bytes, of the records of pages done before a position, by file of the archive."""
        ends = "SELECT archive_file, max(archive_offset + archive_bytes) FROM page"
        sql = f"{ends} WHERE position < ? AND archive_bytes IS NOT NULL GROUP BY archive_file"
        with self._expecting_damage():
            return {int(file): int(end) for file, end in self._rows(sql, position)}

    def times_until(self, position: int) -> tuple[float, float] | None:
        """Return the Unix times of the first and the last response before a position; None if there is none."""
        times = "SELECT time FROM page WHERE position < ? UNION ALL SELECT time FROM visit WHERE position < ?"
        bounds = "min(time) AS first_time_or_none, max(time) AS last_time_or_none"
        sql = f"SELECT {bounds} FROM ({times} UNION ALL SELECT first_time FROM revisit)"
        with self._expecting_damage():
            for first, last in self._rows(sql, position, position):
                return None if first is None else (float(first), float(last))
        return None

    def find_urls(self, urls: Sequence[str]) -> dict[str, int]:
        """Return the ids of those URLs that are known; scans the table once."""
        marks = ", ".join("?" * len(urls))
        return dict(self._rows(f"SELECT url, id FROM url WHERE url IN ({marks})", *urls))
