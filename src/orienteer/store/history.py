"""The history of a crawl as arrays, for a fast resume: pages that were done, and pages that were discovered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.store.connection import DatabaseConnection
from orienteer.store.page_row import blob_of, page_ids
from orienteer.store.schema import RowRanges
from orienteer.store.url_tables import MetaTables, UrlTables
from orienteer.store.visits import VisitKind

PAGES_PER_BATCH = 20_000
IMPORTED_TIMES = "imported_times"  # a meta key: the times of the first and the last imported page
N_UNKNOWN = "coalesce((SELECT n FROM unknown WHERE unknown.page = page.id), 0)"  # the unknown links of a page, in SQL
_NUMBERED = ("page", "known", "visit")  # tables that share the numbering of positions
_COLUMNS = (
    "position, id, state, coalesce(redirect_to, -1) AS redirect_or_none, links, "
    f"state != {PageState.BLOCKED:d} OR status > 0, relevance, "
    f"{N_UNKNOWN} AS n_unknown"
)
_VISITED = (
    "SELECT visit.position, visit.page, visit.state, coalesce(visit.redirect_to, -1) AS redirect_or_none, "
    "page.links AS links_or_none, "
    f"visit.kind, page.relevance, {N_UNKNOWN} AS n_unknown, page.state AS state_or_none "
    "FROM visit LEFT JOIN page ON page.id = visit.page "
    "WHERE visit.position > ? AND visit.position <= ? ORDER BY visit.position"
)


@dataclass(frozen=True)
class DonePages:
    """Consecutive pages that are done: fetched, failed, skipped or blocked.

    The links of page k are `links[link_offsets[k] : link_offsets[k + 1]]`; `redirects` are the targets of redirects, -1
    for none. `requested` marks the pages that count in the budget: a request was sent, and a blocked page had a
    response. `relevance` is NaN if unknown; `n_unknown` are the numbers of unknown links (see graph/coverage).
    """

    positions: NDArray[np.int64]
    pages: NDArray[np.uint32]
    states: NDArray[np.uint8]
    redirects: NDArray[np.int64]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint32]
    requested: NDArray[np.bool_]
    relevance: NDArray[np.float64]
    n_unknown: NDArray[np.int32]

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[Any, ...]]) -> DonePages:
        """Make it from rows of _COLUMNS. TypeError, ValueError or OverflowError if they are damaged."""
        positions, pages, states, redirects, blobs, requested, relevance, n_unknown = zip(*rows, strict=True)
        return cls(
            np.array(positions, np.int64),
            np.array(pages, np.uint32),
            np.array(states, np.uint8),
            np.array(redirects, np.int64),
            *joined(blobs),
            np.array(requested, np.bool_),
            np.array(relevance, np.float64),
            np.array(n_unknown, np.int32),
        )

    def within(self, n_urls: int) -> DonePages:
        """Return self; ValueError if an id is not below `n_urls`. Kernels use ids as indexes without a check."""
        expect_ids(self.pages, n_urls)
        expect_ids(self.links, n_urls)
        if self.redirects.max(initial=-1) >= n_urls or self.redirects.min(initial=0) < -1:
            raise ValueError("a page redirects to an unknown URL")
        if self.n_unknown.min(initial=0) < UNKNOWN_COUNT:
            raise ValueError("a negative number of unknown links")
        return self

    def before(self, position: int) -> DonePages:
        """Return the pages that were done before a position."""
        return self.where(self.positions < position)

    def where(self, chosen: NDArray[np.bool_]) -> DonePages:
        """Return the chosen ones of the pages, in the same order."""
        n_links = np.diff(self.link_offsets)
        of_links = {
            "link_offsets": np.concatenate(([0], np.cumsum(n_links[chosen]))),
            "links": self.links[np.repeat(chosen, n_links)],
        }
        by_page = (field.name for field in fields(self) if field.name not in of_links)
        return DonePages(**of_links, **{name: getattr(self, name)[chosen] for name in by_page})


@dataclass(frozen=True)
class KnownPages:
    """Pages that were discovered without a link."""

    position: int
    pages: NDArray[np.uint32]


class HistoryTables:
    """The positions of a crawl: pages that were done, visits, and the table `known`."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables, meta: MetaTables) -> None:
        self._db, self._urls, self._meta = connection, urls, meta

    def next_position(self) -> int:
        """Return the position of the next event."""
        last = " UNION ALL ".join(f"SELECT max(position) AS position FROM {table}" for table in _NUMBERED)
        return int(self._db.first(f"SELECT coalesce(max(position) + 1, 0) FROM ({last})"))

    def add_known(self, position: int, pages: ArrayLike) -> None:
        """Record pages that were discovered without a link."""
        self._db.write("INSERT INTO known VALUES (?, ?)", position, blob_of(pages))

    def known_without_link(self) -> NDArray[np.uint32]:
        """Return the pages discovered without a link: in sitemaps, and as feeds and translations of other pages.

        A page may occur twice.
        """
        with self._db.expecting_damage():
            blobs = [blob for (blob,) in self._db.rows("SELECT pages FROM known ORDER BY position")]
            return expect_ids(page_ids(blobs), self._urls.count())

    def pages_after(self, position: int = -1) -> Iterator[DonePages | KnownPages]:
        """Yield all pages that were first done after `position`, in order, each in its latest version."""
        return self._with_known(position, self._done_pages)

    def visits_from(self, position: int) -> Iterator[DonePages | KnownPages]:
        """Yield all visits from `position` on, in order, with the pages discovered without a link."""
        return self._with_known(position - 1, self._visited_pages)

    def times(self) -> tuple[float, float] | None:
        """Return the Unix times of the first and the last page that was done; None if there is none."""
        joined = "FROM page LEFT JOIN revisit ON page = id"
        first = self._db.first(f"SELECT coalesce(first_time, time) AS time {joined} ORDER BY position LIMIT 1")
        lasts = [
            self._db.first(f"SELECT time FROM {table} ORDER BY position DESC LIMIT 1") for table in ("page", "visit")
        ]
        if first is None:
            return None
        times = [float(first), *(float(last) for last in lasts if last is not None)]
        imported = self._meta.get(IMPORTED_TIMES, ())  # the positions of imported pages are not in the order of times
        with self._db.expecting_damage():
            times += [float(time) for time in imported]
            RowRanges(["time"] * len(times)).check(times)
        return min(times), max(times)

    def times_until(self, position: int) -> tuple[float, float] | None:
        """Return the Unix times of the first and the last response before a position; None if there is none."""
        times = "SELECT time FROM page WHERE position < ? UNION ALL SELECT time FROM visit WHERE position < ?"
        bounds = "min(time) AS first_time_or_none, max(time) AS last_time_or_none"
        sql = f"SELECT {bounds} FROM ({times} UNION ALL SELECT first_time FROM revisit)"
        with self._db.expecting_damage():
            for first, last in self._db.rows(sql, position, position):
                return None if first is None else (float(first), float(last))
        return None

    def _with_known(
        self, position: int, done_pages: Callable[[int, int], Iterator[DonePages]]
    ) -> Iterator[DonePages | KnownPages]:
        sql = "SELECT position, pages FROM known WHERE position > ? ORDER BY position"
        for known_at, blob in self._db.rows(sql, position):
            yield from done_pages(position, known_at)
            with self._db.expecting_damage():
                known = KnownPages(known_at, expect_ids(page_ids([blob]), self._urls.count()))
            yield known
            position = known_at
        yield from done_pages(position, 2**63 - 1)

    def _done_pages(self, after: int, until: int) -> Iterator[DonePages]:
        sql = f"SELECT {_COLUMNS} FROM page WHERE position > ? AND position <= ? ORDER BY position"
        for rows in self._db.batches(PAGES_PER_BATCH, sql, after, until):
            with self._db.expecting_damage():
                done = DonePages.of_rows(rows).within(self._urls.count())
            yield done

    def _visited_pages(self, after: int, until: int) -> Iterator[DonePages]:
        for rows in self._db.batches(PAGES_PER_BATCH, _VISITED, after, until):
            with self._db.expecting_damage():
                done = DonePages.of_rows([_history_row(row) for row in rows]).within(self._urls.count())
            yield done


