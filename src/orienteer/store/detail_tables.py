"""What crawl.db stores of some pages only, next to their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.pages.added import Additions
from orienteer.pages.unknown import ALL_KNOWN, UnknownLinks
from orienteer.store.connection import DatabaseConnection
from orienteer.store.history import PAGES_PER_BATCH
from orienteer.store.page_row import page_ids
from orienteer.store.url_tables import UrlTables

_HEAD = 3
_SIGNATURES_AT_ONCE = 4096  # buffered: two megabytes


class PageWords(NamedTuple):
    """The hashed words of a page and of its links: link k leads to `targets[k]`, with the words
    `link_words[offsets[k] : offsets[k + 1]]`.

    They are stored as uint32 numbers in one blob: the number of links, of their words, and of the page's words; the
    targets; the offsets, and the end of the last; the words of the links, link by link; the words of the page.
    """

    targets: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    link_words: NDArray[np.uint32]
    words: NDArray[np.uint32]


def packed(words: PageWords) -> bytes:
    arrays: list[ArrayLike] = [[len(words.targets), len(words.link_words), len(words.words)], *words]
    return b"".join(np.asarray(array).astype("<u4").tobytes() for array in arrays)


def unpacked(blob: bytes) -> PageWords:
    """Return the inverse of `packed`; ValueError if the blob is malformed."""
    numbers = page_ids([blob])
    if len(numbers) < _HEAD:
        raise ValueError("words are cut off")
    n_links, n_link_words, n_words = (int(number) for number in numbers[:_HEAD])
    sizes = (n_links, n_links + 1, n_link_words, n_words)
    if len(numbers) != _HEAD + sum(sizes):
        raise ValueError("words are cut off")
    targets, offsets, link_words, words = np.split(numbers[_HEAD:], np.cumsum(sizes[:-1]))
    if offsets[0] != 0 or offsets[-1] != n_link_words or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("words of links overlap")
    return PageWords(targets, offsets.astype(np.int64), link_words, words)


class SessionRow(NamedTuple):
    """The first page found at URLs that differ only in a session id, and the digest of its content without that id.

    `is_same`: a URL with another session id had the same content.
    """

    page: int
    digest: bytes
    is_same: bool


class DetailTables:
    """The tables `words`, `added`, `unknown`, `canonical` and `session`."""

    def __init__(self, connection: DatabaseConnection, urls: UrlTables) -> None:
        self._db, self._urls = connection, urls

    def set_words(self, page: int, words: bytes) -> None:
        """Set the words of a page, packed."""
        self._set("words", page, words)

    def words(self, page: int) -> bytes | None:
        words: bytes | None = self._db.first("SELECT words FROM words WHERE page = ?", int(page))
        return words

    def set_added(self, page: int, added: Additions | None) -> None:
        """Set what hooks added to a page; None deletes it."""
        self._set("added", page, *((added.to_json(),) if added else ()))

    def added(self, page: int) -> Additions | None:
        """Return the fields and tags that hooks added to a page; None if there are none."""
        text = self._db.first("SELECT added FROM added WHERE page = ?", int(page))
        if text is None:
            return None
        with self._db.expecting_damage():
            return Additions.of_json(text)

    def set_unknown(self, page: int, unknown: UnknownLinks) -> None:
        """Set how many links of a page are unknown, and why."""
        self._set("unknown", page, *(unknown if unknown.n else ()))

    def unknown(self, page: int) -> UnknownLinks:
        """Return how many links of a page are unknown, and why."""
        row = self._db.row("SELECT n, why FROM unknown WHERE page = ?", int(page))
        return ALL_KNOWN if row is None else UnknownLinks(*row)

    def unknown_because(self, why: str) -> list[int]:
        """Return the pages with unknown links for which this is one of the reasons, in increasing order."""
        sql = "SELECT page FROM unknown WHERE instr(why, ?) > 0 ORDER BY page"
        return [int(page) for (page,) in self._db.rows(sql, why)]

    def n_unknown_because(self, why: str) -> int:
        """Return the number of pages with unknown links for which this is one of the reasons."""
        return int(self._db.first("SELECT count(*) FROM unknown WHERE instr(why, ?) > 0", why))

    def unknown_until(self, position: int) -> dict[str, int]:
        """Return the number of pages done before a position that have unknown links, by reason."""
        sql = "SELECT why, count(*) FROM unknown JOIN page ON page.id = unknown.page WHERE position < ? GROUP BY why"
        with self._db.expecting_damage():
            return {str(why): int(n) for why, n in self._db.rows(sql, position)}

    def set_canonical(self, page: int, target: int | None) -> None:
        """Set the canonical page that a page declares; None deletes it."""
        self._set("canonical", page, *(() if target is None else (int(target),)))

    def canonicals(self) -> Iterator[tuple[int, int]]:
        """Yield all pages that declare another page as canonical, and that page. The declaration may be wrong."""
        n_urls = self._urls.count()
        for page, target in self._db.rows("SELECT page, target FROM canonical ORDER BY page"):
            if 0 <= page < n_urls and 0 <= target < n_urls:
                yield page, target

    def _set(self, table: str, page: int, *values: Any) -> None:
        """Insert or replace the row of a page; without values delete it."""
        if values:
            self._db.write(f"INSERT OR REPLACE INTO {table} VALUES (?{', ?' * len(values)})", int(page), *values)
        else:
            self._db.write(f"DELETE FROM {table} WHERE page = ?", int(page))

    def session(self, stripped: str) -> SessionRow | None:
        """Return the row of the URLs that equal this one when their session id is removed."""
        row = self._db.row("SELECT page, digest, is_same FROM session WHERE stripped = ?", stripped)
        return None if row is None else SessionRow(row[0], row[1], bool(row[2]))

    def set_session(self, stripped: str, row: SessionRow) -> None:
        self._db.write("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", stripped, *row[:2], int(row.is_same))


class SignatureTables:
    """The table `signature`, by which `ledger/band_index` finds near-duplicates. New signatures are buffered."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db = connection
        self._buffered: dict[int, bytes] = {}  # by page
        connection.buffers.append(self)

    def add(self, page: int, signature: bytes) -> None:
        self._db.begin()
        self._buffered[page] = signature
        if len(self._buffered) >= _SIGNATURES_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the buffer, sorted by page, as the B-tree is: rows are appended."""
        if self._buffered:
            self._db.write_all("INSERT INTO signature VALUES (?, ?)", sorted(self._buffered.items()))
            self._buffered.clear()

    def clear(self) -> None:
        """Drop the buffer."""
        self._buffered.clear()

    def remove(self, page: int) -> None:
        if self._buffered.pop(page, None) is None:
            self._db.write("DELETE FROM signature WHERE page = ?", page)

    def count(self) -> int:
        return int(self._db.first("SELECT count(*) FROM signature"))

    def all(self) -> Iterator[tuple[NDArray[np.uint32], list[bytes]]]:
        """Yield all pages with signatures, in batches."""
        for rows in self._db.batches(PAGES_PER_BATCH, "SELECT page, signature FROM signature ORDER BY page"):
            with self._db.expecting_damage():
                pages = np.array([page for page, _ in rows], np.uint32)
            yield pages, [signature for _, signature in rows]

    def of(self, page: int) -> bytes | None:
        buffered = self._buffered.get(int(page))
        if buffered is not None:
            return buffered
        row = self._db.row("SELECT signature FROM signature WHERE page = ?", int(page))
        return None if row is None else row[0]
