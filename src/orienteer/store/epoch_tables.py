"""The tables of crawl.db that a refresh writes: its epochs, and what came of the pages in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.pages.states import PageState
from orienteer.store.connection import Connection
from orienteer.store.failures import damaged
from orienteer.store.history import N_UNKNOWN, DonePages, expect_ids
from orienteer.store.page_row import blob_of, page_ids
from orienteer.store.visits import EpochHead, EpochRow, Revisits, Visit, VisitKind

PAGES_PER_BATCH = 20_000
_LEAST_URL_BYTES = 8  # of the file, for each

_VISITED = (
    "SELECT visit.position, visit.page, visit.state, coalesce(visit.redirect_to, -1), page.links, visit.kind, "
    "page.relevance, {n_unknown}, page.state "
    "FROM visit LEFT JOIN page ON page.id = visit.page "
    "WHERE visit.position > ? AND visit.position <= ? ORDER BY visit.position"
)


class SeenChange(NamedTuple):
    """What became of a page in an epoch, and what is known of the page now: title, and how it was when asked last."""

    position: int
    page: int
    kind: int
    time: float
    redirect_to: int | None
    title: str
    outcome: str


class SeenPages(NamedTuple):
    """All pages that are done, as arrays: what a refresh decides by which of them are due."""

    pages: NDArray[np.uint32]
    states: NDArray[np.uint8]
    first_times: NDArray[np.float64]
    checked: NDArray[np.float64]
    n_checks: NDArray[np.int64]
    n_changes: NDArray[np.int64]
    n_missing: NDArray[np.int64]


class EpochTables(Connection):
    """The tables `epoch`, `visit` and `revisit`."""

    def n_urls(self) -> int:
        """How many URLs are numbered; arrays of that length are made, so a number that cannot be is not believed."""
        n_urls = int(self._first("SELECT coalesce(max(id) + 1, 0) FROM url"))
        size_bytes = int(self._first("PRAGMA page_count")) * int(self._first("PRAGMA page_size"))
        if n_urls > size_bytes // _LEAST_URL_BYTES:
            raise damaged(self.path, f"a URL with the number {n_urls - 1:,}")
        return n_urls

    def add_epoch(self, epoch: EpochRow) -> None:
        blobs = (blob_of(epoch.seeds), epoch.trust.astype("<f8").tobytes(), blob_of(epoch.due))
        self._write("INSERT INTO epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *epoch[:5], *blobs)

    def end_epoch(self, epoch: int, time: float) -> None:
        self._write("UPDATE epoch SET ended = ? WHERE id = ?", time, epoch)

    def epochs(self) -> list[EpochHead]:
        """All of them, the first crawl apart."""
        sql = "SELECT id, began, ended, position, length(seeds) / 4, length(due) / 4 FROM epoch ORDER BY id"
        return [EpochHead(*row) for row in self._rows(sql)]

    def last_epoch(self) -> EpochRow | None:
        """The one that was begun last; None while there is only the first crawl."""
        for *head, seeds, trust, due in self._rows("SELECT * FROM epoch ORDER BY id DESC LIMIT 1"):
            number, began, ended, position, hops = head
            with self._expecting_damage():
                weights = np.frombuffer(trust, "<f8").astype(np.float64)
                starts, wanted = (expect_ids(page_ids([blob]), self.n_urls()) for blob in (seeds, due))
                if len(weights) != len(starts) or not (weights > 0).all() or not np.isfinite(weights).all():
                    raise ValueError("an epoch whose seeds have no trust")
                return EpochRow(number, began, ended, position, hops, starts, weights, wanted)
        return None

    def add_visit(self, visit: Visit) -> None:
        archived = visit.archived or (None, None, None)
        self._write("INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *visit[:6], *archived)

    def visit_counts(self, first: int, end: int | None = None) -> dict[VisitKind, int]:
        """How many visits of each kind there were at the positions from `first` up to, not including, `end`."""
        sql = "SELECT kind, count(*) FROM visit WHERE position >= ? AND position < ? GROUP BY kind ORDER BY kind"
        with self._expecting_damage():
            return {VisitKind(kind): n for kind, n in self._rows(sql, first, 2**63 - 1 if end is None else end)}

    def visits_of_kinds(
        self, kinds: Collection[VisitKind], first: int, end: int | None = None, limit: int | None = None
    ) -> Iterator[SeenChange]:
        """Visits of these kinds at the positions from `first` up to, not including, `end`: the newest, and first."""
        sql = (
            "SELECT visit.position, visit.page, kind, visit.time, visit.redirect_to, title, outcome "
            "FROM visit JOIN page ON page.id = visit.page WHERE visit.position >= ? AND visit.position < ? "
            f"AND kind IN ({', '.join(str(int(kind)) for kind in kinds)}) ORDER BY visit.position DESC LIMIT ?"
        )
        found = self._rows(sql, first, 2**63 - 1 if end is None else end, -1 if limit is None else limit)
        return map(SeenChange._make, found)

    def first_fetched(self, end: int | None = None, limit: int | None = None) -> Iterator[SeenChange]:
        """The pages of the first crawl, which is over at `end`, as far as they are still there, the newest first."""
        fetched, new = int(PageState.FETCHED), int(VisitKind.NEW)
        sql = (
            "SELECT position, id, ?, coalesce(first_time, page.time), redirect_to, title, outcome "
            "FROM page LEFT JOIN revisit ON revisit.page = page.id WHERE position < ? AND state = ? "
            "AND id NOT IN (SELECT page FROM visit WHERE kind = ?) ORDER BY position DESC LIMIT ?"
        )
        found = self._rows(sql, new, 2**63 - 1 if end is None else end, fetched, new, -1 if limit is None else limit)
        return map(SeenChange._make, found)

    def unsent_bytes(self, first: int, end: int | None = None) -> int:
        """The size of what servers did not send again, because it was not modified."""
        sql = (
            "SELECT coalesce(sum(page.size_bytes), 0) FROM visit JOIN page ON page.id = visit.page "
            "WHERE visit.position >= ? AND visit.position < ? AND visit.kind = ?"
        )
        return int(self._first(sql, first, 2**63 - 1 if end is None else end, int(VisitKind.NOT_MODIFIED)))

    def revisits(self, page: int) -> Revisits | None:
        """None for a page that was never asked for again."""
        for values in self._rows("SELECT * FROM revisit WHERE page = ?", int(page)):
            return Revisits(*values)
        return None

    def set_revisits(self, revisits: Revisits) -> None:
        self._write("INSERT OR REPLACE INTO revisit VALUES (?, ?, ?, ?, ?, ?, ?)", *revisits)

    def seen_pages(self) -> SeenPages:
        sql = (
            "SELECT page.id, page.state, coalesce(first_time, page.time), coalesce(checked, page.time), "
            "coalesce(n_checks, 0), coalesce(n_changes, 0), coalesce(n_missing, 0) "
            "FROM page LEFT JOIN revisit ON revisit.page = page.id ORDER BY page.position"
        )
        kinds: tuple[Any, ...] = (np.uint32, np.uint8, np.float64, np.float64, np.int64, np.int64, np.int64)
        columns: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in kinds]
        for rows in self._batches(PAGES_PER_BATCH, sql):
            with self._expecting_damage():
                for column, kind, values in zip(columns, kinds, zip(*rows, strict=True), strict=True):
                    column.append(np.array(values, kind))
        return SeenPages(*(np.concatenate(column) for column in columns))

    def _with_unknown(self, sql: str) -> str:
        """The query, asking how many links of a page are not known; a database of an older version cannot tell."""
        return sql.format(n_unknown="0" if "unknown" in self.missing_tables else N_UNKNOWN)

    def _visited_pages(self, after: int, until: int) -> Iterator[DonePages]:
        for rows in self._batches(PAGES_PER_BATCH, self._with_unknown(_VISITED), after, until):
            with self._expecting_damage():
                done = DonePages.of_rows([_heard(row) for row in rows]).within(self.n_urls())
            yield done


def _heard(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of _VISITED as one of HISTORY_COLUMNS, with the links that the Crawl has heard of at the visit.

    These need not be all that is known of the page: if it could not be had, what was known of it is kept.
    """
    position, page, state, redirect_to, links, kind, relevance, n_unknown, kept_state = row
    if state != PageState.FETCHED:
        links, relevance = b"", None
    elif redirect_to >= 0:
        links = blob_of([redirect_to])
    if state != kept_state or redirect_to >= 0:
        n_unknown = 0
    is_asked = kind != VisitKind.CARRIED and state != PageState.BLOCKED
    return position, page, state, redirect_to, links, is_asked, relevance, n_unknown
