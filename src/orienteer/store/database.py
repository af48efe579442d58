"""crawl.db: the queries and updates of a crawl, table by table. `schema` documents the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import ALL_KNOWN, UnknownLinks
from orienteer.store.epoch_tables import PAGES_PER_BATCH
from orienteer.store.failures import damaged
from orienteer.store.history import HISTORY_COLUMNS, DonePages, KnownPages, expect_ids, joined
from orienteer.store.page_row import COLUMNS, PageRow, blob_of, page_ids
from orienteer.store.rendering_tables import RenderingTables

_URLS_PER_BLOCK = 100_000
_URLS_AT_ONCE = 100  # per INSERT
_SIGNATURES_AT_ONCE = 4096  # buffered: two megabytes
_ADD_URLS = f"INSERT INTO url VALUES {', '.join(['(?, ?)'] * _URLS_AT_ONCE)}"
_NUMBERED = ("page", "known", "visit")  # tables that share the numbering of positions
_ADD_PAGE = f"INSERT INTO page ({COLUMNS}) VALUES ({', '.join('?' * len(PageRow._fields))})"
_PAGE = f"SELECT {COLUMNS} FROM page WHERE id = ?"
_CHANGE_PAGE = f"UPDATE page SET {', '.join(f'{name} = ?' for name in PageRow._fields)} WHERE position = ?"


class CrawlEvent(NamedTuple):
    time: float
    kind: str
    host: int | None
    detail: dict[str, Any]


class SessionRow(NamedTuple):
    """The first page found at URLs that differ only in a session id, and the digest of its content without that id.

    `is_same`: a URL with another session id had the same content.
    """

    page: int
    digest: bytes
    is_same: bool


class DonePageCounts(NamedTuple):
    """The numbers of pages that are done, by state and by outcome, and the sizes of their content and records."""

    n_urls: int
    n_pages: int
    by_state: dict[int, int]
    by_outcome: dict[str, int]
    size_bytes: int
    archive_bytes: int


class Database(RenderingTables):
    """`Database.create(path)` or `Database.open(path)`; nothing is durable before `commit`.

    New URLs and signatures are buffered: writing many together takes half the time. The buffers are written before a
    commit and before any query except the lookup of one id.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        super().__init__(path, read_only)
        self._buffered_urls: list[str] = []
        self._first_buffered = 0  # id of the first buffered URL
        self._buffered_signatures: dict[int, bytes] = {}  # by page
        self._read_only = read_only

    def commit(self) -> None:
        self._write_buffers()
        super().commit()

    def rollback(self) -> None:
        self._buffered_urls.clear()
        self._buffered_signatures.clear()
        super().rollback()

    def _write_buffers(self) -> None:
        self._write_url_buffer()
        if self._buffered_signatures:
            # Sorted by page, as the B-tree is: rows are appended.
            self._write_all("INSERT INTO signature VALUES (?, ?)", sorted(self._buffered_signatures.items()))
            self._buffered_signatures.clear()

    # -- URLs ---------------------------------------------------------------------------------------------------

    def add_urls(self, first_id: int, urls: Sequence[str]) -> None:
        """Add URLs with consecutive ids from `first_id`, which must be the next free id."""
        self._begin()
        buffered = self._buffered_urls
        if first_id != self._first_buffered + len(buffered):
            self._write_url_buffer()
            self._first_buffered = first_id
        buffered += urls
        while len(buffered) >= _URLS_AT_ONCE:
            values: list[Any] = [None] * (2 * _URLS_AT_ONCE)
            values[::2] = range(self._first_buffered, self._first_buffered + _URLS_AT_ONCE)
            values[1::2] = buffered[:_URLS_AT_ONCE]
            self._write(_ADD_URLS, *values)
            del buffered[:_URLS_AT_ONCE]
            self._first_buffered += _URLS_AT_ONCE
        if self._read_only:
            self._write_url_buffer()  # raises an error now instead of at the commit

    def _write_url_buffer(self) -> None:
        if self._buffered_urls:
            self._write_all("INSERT INTO url VALUES (?, ?)", enumerate(self._buffered_urls, self._first_buffered))
            self._first_buffered += len(self._buffered_urls)
            self._buffered_urls.clear()

    def _batches(self, n_rows: int, sql: str, *values: Any) -> Iterator[list[tuple[Any, ...]]]:
        self._write_buffers()
        return super()._batches(n_rows, sql, *values)

    def _first(self, sql: str, *values: Any) -> Any:
        self._write_buffers()
        return super()._first(sql, *values)

    def url(self, page: int) -> str:
        k = int(page) - self._first_buffered
        if 0 <= k < len(self._buffered_urls):
            return self._buffered_urls[k]
        row = self._row("SELECT url FROM url WHERE id = ?", int(page))
        if row is None or not isinstance(row[0], str):
            raise damaged(self.path, f"no URL with id {page}")
        return row[0]

    def urls(self, pages: Iterable[int]) -> list[str]:
        return [self.url(page) for page in pages]

    def urls_between(self, first: int, end: int) -> list[str]:
        """Return the URLs with ids in [first, end)."""
        rows = self._rows("SELECT url FROM url WHERE id >= ? AND id < ? ORDER BY id", int(first), int(end))
        return [url for (url,) in rows]

    def find_url(self, url: str) -> int | None:
        """Return the id of a URL; scans the table."""
        page: int | None = self._first("SELECT id FROM url WHERE url = ?", url)
        return page

    def url_blocks(self, first_id: int = 0) -> Iterator[bytes]:
        """Yield all URLs from `first_id` on in order of their ids, in blocks, separated by line ends.

        SQLite joins them, so that Python makes no string per URL; group_concat keeps the order of the subquery.
        """
        joined_urls = (
            "SELECT count(*), CAST(group_concat(url, char(10)) AS BLOB) "
            "FROM (SELECT url FROM url WHERE id >= ? AND id < ? ORDER BY id)"
        )
        n_urls = self.n_urls()
        for start in range(first_id, n_urls, _URLS_PER_BLOCK):
            end = min(start + _URLS_PER_BLOCK, n_urls)
            ((n_found, block),) = self._rows(joined_urls, start, end)
            if n_found != end - start or block.count(b"\n") != n_found - 1:
                raise damaged(self.path, f"some of the URLs {start:,} to {end - 1:,} are missing")
            yield block

    # -- pages --------------------------------------------------------------------------------------------------

    def add_page(self, row: PageRow) -> None:
        self._write(_ADD_PAGE, *row.stored())

    def change_page(self, row: PageRow) -> None:
        """Update the row of a page that is done. Its position must not change."""
        self._write(_CHANGE_PAGE, *row.stored(), row.position)

    def page(self, page: int) -> PageRow | None:
        """Return the row of a page; None if it is not done."""
        values = self._row(_PAGE, int(page))
        if values is None:
            return None
        with self._expecting_damage():
            return PageRow.of_stored(values)

    def pages_linking_to(self, page: int) -> list[int]:
        """Return the pages with a link to this one, in the order they were done; scans the links of all pages."""
        linking: list[int] = []
        for rows in self._batches(PAGES_PER_BATCH, "SELECT id, links, outside FROM page ORDER BY position"):
            sources = [source for source, _, _ in rows]
            with self._expecting_damage():
                offsets, links = joined([inside + outside for _, inside, outside in rows])
            hits = np.searchsorted(offsets, np.flatnonzero(links == page), side="right") - 1
            linking += [sources[hit] for hit in np.unique(hits)]
        return linking

    def all_links(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """Yield all fetched pages in the order they were done, with their links inside and outside the scope."""
        sql = "SELECT id, links, outside FROM page WHERE state = ? ORDER BY position"
        n_urls = self.n_urls()
        for page, inside, outside in self._rows(sql, int(PageState.FETCHED)):
            with self._expecting_damage():
                links = expect_ids(page_ids([inside, outside]), n_urls)
            yield page, links

    def outside_links(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """Yield the fetched pages that have links outside the scope, with these links."""
        sql = "SELECT id, outside FROM page WHERE state = ? AND length(outside) > 0 ORDER BY position"
        for page, outside in self._rows(sql, int(PageState.FETCHED)):
            with self._expecting_damage():
                links = page_ids([outside])
            yield page, np.unique(links)

    def all_states(self) -> Iterator[tuple[int, int, int | None]]:
        """Yield id, state and redirect target of all pages that are done."""
        yield from self._rows("SELECT id, state, redirect_to FROM page ORDER BY position")

    def counts(self) -> DonePageCounts:
        groups = list(
            self._rows(
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
        return DonePageCounts(self.n_urls(), n_pages, by_state, by_outcome, size_bytes, archive_bytes)

    # -- words --------------------------------------------------------------------------------------------------

    def set_words(self, page: int, words: bytes) -> None:
        """Set the words of a page."""
        self._write("INSERT OR REPLACE INTO words VALUES (?, ?)", page, words)

    def n_relevant(self, threshold: float) -> int:
        """Return the number of pages with at least this relevance."""
        return int(self._first("SELECT count(*) FROM page WHERE relevance >= ?", threshold))

    def relevant_pages(self, threshold: float) -> NDArray[np.uint32]:
        """Return the pages with at least this relevance, in increasing order."""
        rows = self._rows("SELECT id FROM page WHERE relevance >= ? ORDER BY id", threshold)
        return np.array([page for (page,) in rows], np.uint32)

    def words(self, page: int) -> bytes | None:
        words: bytes | None = self._first("SELECT words FROM words WHERE page = ?", int(page))
        return words

    # -- additions of hooks -------------------------------------------------------------------------------------

    def set_added(self, page: int, added: Additions | None) -> None:
        """Set what hooks added to a page; None deletes it."""
        if added:
            self._write("INSERT OR REPLACE INTO added VALUES (?, ?)", int(page), added.to_json())
        else:
            self._write("DELETE FROM added WHERE page = ?", int(page))

    def added(self, page: int) -> Additions | None:
        """Return the fields and tags that hooks added to a page; None if there are none."""
        if "added" in self.missing_tables:
            return None
        text = self._first("SELECT added FROM added WHERE page = ?", int(page))
        if text is None:
            return None
        with self._expecting_damage():
            return Additions.of_json(text)

    # -- unknown links ------------------------------------------------------------------------------------------

    def set_unknown(self, page: int, unknown: UnknownLinks) -> None:
        """Set how many links of a page are unknown, and why."""
        if unknown.n:
            self._write("INSERT OR REPLACE INTO unknown VALUES (?, ?, ?)", int(page), unknown.n, unknown.why)
        else:
            self._write("DELETE FROM unknown WHERE page = ?", int(page))

    def unknown(self, page: int) -> UnknownLinks:
        """Return how many links of a page are unknown, and why."""
        if "unknown" not in self.missing_tables:
            row = self._row("SELECT n, why FROM unknown WHERE page = ?", int(page))
            if row is not None:
                return UnknownLinks(*row)
        return ALL_KNOWN

    def n_unknown_because(self, why: str) -> int:
        """Return the number of pages with unknown links for which this is one of the reasons."""
        if "unknown" in self.missing_tables:
            return 0
        row = self._row("SELECT count(*) FROM unknown WHERE instr(why, ?) > 0", why)
        return 0 if row is None else int(row[0])

    def pages_unknown_because(self, why: str) -> list[int]:
        """Return the pages with unknown links for which this is one of the reasons, in increasing order."""
        if "unknown" in self.missing_tables:
            return []
        sql = "SELECT page FROM unknown WHERE instr(why, ?) > 0 ORDER BY page"
        return [int(page) for (page,) in self._rows(sql, why)]

    def n_unarchived(self) -> int:
        """Return the number of successfully fetched pages that are not in the archive."""
        sql = "SELECT count(*) FROM page WHERE state = ? AND outcome = ? AND archive_bytes IS NULL"
        row = self._row(sql, int(PageState.FETCHED), str(Outcome.OK))
        return 0 if row is None else int(row[0])

    def set_canonical(self, page: int, target: int | None) -> None:
        """Set the canonical page that a page declares; None deletes it."""
        if target is None:
            self._write("DELETE FROM canonical WHERE page = ?", int(page))
        else:
            self._write("INSERT OR REPLACE INTO canonical VALUES (?, ?)", int(page), int(target))

    def canonicals(self) -> Iterator[tuple[int, int]]:
        """Yield all pages that declare another page as canonical, and that page. The declaration may be wrong."""
        if "canonical" not in self.missing_tables:
            n_urls = self.n_urls()
            for page, target in self._rows("SELECT page, target FROM canonical ORDER BY page"):
                if 0 <= page < n_urls and 0 <= target < n_urls:
                    yield page, target

    # -- sessions in URLs ---------------------------------------------------------------------------------------

    def session(self, stripped: str) -> SessionRow | None:
        """Return the row of the URLs that equal this one when their session id is removed."""
        row = self._row("SELECT page, digest, is_same FROM session WHERE stripped = ?", stripped)
        return None if row is None else SessionRow(row[0], row[1], bool(row[2]))

    def set_session(self, stripped: str, row: SessionRow) -> None:
        self._write("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", stripped, *row[:2], int(row.is_same))

    # -- history ------------------------------------------------------------------------------------------------

    def add_known(self, position: int, pages: ArrayLike) -> None:
        """Record pages that were discovered without a link."""
        self._write("INSERT INTO known VALUES (?, ?)", position, blob_of(pages))

    def next_position(self) -> int:
        """Return the position of the next event."""
        last = " UNION ALL ".join(f"SELECT max(position) AS position FROM {table}" for table in _NUMBERED)
        return int(self._first(f"SELECT coalesce(max(position) + 1, 0) FROM ({last})"))

    def pages_after(self, position: int = -1) -> Iterator[DonePages | KnownPages]:
        """Yield all pages that were first done after `position`, in order, each in its latest version."""
        return self._with_known(position, self._done_pages)

    def visits_from(self, position: int) -> Iterator[DonePages | KnownPages]:
        """Yield all visits from `position` on, in order, with the pages discovered without a link."""
        return self._with_known(position - 1, self._visited_pages)

    def _with_known(
        self, position: int, done_pages: Callable[[int, int], Iterator[DonePages]]
    ) -> Iterator[DonePages | KnownPages]:
        sql = "SELECT position, pages FROM known WHERE position > ? ORDER BY position"
        for known_at, blob in self._rows(sql, position):
            yield from done_pages(position, known_at)
            with self._expecting_damage():
                known = KnownPages(known_at, expect_ids(page_ids([blob]), self.n_urls()))
            yield known
            position = known_at
        yield from done_pages(position, 2**63 - 1)

    def _done_pages(self, after: int, until: int) -> Iterator[DonePages]:
        columns = self._with_unknown(HISTORY_COLUMNS)
        sql = f"SELECT {columns} FROM page WHERE position > ? AND position <= ? ORDER BY position"
        for rows in self._batches(PAGES_PER_BATCH, sql, after, until):
            with self._expecting_damage():
                done = DonePages.of_rows(rows).within(self.n_urls())
            yield done

    # -- duplicates ---------------------------------------------------------------------------------------------

    def page_with_digest(self, digest: bytes, other_than: int) -> int | None:
        """Return the first other page with this content. Copies are ignored: their originals may have changed."""
        sql = "SELECT id FROM page WHERE digest = ? AND id != ? AND duplicate_of IS NULL ORDER BY position LIMIT 1"
        row = self._row(sql, digest, int(other_than))
        return None if row is None else int(row[0])

    def n_with_digest(self, digest: bytes) -> int:
        """Return the number of pages with this content."""
        return int(self._first("SELECT count(*) FROM page WHERE digest = ?", digest))

    def add_signature(self, page: int, signature: bytes) -> None:
        """Add the signature by which `ledger/band_index` finds near-duplicates of the page."""
        self._begin()
        self._buffered_signatures[page] = signature
        if len(self._buffered_signatures) >= _SIGNATURES_AT_ONCE:
            self._write_buffers()

    def remove_signature(self, page: int) -> None:
        """Remove the signature of a page."""
        if self._buffered_signatures.pop(page, None) is None:
            self._write("DELETE FROM signature WHERE page = ?", page)

    def n_signatures(self) -> int:
        return int(self._first("SELECT count(*) FROM signature"))

    def signatures(self) -> Iterator[tuple[NDArray[np.uint32], list[bytes]]]:
        """Yield all pages with signatures, in batches."""
        for rows in self._batches(PAGES_PER_BATCH, "SELECT page, signature FROM signature ORDER BY page"):
            with self._expecting_damage():
                pages = np.array([page for page, _ in rows], np.uint32)
            yield pages, [signature for _, signature in rows]

    def signature(self, page: int) -> bytes | None:
        buffered = self._buffered_signatures.get(int(page))
        if buffered is not None:
            return buffered
        row = self._row("SELECT signature FROM signature WHERE page = ?", int(page))
        return None if row is None else row[0]

    def duplicates(self) -> NDArray[np.int64]:
        """Return the exact and near-duplicates, in increasing order."""
        sql = "SELECT id FROM page WHERE duplicate_of IS NOT NULL OR near_duplicate_of IS NOT NULL ORDER BY id"
        with self._expecting_damage():
            return np.fromiter((page for (page,) in self._rows(sql)), np.int64)

    # -- events and single values ----------------------------------------------------------------------------

    def add_event(self, time: float, kind: str, host: int | None = None, **detail: Any) -> None:
        sql = "INSERT INTO event (time, kind, host, detail) VALUES (?, ?, ?, ?)"
        self._write(sql, time, kind, host, json.dumps(detail))

    def events(self, limit: int = 100) -> list[CrawlEvent]:
        """Return the latest events, oldest first."""
        columns = "time, kind AS event_kind, host, detail"
        rows = list(self._rows(f"SELECT {columns} FROM event ORDER BY id DESC LIMIT ?", limit))
        return [CrawlEvent(time, kind, host, self._json(detail)) for time, kind, host, detail in reversed(rows)]

    def set(self, key: str, value: Any) -> None:
        self._write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, json.dumps(value))

    def get(self, key: str, default: Any = None) -> Any:
        text = self._first("SELECT value FROM meta WHERE key = ?", key)
        return default if text is None else self._json(text)

    def _json(self, text: str) -> Any:
        with self._expecting_damage():
            return json.loads(text)
