"""URLs by page id, and page ids by URL, in flat arrays.

A Python list of 10 million URLs takes over a gigabyte; here a URL costs its bytes plus 8 (plus 8 for the index by URL),
and the arrays can be memory-mapped. Ids are dense and in order of discovery.

The hash table uses open addressing on ids; a hash hit is always confirmed by comparing the bytes, so different URLs
never share an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.kernel import allocating_kernel

_EMPTY = np.int64(-1)


@allocating_kernel
def _hash(data: Any, start: int, end: int) -> Any:
    # FNV-1a with a final avalanche: URLs of a site differ in their last bytes only.
    h = np.uint64(0xCBF29CE484222325)
    for k in range(start, end):
        h = (h ^ np.uint64(data[k])) * np.uint64(0x100000001B3)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    h ^= h >> np.uint64(32)
    return h


@allocating_kernel
def _slot(table: Any, data: Any, offsets: Any, text: Any, start: int, end: int) -> Any:
    """Return the slot of the URL `text[start:end]`, or the empty one where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = _hash(text, start, end) & mask
    while table[slot] != -1:
        page = table[slot]
        first = offsets[page]
        if offsets[page + 1] - first == end - start:
            k = 0
            while k < end - start and data[first + k] == text[start + k]:
                k += 1
            if k == end - start:
                return slot
        slot = (slot + np.uint64(1)) & mask
    return slot


@allocating_kernel
def _rehash(table: Any, data: Any, offsets: Any, n_urls: int) -> int:
    """Fill an empty table and return the number of distinct URLs; a repeated URL has the id of its first copy."""
    distinct = 0
    for page in range(n_urls):
        slot = _slot(table, data, offsets, data, offsets[page], offsets[page + 1])
        if table[slot] == -1:
            table[slot] = page
            distinct += 1
    return distinct


@allocating_kernel
def _intern(table: Any, data: Any, offsets: Any, n_urls: int, text: Any, spans: Any, ids: Any) -> int:
    """Write the id of each span of `text` to `ids`; new URLs get the next ids. Return the new number of URLs.

    There must be room for all.
    """
    for k in range(len(spans)):
        start, end = spans[k, 0], spans[k, 1]
        slot = _slot(table, data, offsets, text, start, end)
        if table[slot] == -1:
            first = offsets[n_urls]
            data[first : first + end - start] = text[start:end]
            offsets[n_urls + 1] = first + end - start
            table[slot] = n_urls
            n_urls += 1
        ids[k] = table[slot]
    return n_urls


def _bytes_array(text: bytes) -> NDArray[np.uint8]:
    """Return a writable copy: Numba would compile every kernel again for read-only arrays."""
    return np.frombuffer(bytearray(text), np.uint8)


def _table_size(n_urls: int) -> int:
    return 1 << max(4, int(n_urls * 3 // 2).bit_length())


class UrlTable(Sequence[str]):
    """A frozen sequence of URLs; `find` returns the page id of a URL."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets
        self._table: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, urls: Iterable[str | bytes]) -> UrlTable:
        """Return a table of any strings, in their order; repeats are allowed."""
        if isinstance(urls, UrlTable):
            return urls
        encoded = [url if isinstance(url, bytes) else url.encode("utf-8", "replace") for url in urls]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(url) for url in encoded], out=offsets[1:])
        return cls(_bytes_array(b"".join(encoded)), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        for k in range(len(self)):
            yield self[k]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UrlTable):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def find(self, url: str) -> int | None:
        """Return the page id of `url`, exactly as written, or None. The first call indexes the table."""
        if self._table is None:
            table = np.full(_table_size(len(self)), _EMPTY)
            _rehash(table, self.data, self.offsets, len(self))
            self._table = table
        text = _bytes_array(url.encode("utf-8", "replace"))
        page = int(self._table[_slot(self._table, self.data, self.offsets, text, 0, len(text))])
        return None if page < 0 else page

    def taken(self, pages: NDArray[Any]) -> UrlTable:
        """Return the table of these pages' URLs, in the given order."""
        lengths = np.diff(self.offsets)[pages]
        offsets = np.zeros(len(pages) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = np.repeat(self.offsets[:-1][pages] - offsets[:-1], lengths)
        return UrlTable(self.data[starts + np.arange(offsets[-1])], offsets)

    def __repr__(self) -> str:
        return f"<UrlTable of {len(self):,} URLs>"


class GrowingUrlTable:
    """A URL table that gives each new URL the next id; `freeze` returns the UrlTable."""

    def __init__(self) -> None:
        self._data: NDArray[np.uint8] = np.empty(1 << 16, np.uint8)
        self._offsets: NDArray[np.int64] = np.zeros(1 << 10, np.int64)
        self._table = np.full(1 << 11, _EMPTY)
        self._n_urls = 0

    def __len__(self) -> int:
        return self._n_urls

    def intern(self, urls: Iterable[str | bytes]) -> NDArray[np.int64]:
        """Return the ids of the URLs; new ones are added."""
        table = UrlTable.of(urls)
        return self.intern_spans(table.data, np.column_stack((table.offsets[:-1], table.offsets[1:])))

    def intern_spans(self, text: NDArray[np.uint8], spans: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids of the URLs `text[start:end]` for each row (start, end) of `spans`; new ones are added."""
        self._make_room(len(spans), int((spans[:, 1] - spans[:, 0]).sum()))
        ids = np.empty(len(spans), np.int64)
        self._n_urls = int(_intern(self._table, self._data, self._offsets, self._n_urls, text, spans, ids))
        if self._n_urls >= 2**32 - 1:
            raise InputError("more than 4,294,967,294 distinct URLs: page ids are 32 bits wide")
        return ids

    def _make_room(self, n_urls: int, n_bytes: int) -> None:
        used = int(self._offsets[self._n_urls])
        if used + n_bytes > len(self._data):
            self._data = np.resize(self._data, max(used + n_bytes, len(self._data) * 3 // 2))
        size = self._n_urls + n_urls + 1
        if size > len(self._offsets):
            self._offsets = np.resize(self._offsets, max(size, len(self._offsets) * 3 // 2))
        if _table_size(size) > len(self._table):
            self._table = np.full(_table_size(size), _EMPTY)
            _rehash(self._table, self._data, self._offsets, self._n_urls)

    def freeze(self) -> UrlTable:
        """Return a frozen copy of the current URLs."""
        offsets = self._offsets[: self._n_urls + 1].copy()
        return UrlTable(self._data[: offsets[-1]].copy(), offsets)
