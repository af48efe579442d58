"""The URLs a crawl has seen: each new one gets the next page id; the URL itself is not stored.

In memory are a hash of 128 bits per URL (16 bytes), its host (4 bytes), and its entry in a table of ids (5 to 6 bytes).
An entry has 32 bits; those that the id does not need hold a *tag*, the first bits of the hash, which saves most reads
of hashes that differ. The hash is SipHash-2-4 under a secret random key, so the author of a page cannot choose URLs
that collide, or that crowd the table. The probability that two of n URLs are confused is at most n² / 2¹²⁹: less than
10⁻¹⁸ for ten billion. The URLs are in the store. Host names are few, and stay in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown, zeros
from orienteer.crawl.host_heaps import MAX_PAGES
from orienteer.errors import InputError
from orienteer.graph.growing_graph import PageHosts
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import inlined, kernel

_U = np.uint64


@inlined
def _rotated(x: Any, n_bits: int) -> Any:
    return (x << _U(n_bits)) | (x >> _U(64 - n_bits))


@inlined
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v2 += v3
    v1 = _rotated(v1, 13) ^ v0
    v3 = _rotated(v3, 16) ^ v2
    v0 = _rotated(v0, 32)
    v2 += v1
    v0 += v3
    v1 = _rotated(v1, 17) ^ v2
    v3 = _rotated(v3, 21) ^ v0
    v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


@inlined
def _eight_bytes(text: Any, at: int) -> Any:
    word = _U(0)
    for k in range(8):
        word |= _U(text[at + k]) << _U(8 * k)
    return word


@kernel
def siphash128(key: Any, text: Any, start: int, end: int) -> Any:
    """The hash of the bytes `text[start:end]` as two uint64, the low half first; `key` is two uint64 as well."""
    v0, v1 = key[0] ^ _U(0x736F6D6570736575), key[1] ^ _U(0x646F72616E646F6D ^ 0xEE)
    v2, v3 = key[0] ^ _U(0x6C7967656E657261), key[1] ^ _U(0x7465646279746573)
    whole = end - (end - start) % 8
    for at in range(start, whole, 8):
        word = _eight_bytes(text, at)
        v3 ^= word
        for _ in range(2):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    word = _U(end - start) << _U(56)
    for at in range(whole, end):
        word |= _U(text[at]) << _U(8 * (at - whole))
    v3 ^= word
    for _ in range(2):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= _U(0xEE)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= _U(0xDD)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3


_MAX_LOAD, _GROWTH = 0.85, 1.2
_MAX_URLS = MAX_PAGES - 1
_LINES_AT_ONCE = 1 << 12

# Indexes into `counts`.
_URLS, _HOSTS = range(2)

# The columns of `spans`: where a URL begins and ends in the text, and its host in it.
_START, _END, _HOST_START, _HOST_END = range(4)

_NEWLINE, _SLASH, _COLON = ord("\n"), ord("/"), ord(":")


class SeenUrls:
    """Page ids and host ids of canonical URLs, both dense and in order of discovery.

    `key` is 16 secret bytes, made by `secrets.token_bytes(16)` for each process.

    >>> seen = SeenUrls(bytes(16))
    >>> ids, new = seen.number(["http://a.example/", "http://b.example:81/x", "http://a.example/"])
    >>> ids.tolist(), new.tolist(), seen.hosts.tolist(), seen.host_name(1)
    ([0, 1, 0], [0, 1], [0, 1], 'b.example:81')
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 16:
            raise ValueError(f"the key has {len(key)} bytes; it must have 16")
        self._key: NDArray[np.uint64] = np.array(np.frombuffer(key, "<u8"), np.uint64)
        self._counts: NDArray[np.int64] = np.zeros(2, np.int64)
        self._digests: NDArray[np.uint64] = np.zeros(2 * 1024, np.uint64)
        self._table: NDArray[np.uint32] = np.zeros(2048, np.uint32)  # a tag and 1 + page, 0 where empty
        self.page_hosts = PageHosts()
        self._host_digests: NDArray[np.uint64] = np.zeros(2 * 64, np.uint64)
        self._host_table: NDArray[np.uint32] = np.zeros(128, np.uint32)
        self._names: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        self._name_offsets: NDArray[np.int64] = np.zeros(64, np.int64)
        self._room = 0, 0  # numbers of URLs and hosts that the arrays have room for

    def __len__(self) -> int:
        return int(self._counts[_URLS])

    @property
    def n_hosts(self) -> int:
        return int(self._counts[_HOSTS])

    @property
    def hosts(self) -> NDArray[np.int32]:
        """The host of every page; a view of the pages seen so far."""
        return self.page_hosts.array[: len(self)]

    @property
    def host_names(self) -> UrlTable:
        """The names of the hosts seen so far, `name` or `name:port`, by host id."""
        offsets = self._name_offsets[: self.n_hosts + 1]
        return UrlTable(self._names[: offsets[-1]], offsets)

    def host_name(self, host: int) -> str:
        return self.host_names[host]

    def number(self, urls: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the page ids of the URLs, and the indexes into `urls` of those seen for the first time.

        A text that cannot be a canonical URL raises a ValueError, and then none of them is added.
        """
        n = len(urls)
        if not n:
            return np.empty(0, np.uint32), np.empty(0, np.int64)
        text = _as_array("\n".join(urls))
        self._make_room(n, len(text))
        ids, new = np.empty(n, np.uint32), np.empty(n, np.int64)
        n_new = _number_text(text, np.empty((n, 4), np.int64), *self._tables(), np.empty((n, 2), np.uint64), ids, new)
        if n_new < 0:
            raise _invalid_url(next(url for url in urls if not _is_one_line(url)))
        return ids, new[:n_new]

    def number_lines(self, lines: bytes) -> int:
        """Add URLs that were seen before this process: one per line, all different. Return their number."""
        text = np.frombuffer(lines, np.uint8)
        end = len(text) - 1 if lines.endswith(b"\n") else len(text)
        spans = np.empty((_LINES_AT_ONCE, 4), np.int64)
        before, at = len(self), 0
        while at < end:
            start = at
            n_lines, at = _find_lines(text[:end], at, spans)
            if n_lines < 0:
                raise _invalid_url(lines[at : at + 200].split(b"\n")[0].decode(errors="replace"))
            self._make_room(n_lines, at - start)
            ids, new, hashes = (
                np.empty(n_lines, np.uint32),
                np.empty(n_lines, np.int64),
                np.empty((n_lines, 2), np.uint64),
            )
            if _number(text, spans[:n_lines], *self._tables(), hashes, ids, new) < n_lines:
                raise ValueError(f"a URL occurs twice in the lines from byte {start} to {at}")
        return len(self) - before

    def find(self, url: str) -> int | None:
        """Return the page id of a URL; None if it was not seen."""
        page = int(_find(self._key, _as_array(url), self._table, self._digests))
        return None if page < 0 else page

    def find_host(self, name: str) -> int | None:
        """Return the id of a host, `name` or `name:port`; None if no URL of it was seen."""
        host = int(_find(self._key, _as_array(name), self._host_table, self._host_digests))
        return None if host < 0 else host

    def _tables(self) -> tuple[NDArray[Any], ...]:
        return (
            self._key, self._counts, self._digests, self._table, self.page_hosts.array, self._host_digests,
            self._host_table, self._names, self._name_offsets,
        )  # fmt: skip

    def _make_room(self, n_new: int, n_bytes: int) -> None:
        """Make room for new URLs and as many new hosts, whose names have at most `n_bytes`."""
        n_urls, n_hosts = len(self) + n_new, self.n_hosts + n_new
        n_names = int(self._name_offsets[n_hosts - n_new]) + n_bytes
        if n_urls <= self._room[0] and n_hosts <= self._room[1] and n_names <= len(self._names):
            return
        if n_urls > _MAX_URLS:
            raise InputError(f"more than {_MAX_URLS:,} distinct URLs: page ids are 31 bits wide")
        self._digests = grown(self._digests, 2 * n_urls)
        self.page_hosts.grow_to(n_urls)
        self._host_digests = grown(self._host_digests, 2 * n_hosts)
        self._names = grown(self._names, n_names)
        self._name_offsets = grown(self._name_offsets, n_hosts + 1)
        self._table = _with_room(self._table, self._digests, len(self), n_urls)
        self._host_table = _with_room(self._host_table, self._host_digests, self.n_hosts, n_hosts)
        self._room = (
            min(len(self._digests) // 2, len(self.page_hosts.array), int(_MAX_LOAD * len(self._table))),
            min(len(self._host_digests) // 2, len(self._name_offsets) - 1, int(_MAX_LOAD * len(self._host_table))),
        )


def _as_array(text: str) -> NDArray[np.uint8]:
    # A lone surrogate must not raise here: it is not ASCII, so the kernel rejects the URL.
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def _is_one_line(url: str) -> bool:
    return "\n" not in url and bool(_find_lines(_as_array(url), 0, np.empty((1, 4), np.int64))[0] == 1)


def _invalid_url(text: str) -> ValueError:
    return ValueError(f"not a canonical URL: {text[:100]!r}")


def _with_room(table: NDArray[np.uint32], digests: NDArray[np.uint64], n: int, n_needed: int) -> NDArray[np.uint32]:
    """Return the table, or a larger copy with room for `n_needed` entries."""
    if n_needed <= _MAX_LOAD * len(table):
        return table
    larger = zeros(int(max(n_needed / _MAX_LOAD, _GROWTH * len(table))) + 1, np.uint32)
    _fill(larger, digests, n)
    return larger


@inlined
def _next(byte: int, text: Any, at: int) -> Any:
    """Return the next index of the byte, or of an earlier byte that no canonical URL contains."""
    while at < len(text) and text[at] != byte and 32 < text[at] < 127:
        at += 1
    return at


@inlined
def _is_at(byte: int, text: Any, at: int) -> Any:
    return at < len(text) and text[at] == byte


@kernel
def _find_lines(text: Any, start: int, spans: Any) -> Any:
    """Find the URL and the host of each line, while `spans` has rows; return (lines read, start of the next).

    For a line that cannot be a canonical URL (visible ASCII, `://`, a host, `/`) it returns (-1, start of the line).
    """
    n_lines = 0
    while n_lines < len(spans) and start <= len(text):
        slash = _next(_SLASH, text, start)
        host_end = _next(_SLASH, text, slash + 2)
        end = _next(_NEWLINE, text, host_end)
        has_scheme = slash > start + 1 and text[slash - 1] == _COLON and _is_at(_SLASH, text, slash)
        has_host = _is_at(_SLASH, text, slash + 1) and _is_at(_SLASH, text, host_end) and host_end > slash + 2
        if not (has_scheme and has_host and (end == len(text) or text[end] == _NEWLINE)):
            return -1, start
        spans[n_lines, _START], spans[n_lines, _END] = start, end
        spans[n_lines, _HOST_START], spans[n_lines, _HOST_END] = slash + 2, host_end
        n_lines += 1
        start = end + 1
    return n_lines, start


@inlined
def _id_bits(table: Any) -> Any:
    """Return the number of bits of an entry that hold the id; 1 + id is at most the number of entries."""
    n = 1
    while len(table) >> n:
        n += 1
    return n


@inlined
def _home(table: Any, low: Any) -> Any:
    """Return the slot of a hash if there is no collision."""
    return np.int64(((np.uint64(low) >> np.uint64(32)) * np.uint64(len(table))) >> np.uint64(32))


@inlined
def _tag(high: Any, id_bits: int) -> Any:
    return np.int64((np.uint64(high) >> np.uint64(32)) >> np.uint64(id_bits))


@kernel
def _slot(table: Any, digests: Any, low: Any, high: Any, id_bits: int) -> Any:
    """Return the slot of a hash, or the empty slot to insert it."""
    slot, tag = _home(table, low), _tag(high, id_bits)
    while table[slot] != 0:
        if np.int64(table[slot]) >> id_bits == tag:
            at = 2 * _id(table, slot, id_bits)
            if digests[at] == low and digests[at + 1] == high:
                break
        slot = slot + 1 if slot + 1 < len(table) else 0
    return slot


@inlined
def _id(table: Any, slot: Any, id_bits: int) -> Any:
    """Return the id in a slot; -1 if it is empty."""
    return (np.int64(table[slot]) & ((1 << id_bits) - 1)) - 1


@inlined
def _set(table: Any, slot: Any, high: Any, number: Any, id_bits: int) -> None:
    table[slot] = (_tag(high, id_bits) << id_bits) | (number + 1)


@kernel
def _fill(table: Any, digests: Any, n: int) -> None:
    """Insert the first n hashes, which are all different, into an empty table."""
    id_bits = _id_bits(table)
    for k in range(n):
        slot = _home(table, digests[2 * k])
        while table[slot] != 0:
            slot = slot + 1 if slot + 1 < len(table) else 0
        _set(table, slot, digests[2 * k + 1], k, id_bits)


@kernel
def _find(key: Any, text: Any, table: Any, digests: Any) -> Any:
    low, high = siphash128(key, text, 0, len(text))
    id_bits = _id_bits(table)
    return _id(table, _slot(table, digests, low, high, id_bits), id_bits)


@kernel
def _number_text(
    text: Any, spans: Any, key: Any, counts: Any, digests: Any, table: Any, hosts: Any,
    host_digests: Any, host_table: Any, names: Any, name_offsets: Any, hashes: Any, ids: Any, new: Any,
) -> Any:  # fmt: skip
    """Number the lines of a text, as many as `spans` has rows; return -1 if one of them cannot be a canonical URL."""
    n_lines, end = _find_lines(text, 0, spans)
    if n_lines < len(spans) or end != len(text) + 1:
        return -1
    return _number(
        text, spans, key, counts, digests, table, hosts, host_digests, host_table, names, name_offsets, hashes, ids,
        new,
    )  # fmt: skip


@kernel
def _number(
    text: Any, spans: Any, key: Any, counts: Any, digests: Any, table: Any, hosts: Any,
    host_digests: Any, host_table: Any, names: Any, name_offsets: Any, hashes: Any, ids: Any, new: Any,
) -> Any:  # fmt: skip
    """Fill `ids`, and `new` with the rows seen for the first time; return the number of these rows.

    The arrays must have room for all. Reading the table and then the hash costs two cache misses per URL. Hence the
    first loops: they only prefetch what the last one needs, so that many of these misses overlap.
    """
    for k in range(len(spans)):
        hashes[k, 0], hashes[k, 1] = siphash128(key, text, spans[k, _START], spans[k, _END])
    id_bits = _id_bits(table)
    for k in range(len(spans)):
        new[k] = _id(table, _home(table, hashes[k, 0]), id_bits)
    for k in range(len(spans)):
        new[k] = np.uint64(digests[2 * max(new[k], 0)]) & np.uint64(1)
    n_new = 0
    for k in range(len(spans)):
        low, high = hashes[k, 0], hashes[k, 1]
        slot = _slot(table, digests, low, high, id_bits)
        if table[slot] == 0:
            page = counts[_URLS]
            counts[_URLS] += 1
            _set(table, slot, high, page, id_bits)
            digests[2 * page], digests[2 * page + 1] = low, high
            hosts[page] = _host(
                key, text, spans[k, _HOST_START], spans[k, _HOST_END], counts,
                host_digests, host_table, names, name_offsets,
            )  # fmt: skip
            new[n_new] = k
            n_new += 1
        ids[k] = _id(table, slot, id_bits)
    return n_new


@kernel
def _host(
    key: Any, text: Any, start: int, end: int, counts: Any,
    digests: Any, table: Any, names: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Return the id of a host; a new one is inserted, with its name."""
    low, high = siphash128(key, text, start, end)
    id_bits = _id_bits(table)
    slot = _slot(table, digests, low, high, id_bits)
    if table[slot] == 0:
        host = counts[_HOSTS]
        counts[_HOSTS] += 1
        _set(table, slot, high, host, id_bits)
        digests[2 * host], digests[2 * host + 1] = low, high
        first = offsets[host]
        for k in range(end - start):
            names[first + k] = text[start + k]
        offsets[host + 1] = first + end - start
    return _id(table, slot, id_bits)
