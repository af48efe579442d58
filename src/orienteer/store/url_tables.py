"""The URLs of crawl.db, by the ids of the crawl; its events, and its single values."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from orienteer.crawl.seen import SeenUrls
from orienteer.progress import Progress, silent
from orienteer.store.connection import DatabaseConnection
from orienteer.store.failures import damaged

_LEAST_URL_BYTES = 8  # each URL takes at least this much of the file
_URLS_PER_BLOCK = 100_000
_URLS_AT_ONCE = 100  # per INSERT
_ADD_URLS = f"INSERT INTO url VALUES {', '.join(['(?, ?)'] * _URLS_AT_ONCE)}"


ANCHORS = "anchors"  # the kind of an event


class UrlTables:
    """The table `url`. New URLs are buffered: writing many together takes half the time."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db = connection
        self._buffered: list[str] = []
        self._first_buffered = 0  # id of the first buffered URL
        connection.buffers.append(self)

    def count(self) -> int:
        """Return the number of URLs. Arrays of that length are allocated, so an implausible number is an error."""
        n_urls = int(self._db.first("SELECT coalesce(max(id) + 1, 0) FROM url"))
        size_bytes = int(self._db.first("PRAGMA page_count")) * int(self._db.first("PRAGMA page_size"))
        if n_urls > size_bytes // _LEAST_URL_BYTES:
            raise damaged(self._db.path, f"a URL with the number {n_urls - 1:,}")
        return n_urls

    def add(self, first_id: int, urls: Sequence[str]) -> None:
        """Add URLs with consecutive ids from `first_id`, which must be the next free id."""
        self._db.begin()
        buffered = self._buffered
        if first_id != self._first_buffered + len(buffered):
            self.write()
            self._first_buffered = first_id
        buffered += urls
        while len(buffered) >= _URLS_AT_ONCE:
            values: list[Any] = [None] * (2 * _URLS_AT_ONCE)
            values[::2] = range(self._first_buffered, self._first_buffered + _URLS_AT_ONCE)
            values[1::2] = buffered[:_URLS_AT_ONCE]
            self._db.write(_ADD_URLS, *values)
            del buffered[:_URLS_AT_ONCE]
            self._first_buffered += _URLS_AT_ONCE
        if self._db.read_only:
            self.write()  # raises an error now instead of at the commit

    def write(self) -> None:
        """Write the buffer."""
        if self._buffered:
            self._db.write_all("INSERT INTO url VALUES (?, ?)", enumerate(self._buffered, self._first_buffered))
            self._first_buffered += len(self._buffered)
            self._buffered.clear()

    def clear(self) -> None:
        """Drop the buffer."""
        self._buffered.clear()

    def of(self, page: int) -> str:
        k = int(page) - self._first_buffered
        if 0 <= k < len(self._buffered):
            return self._buffered[k]
        url = self._db.unchecked("SELECT url FROM url WHERE id = ?", int(page))
        if not isinstance(url, str):
            raise damaged(self._db.path, f"no URL with id {page}")
        return url

    def of_all(self, pages: Iterable[int]) -> list[str]:
        return [self.of(page) for page in pages]

    def between(self, first: int, end: int) -> list[str]:
        """Return the URLs with ids in [first, end)."""
        rows = self._db.rows("SELECT url FROM url WHERE id >= ? AND id < ? ORDER BY id", int(first), int(end))
        return [url for (url,) in rows]

    def find(self, url: str) -> int | None:
        """Return the id of a URL; scans the table."""
        return self.find_all([url]).get(url)

    def find_all(self, urls: Sequence[str]) -> dict[str, int]:
        """Return the ids of those URLs that are known; scans the table once."""
        marks = ", ".join("?" * len(urls))
        return dict(self._db.rows(f"SELECT url, id FROM url WHERE url IN ({marks})", *urls))

    def blocks(self, first_id: int = 0) -> Iterator[bytes]:
        """Yield all URLs from `first_id` on in order of their ids, in blocks, separated by line ends.

        SQLite joins them, so that Python makes no string per URL; group_concat keeps the order of the subquery.
        """
        joined_urls = (
            "SELECT count(*), CAST(group_concat(url, char(10)) AS BLOB) "
            "FROM (SELECT url FROM url WHERE id >= ? AND id < ? ORDER BY id)"
        )
        n_urls = self.count()
        for start in range(first_id, n_urls, _URLS_PER_BLOCK):
            end = min(start + _URLS_PER_BLOCK, n_urls)
            ((n_found, block),) = self._db.rows(joined_urls, start, end)
            if n_found != end - start or block.count(b"\n") != n_found - 1:
                raise damaged(self._db.path, f"some of the URLs {start:,} to {end - 1:,} are missing")
            yield block

    def seen(self, progress: Progress = silent) -> SeenUrls:
        """Return all URLs and their hosts, with the ids of the crawl."""
        seen = SeenUrls(secrets.token_bytes(16))
        self.add_to(seen, progress)
        return seen

    def add_to(self, seen: SeenUrls, progress: Progress = silent) -> None:
        """Add the URLs that are not in `seen` yet."""
        n_urls = self.count()
        try:
            for block in self.blocks(len(seen)):
                seen.number_lines(block)
                progress("reading the crawl", len(seen), n_urls)
        except ValueError as error:
            raise damaged(self._db.path, error) from None


class CrawlEvent(NamedTuple):
    time: float
    kind: str
    host: int | None
    detail: dict[str, Any]


class MetaTables:
    """The tables `event` and `meta`."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db = connection

    def set(self, key: str, value: Any) -> None:
        self._db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, json.dumps(value))

    def get(self, key: str, default: Any = None) -> Any:
        text = self._db.first("SELECT value FROM meta WHERE key = ?", key)
        return default if text is None else self._db.json(text)

    def add_event(self, time: float, kind: str, host: int | None = None, **detail: Any) -> None:
        sql = "INSERT INTO event (time, kind, host, detail) VALUES (?, ?, ?, ?)"
        self._db.write(sql, time, kind, host, json.dumps(detail))

    def events(self, limit: int = 100) -> list[CrawlEvent]:
        """Return the latest events, oldest first."""
        columns = "time, kind AS event_kind, host, detail"
        rows = list(self._db.rows(f"SELECT {columns} FROM event ORDER BY id DESC LIMIT ?", limit))
        return [CrawlEvent(time, kind, host, self._db.json(detail)) for time, kind, host, detail in reversed(rows)]

    def anchors(self) -> tuple[str, ...]:
        """Return the fields of routes treated as positions on a page, by host, from the events of the crawl."""
        sql = "SELECT json_extract(detail, '$.detail') FROM event WHERE kind = ? GROUP BY 1 ORDER BY min(id)"
        return tuple(str(detail) for (detail,) in self._db.rows(sql, ANCHORS))
