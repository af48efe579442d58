"""The records of a WARC file, also of a damaged one.

The framing of WARC is taken apart here, and not by fastwarc, because that ends at the first fault, and takes a file
that was cut off for one that has come to its end. The rule for damage stands in the package's docstring.

    WARC/1.1              version, then `Name: value` lines up to an empty one
    Content-Length: 17    the block has so many bytes; behind it are two empty lines
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from orienteer.errors import InputError
from orienteer.url import canonical_url
from orienteer.wording import counted

MAX_BLOCK_BYTES = 32 << 20  # no page is larger; what is, is passed over
PART = "Orienteer-Part"  # a header of records in our own archives: what it holds is no page, but shown with pages
_MAX_HEAD_BYTES = 1 << 18
_MAX_RUBBISH_BYTES = 256 << 20  # between two records: what holds more is no archive

_VERSION = re.compile(rb"WARC/\d\.\d{1,2}[ \t]*\r?\n")
_ANY_START = re.compile(rb"(?<![^\n])WARC/\d\.\d{1,2}[ \t]*\r?\n")
# The end of a head, or the beginning of another record where the head has none: no byte is looked at again and again.
_HEAD_END = re.compile(rb"\r?\n\r?\n|(?<=\n)(?P<start>WARC/\d\.\d{1,2}[ \t]*\r?\n)")
_LENGTH = re.compile(r"\d{1,15}")
_EMPTY_LINES = re.compile(rb"[\r\n]*")
_START_BYTES = 64  # the version line fits in


class Record(NamedTuple):
    """A record of a wanted kind; the names of its headers are in lower case."""

    kind: str
    headers: dict[str, str]
    block: bytes

    @property
    def url(self) -> str | None:
        """The canonical URL that it is about."""
        return canonical_url(bare_uri(self.headers.get("warc-target-uri", "")))

    @property
    def is_part(self) -> bool:
        """Whether it is no page, but what a page is shown with, as our own archives say."""
        return PART.lower() in self.headers


def bare_uri(stated: str) -> str:
    """Old writers put URIs in angle brackets, as the standard's examples did."""
    return stated.strip("<>")


@dataclass
class Reading:
    """What was found in the files of a collection so far: records of any kind, gaps, and blocks that were too large."""

    n_records: int = 0
    n_gaps: int = 0
    n_too_large: int = 0
    first_gap: str = ""

    def gap(self, where: str) -> None:
        self.n_gaps += 1
        self.first_gap = self.first_gap or where


class _Gap(Exception):
    """What should stand here does not, or is not all there."""


def records(blocks: Iterator[bytes | None], kinds: Container[str], reading: Reading, name: str) -> Iterator[Record]:
    """The records of these kinds. A block that is None says that something is missing; `name` is the file's."""
    stream = _Stream(blocks, name)
    is_sound = True
    n_before = reading.n_records
    while True:
        try:
            if not stream.go_to_record(is_sound):
                return
            record = _record(stream, kinds, reading)
        except _Gap:
            if is_sound:
                n_read = reading.n_records - n_before
                reading.gap(f"{name}: after {counted(n_read, 'record')}")
            is_sound = False
            continue
        is_sound = True
        reading.n_records += 1
        if record is not None:
            yield record


def _record(stream: _Stream, kinds: Container[str], reading: Reading) -> Record | None:
    headers = _headers(stream.head())
    length = headers.get("content-length", "")
    if not _LENGTH.fullmatch(length):
        raise _Gap
    kind = headers.get("warc-type", "").lower()
    is_wanted = kind in kinds
    if is_wanted and int(length) <= MAX_BLOCK_BYTES:
        return Record(kind, headers, stream.take(int(length)))
    stream.skip(int(length))
    reading.n_too_large += is_wanted
    return None


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("utf-8", "replace").splitlines()[1:]
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


class _Stream:
    """Bytes that come in blocks; a _Gap where they end, or some are missing, in the middle of what is asked for."""

    def __init__(self, blocks: Iterator[bytes | None], name: str) -> None:
        self._blocks = blocks
        self._name = name
        self._data = bytearray()
        self._is_over = False
        self._n_rubbish = 0

    def go_to_record(self, is_sound: bool) -> bool:
        """Stand where a record begins; False at the end. From a sound record on, only empty lines may come before."""
        while True:
            self._drop_empty_lines()
            if len(self._data) < _START_BYTES and not self._is_over:
                self._more()
            elif not self._data:
                return False
            elif _VERSION.match(self._data):
                self._n_rubbish = 0
                return True
            elif is_sound:
                raise _Gap
            else:
                self._drop_rubbish()

    def head(self) -> bytes:
        """The version line and the headers."""
        n_searched = 1
        while True:
            end = _HEAD_END.search(self._data, n_searched, _MAX_HEAD_BYTES)
            n_searched = max(1, len(self._data) - _START_BYTES)
            if end is not None and end["start"] is None:
                return self.take(end.end())
            if end is not None:
                del self._data[: end.start()]
                raise _Gap
            if len(self._data) >= _MAX_HEAD_BYTES:
                del self._data[:1]  # not to come by here again
                raise _Gap
            self._want()

    def take(self, n_bytes: int) -> bytes:
        while len(self._data) < n_bytes:
            self._want()
        taken = bytes(memoryview(self._data)[:n_bytes])
        del self._data[:n_bytes]
        return taken

    def skip(self, n_bytes: int) -> None:
        while len(self._data) < n_bytes:
            n_bytes -= len(self._data)
            self._data.clear()
            self._want()
        del self._data[:n_bytes]

    def _want(self) -> None:
        """There must be more."""
        if self._is_over:
            self._data.clear()
            raise _Gap
        self._more()

    def _more(self) -> None:
        for block in self._blocks:
            if block is None:
                self._data.clear()  # the rest of a record that is not all there
                raise _Gap
            self._data += block
            return
        self._is_over = True

    def _drop_empty_lines(self) -> None:
        empty = _EMPTY_LINES.match(self._data)
        del self._data[: empty.end() if empty else 0]

    def _drop_rubbish(self) -> None:
        """Drop what comes before the next version line, or all but what may be the beginning of one."""
        start = _ANY_START.search(self._data, 1)
        n_bytes = start.start() if start else max(len(self._data) - _START_BYTES, 1)
        self._n_rubbish += n_bytes
        if self._n_rubbish > _MAX_RUBBISH_BYTES:
            raise InputError(f"{self._name}: {_MAX_RUBBISH_BYTES >> 20} MiB without a WARC record: this is no archive")
        del self._data[:n_bytes]