def _history_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert a row of _VISITED to _COLUMNS, with the links that the Crawl received at the visit.

    The page may have more links stored: when a visit fails, its row keeps the links of an earlier one.
    """
    position, page, state, redirect_to, links, kind, relevance, n_unknown, stored_state = row
    if state != PageState.FETCHED:
        links, relevance = b"", None
    elif redirect_to >= 0:
        links = blob_of([redirect_to])
    if state != stored_state or redirect_to >= 0:
        n_unknown = 0
    is_requested = kind != VisitKind.CARRIED and state != PageState.BLOCKED
    return position, page, state, redirect_to, links, is_requested, relevance, n_unknown


def expect_ids(pages: NDArray[np.uint32], n_urls: int) -> NDArray[np.uint32]:
    """Return `pages`; ValueError if one of the ids is not below `n_urls`."""
    if len(pages) and pages.max() >= n_urls:
        raise ValueError(f"there is no URL with id {pages.max()}")
    return pages


def joined(blobs: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the offsets of the blobs, and their concatenated page ids. ValueError if a blob is truncated."""
    n_bytes = np.zeros(len(blobs) + 1, np.int64)
    np.cumsum([len(blob) for blob in blobs], out=n_bytes[1:])
    if (n_bytes % 4).any():
        raise ValueError("links are cut off")
    return n_bytes // 4, page_ids(blobs)
