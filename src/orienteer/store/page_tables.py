"""The pages of crawl.db that are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.archive import Position
from orienteer.store.connection import DatabaseConnection
from orienteer.store.failures import damaged
from orienteer.store.history import N_UNKNOWN, PAGES_PER_BATCH, expect_ids, joined
from orienteer.store.page_row import COLUMNS, PageRow, page_ids
from orienteer.store.url_tables import UrlTables
from orienteer.store.visits import VisitKind

_OUTCOMES_PER_BATCH = 100_000
_ROWS_PER_BATCH = 500
_PAGES_AT_ONCE = 256  # buffered: a few hundred kilobytes
_ADD_PAGE = f"INSERT INTO page ({COLUMNS}) VALUES ({', '.join('?' * len(PageRow._fields))})"
_PAGE = f"SELECT {COLUMNS} FROM page WHERE id = ?"
_CHANGE_PAGE = f"UPDATE page SET {', '.join(f'{name} = ?' for name in PageRow._fields)} WHERE position = ?"


class DonePageCounts(NamedTuple):
    """The numbers of pages that are done, by state and by outcome, and the sizes of their content and records."""

    n_urls: int
    n_pages: int
    by_state: dict[int, int]
    by_outcome: dict[str, int]
    size_bytes: int
    archive_bytes: int


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


class PageTables:
    """The table `page`. New rows are buffered: writing many together takes half the time."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables) -> None:
        self._db, self._urls = connection, urls
        self._buffered: dict[int, tuple[PageRow, Position | None]] = {}  # by page, in order of their positions
        connection.buffers.append(self)

    def add(self, row: PageRow, archived: Position | None = None) -> None:
        """Add the row of a page, with this position in the archive; its event comes after those of all others."""
        self._db.begin()
        if row.id in self._buffered:
            self.write()  # SQLite will refuse the second row
        self._buffered[row.id] = row, archived
        if len(self._buffered) >= _PAGES_AT_ONCE or self._db.read_only:
            self.write()

    def write(self) -> None:
        """Write the buffer."""
        if self._buffered:
            self._db.write_all(_ADD_PAGE, [row.stored(archived) for row, archived in self._buffered.values()])
            self._buffered.clear()

    def clear(self) -> None:
        """Drop the buffer."""
        self._buffered.clear()

    def change(self, row: PageRow) -> None:
        """Update the row of a page that is done. Its position must not change."""
        if row.id in self._buffered:
            self.write()
        self._db.write(_CHANGE_PAGE, *row.stored(), row.position)

    def row(self, page: int) -> PageRow | None:
        """Return the row of a page; None if it is not done."""
        buffered = self._buffered.get(int(page))
        values = self._db.row(_PAGE, int(page)) if buffered is None else buffered[0].stored(buffered[1])
        if values is None:
            return None
        with self._db.expecting_damage():
            return PageRow.of_stored(values)

    # -- rows in the order the pages were done ------------------------------------------------------------------

    def rows(self) -> Iterator[PageRow]:
        """Yield all pages that are done, with any outcome, in the order they were done."""
        return chain.from_iterable(self._rows("true"))

    def fetched(self) -> Iterator[PageRow]:
        """Yield all fetched pages and redirects, in the order they were done."""
        return chain.from_iterable(self._rows("state = ?", int(PageState.FETCHED)))

    def readable(self) -> Iterator[list[PageRow]]:
        """Yield the pages whose content is in the archive, in the order they were done, in batches."""
        where = "state = ? AND outcome = ? AND archive_bytes IS NOT NULL"
        return self._rows(where, int(PageState.FETCHED), str(Outcome.OK))

    def archived_until(self, position: int) -> Iterator[PageRow]:
        """Yield all pages with a record in the archive that were done before a position, in order."""
        return chain.from_iterable(self._rows("archive_bytes IS NOT NULL AND position < ?", position))

    def _rows(self, where: str, *values: int | str) -> Iterator[list[PageRow]]:
        sql = f"SELECT {COLUMNS} FROM page WHERE {where} ORDER BY position"
        n_urls = self._urls.count()
        for rows in self._db.batches(_ROWS_PER_BATCH, sql, *values):
            with self._db.expecting_damage():
                pages = [PageRow.of_stored(row) for row in rows]
                if not 0 <= min(row.id for row in pages) <= max(row.id for row in pages) < n_urls:
                    raise ValueError("a page has no URL")
            yield pages

    # -- links ----------------------------------------------------------------------------------------------------

    def linking_to(self, page: int) -> list[int]:
        """Return the pages with a link to this one, in the order they were done; scans the links of all pages."""
        linking: list[int] = []
        for rows in self._db.batches(PAGES_PER_BATCH, "SELECT id, links, outside FROM page ORDER BY position"):
            sources = [source for source, _, _ in rows]
            with self._db.expecting_damage():
                offsets, links = joined([inside + outside for _, inside, outside in rows])
            hits = np.searchsorted(offsets, np.flatnonzero(links == page), side="right") - 1
            linking += [sources[hit] for hit in np.unique(hits)]
        return linking

    def links(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """Yield all fetched pages in the order they were done, with their links inside and outside the scope."""
        sql = "SELECT id, links, outside FROM page WHERE state = ? ORDER BY position"
        n_urls = self._urls.count()
        for page, inside, outside in self._db.rows(sql, int(PageState.FETCHED)):
            with self._db.expecting_damage():
                links = expect_ids(page_ids([inside, outside]), n_urls)
            yield page, links

    def outside_links(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """Yield the fetched pages that have links outside the scope, with these links."""
        sql = "SELECT id, outside FROM page WHERE state = ? AND length(outside) > 0 ORDER BY position"
        for page, outside in self._db.rows(sql, int(PageState.FETCHED)):
            with self._db.expecting_damage():
                links = page_ids([outside])
            yield page, np.unique(links)

    def n_with_impossible_links(self) -> int:
        """Return the number of pages that have links although they were not fetched."""
        sql = "SELECT count(*) FROM page WHERE state != ? AND length(links) > 0"
        return int(self._db.first(sql, int(PageState.FETCHED)))

    # -- single columns -------------------------------------------------------------------------------------------

    def states(self) -> Iterator[tuple[int, int, int | None]]:
        """Yield id, state and redirect target of all pages that are done."""
        yield from self._db.rows("SELECT id, state, redirect_to FROM page ORDER BY position")

    def titles(self, pages: Sequence[int]) -> list[str]:
        """Return the titles of pages that are done; "" for others."""
        return [str(self._db.first("SELECT title FROM page WHERE id = ?", int(page)) or "") for page in pages]

    def n_relevant(self, threshold: float) -> int:
        """Return the number of pages with at least this relevance."""
        return int(self._db.first("SELECT count(*) FROM page WHERE relevance >= ?", threshold))

    def relevant(self, threshold: float) -> NDArray[np.uint32]:
        """Return the pages with at least this relevance, in increasing order."""
        rows = self._db.rows("SELECT id FROM page WHERE relevance >= ? ORDER BY id", threshold)
        return np.array([page for (page,) in rows], np.uint32)

    def with_digest(self, digest: bytes, other_than: int) -> int | None:
        """Return the first other page with this content. Copies are ignored: their originals may have changed."""
        sql = "SELECT id FROM page WHERE digest = ? AND id != ? AND duplicate_of IS NULL ORDER BY position LIMIT 1"
        row = self._db.row(sql, digest, int(other_than))
        if row is not None:
            return int(row[0])
        buffered = (row for row, _ in self._buffered.values() if row.digest == digest and row.duplicate_of is None)
        return next((row.id for row in buffered if row.id != other_than), None)

    def digests(self) -> Iterator[bytes]:
        """Yield the digests of all pages with content."""
        return (digest for (digest,) in self._db.rows("SELECT digest FROM page WHERE digest IS NOT NULL"))

    def n_with_digest(self, digest: bytes) -> int:
        """Return the number of pages with this content."""
        return int(self._db.first("SELECT count(*) FROM page WHERE digest = ?", digest))

    def duplicates(self) -> NDArray[np.int64]:
        """Return the exact and near-duplicates, in increasing order."""
        sql = "SELECT id FROM page WHERE duplicate_of IS NOT NULL OR near_duplicate_of IS NOT NULL ORDER BY id"
        with self._db.expecting_damage():
            return np.fromiter((page for (page,) in self._db.rows(sql)), np.int64)

    # -- counts and outcomes --------------------------------------------------------------------------------------

    def counts(self) -> DonePageCounts:
        groups = list(
            self._db.rows(
                "SELECT state, outcome, count(*), sum(size_bytes), coalesce(sum(archive_bytes), 0) "
                "FROM page GROUP BY state, outcome ORDER BY state, outcome"
            )
        )
        by_state: dict[int, int] = {}
        by_outcome: dict[str, int] = {}
        for state, outcome, n_pages, _, _ in groups:
            by_state[state] = by_state.get(state, 0) + n_pages
            by_outcome[outcome] = by_outcome.get(outcome, 0) + n_pages
        n_pages, size_bytes, archive_bytes = (sum(group[column] for group in groups) for column in (2, 3, 4))
        return DonePageCounts(self._urls.count(), n_pages, by_state, by_outcome, size_bytes, archive_bytes)

    def n_in_states(self, states: Sequence[int], until: int | None = None) -> int:
        """Return the number of pages in one of these states, of those done up to a position."""
        marks = ", ".join("?" * len(states))
        sql = f"SELECT count(*) FROM page WHERE state IN ({marks}) AND position <= ?"
        return int(self._db.first(sql, *map(int, states), 2**63 - 1 if until is None else until))

    def groups_until(self, position: int) -> list[StateGroup]:
        """Return the pages that were done before a position, grouped by their current state and outcome."""
        sums = "duplicate_of IS NOT NULL", "near_duplicate_of IS NOT NULL", "redirect_to IS NOT NULL"
        counts = ", ".join(f"sum({condition})" for condition in (*sums, "archive_bytes IS NULL"))
        sql = f"SELECT state, outcome, count(*), {counts} FROM page WHERE position < ? GROUP BY state, outcome"
        with self._db.expecting_damage():
            return [
                StateGroup(int(state), str(outcome), *map(int, numbers))
                for state, outcome, *numbers in self._db.rows(sql, position)
            ]

    def outcomes_from(self, position: int) -> Iterator[list[DonePage]]:
        """Yield the outcomes of pages done or visited from this position on, in batches.

        A page with an older position is included if a refresh visited it; a page may occur twice, with equal values.
        """
        repeats = "duplicate_of IS NOT NULL, near_duplicate_of IS NOT NULL, page.redirect_to IS NOT NULL"
        columns = f"id, page.state, outcome, {repeats}, page.archive_bytes IS NULL"
        yield from self._outcomes(f"SELECT {columns} FROM page WHERE position >= ?", position)
        if position > 0:
            visited = "FROM visit JOIN page ON page.id = visit.page WHERE visit.position >= ? AND visit.kind != ?"
            yield from self._outcomes(f"SELECT {columns} {visited}", position, int(VisitKind.CARRIED))

    def _outcomes(self, sql: str, *values: int) -> Iterator[list[DonePage]]:
        for rows in self._db.batches(_OUTCOMES_PER_BATCH, sql, *values):
            with self._db.expecting_damage():
                done = [DonePage._make(row) for row in rows]
            yield done

    # -- records in the archive -----------------------------------------------------------------------------------

    def n_unarchived(self) -> int:
        """Return the number of successfully fetched pages that are not in the archive."""
        sql = "SELECT count(*) FROM page WHERE state = ? AND outcome = ? AND archive_bytes IS NULL"
        return int(self._db.first(sql, int(PageState.FETCHED), str(Outcome.OK)))

    def unarchived_until(self, position: int) -> Iterator[tuple[int, int, str, int]]:
        """Yield id, state, outcome and number of unknown links of pages done before a position without a record."""
        n_urls = self._urls.count()
        columns = f"id, state, outcome, {N_UNKNOWN} AS n_unknown, position"
        sql = f"SELECT {columns} FROM page WHERE archive_bytes IS NULL AND position < ?"
        for page, state, outcome, n_unknown, _ in self._db.rows(sql, position):
            if page >= n_urls:
                raise damaged(self._db.path, f"page {page:,} has no URL")
            yield page, state, outcome, n_unknown

    def claimed_records(self, until: int | None = None) -> NDArray[np.int64]:
        """Return file, offset and size of the records of pages, one per row, in the order of the archive.

        Of all pages that are done, or of those done before the position `until`.
        """
        where = "archive_bytes IS NOT NULL AND position < ?"
        sql = f"SELECT archive_file, archive_offset, archive_bytes FROM page WHERE {where} ORDER BY 1, 2"
        with self._db.expecting_damage():
            rows = self._db.rows(sql, 2**63 - 1 if until is None else until)
            return np.array(list(rows), np.int64).reshape(-1, 3)

    def archive_ends(self, position: int) -> dict[int, int]:
        """Return the end, in bytes, of the records of pages done before a position, by file of the archive."""
        ends = "SELECT archive_file, max(archive_offset + archive_bytes) FROM page"
        sql = f"{ends} WHERE position < ? AND archive_bytes IS NOT NULL GROUP BY archive_file"
        with self._db.expecting_damage():
            return {int(file): int(end) for file, end in self._db.rows(sql, position)}
