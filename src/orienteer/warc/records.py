"""The records of a WARC file, even of a damaged one.

This is an own parser for the framing, because fastwarc stops at the first error and does not detect a truncated file.
The rule for damage is in the docstring of the package.

    WARC/1.1              version, then `Name: value` lines up to an empty one
    Content-Length: 17    the size of the block; two empty lines follow it

Archives are compressed record by record: a file is a sequence of gzip members (or zstd frames). After a damaged member
reading continues with the next one. No byte of a member is yielded before its checksum is verified. A member that is
too large for memory, such as a file compressed as a whole, is decompressed twice: first to verify it, and then in
pieces to yield it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from isal import igzip_lib

from orienteer.errors import InputError
from orienteer.url import canonical_url
from orienteer.wording import counted

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MISSING = None  # in a sequence of blocks: some data could not be read

_CHUNK_BYTES = 1 << 16  # small, since the data after each member is copied
_PLAIN_BYTES = 1 << 20
_STEP_BYTES = 1 << 20
_MAX_HELD_BYTES = 40 << 20
_MAX_TRIED_BYTES = 1 << 18
_MAX_FAILURES = 1_000


_ERRORS: tuple[type[BaseException], ...] = (igzip_lib.IsalError, zstd.ZstdError, EOFError)  # type: ignore[assignment]
MAX_BLOCK_BYTES = 32 << 20  # larger blocks are skipped
ASSET_HEADER = "Orienteer-Part"  # a header of records in our own archives: the record is an asset, and no page
_MAX_HEAD_BYTES = 1 << 18
_MAX_RUBBISH_BYTES = 256 << 20  # between two records: a file with more is no archive
_VERSION = re.compile(rb"WARC/\d\.\d{1,2}[ \t]*\r?\n")
_ANY_START = re.compile(rb"(?<![^\n])WARC/\d\.\d{1,2}[ \t]*\r?\n")
# The end of a head, or the beginning of another record if the head is unterminated: no byte is searched twice.
_HEAD_END = re.compile(rb"\r?\n\r?\n|(?<=\n)(?P<start>WARC/\d\.\d{1,2}[ \t]*\r?\n)")
_LENGTH = re.compile(r"\d{1,15}")
_EMPTY_LINES = re.compile(rb"[\r\n]*")
_START_BYTES = 64  # the version line fits in


class Packing(NamedTuple):
    """A compression format: its decompressor, and the `n_magic` magic bytes that begin a member."""

    magic: re.Pattern[bytes]
    n_magic: int
    new: Callable[[], Any]


_GZIP = Packing(re.compile(rb"\x1f\x8b\x08"), 3, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
# A frame, or a skippable frame, which the decoder ignores.
_ZSTD = Packing(re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), 4, zstd.ZstdDecompressor)


def blocks(file: BinaryIO, name: str, on_read: Callable[[int], None]) -> Iterator[bytes | None]:
    """Yield the decompressed bytes of a file, or MISSING; the suffix of `name` shows the format.

    `on_read` is called with the number of bytes read so far. The file must be seekable and at its beginning.
    """
    packing = _GZIP if name.lower().endswith(".gz") else _ZSTD if name.lower().endswith(".zst") else None
    return _plain(file, on_read) if packing is None else _unpacked(_Source(file, on_read), packing)


def _plain(file: BinaryIO, on_read: Callable[[int], None]) -> Iterator[bytes]:
    n_bytes = 0
    while chunk := file.read(_PLAIN_BYTES):
        n_bytes += len(chunk)
        on_read(n_bytes)
        yield chunk


def _unpacked(source: _Source, packing: Packing) -> Iterator[bytes | None]:
    n_failures = 0
    while True:
        if source.skip_to_member(packing):
            yield MISSING
        if source.is_over:
            return
        start = source.offset
        try:
            held = _held(source, packing)
            if held is None:
                source.seek(start)
                yield from _pieces(source, packing)
            else:
                yield held
            n_failures = 0
        except _ERRORS:
            yield MISSING
            # The magic bytes may occur in any data: try the next ones, but after _MAX_FAILURES skip what was read.
            n_failures += 1
            if n_failures % _MAX_FAILURES:
                source.back_to(start + 1)


def _held(source: _Source, packing: Packing) -> bytes | None:
    """Return a verified member; None if it is too large for memory."""
    pieces: list[bytes] = []
    n_bytes = 0
    for piece in _pieces(source, packing):
        n_bytes += len(piece)
        pieces.append(piece)
        if n_bytes > _MAX_HELD_BYTES:
            pieces.clear()
    return b"".join(pieces) if n_bytes <= _MAX_HELD_BYTES else None


def _pieces(source: _Source, packing: Packing) -> Iterator[bytes]:
    """Yield the member that begins here in pieces; the checksum is verified only at the end."""
    decoder = packing.new()
    while not decoder.eof:
        chunk = source.take() if decoder.needs_input else b""
        if decoder.needs_input and not chunk:
            raise EOFError
        yield decoder.decompress(chunk, _STEP_BYTES)
    source.put_back(len(decoder.unused_data))


class _Source:
    """A compressed file, read in chunks. The last bytes are buffered, so that they can be read again."""

    def __init__(self, file: BinaryIO, on_read: Callable[[int], None]) -> None:
        self._file = file
        self._on_read = on_read
        self._n_reported = 0
        self._data = b""
        self._data_offset = 0  # of the first byte of the data in the file
        self._next = 0  # the first byte of the data that is not taken

    @property
    def offset(self) -> int:
        """The offset of the next byte in the file."""
        return self._data_offset + self._next

    @property
    def is_over(self) -> bool:
        return self._next == len(self._data) and not self._read()

    def take(self) -> bytes:
        """Return the next bytes; empty at the end."""
        if self.is_over:
            return b""
        chunk = self._data[self._next : self._next + _CHUNK_BYTES]
        self._next += len(chunk)
        return chunk

    def put_back(self, n_bytes: int) -> None:
        """Put back the last bytes of the chunk that was taken last."""
        self._next -= n_bytes

    def back_to(self, offset: int) -> None:
        """Go back to an offset, or to the earliest one after it that is buffered."""
        self._next = max(offset - self._data_offset, self._next - _MAX_TRIED_BYTES, 0)

    def seek(self, offset: int) -> None:
        self._file.seek(offset)
        self._data, self._data_offset, self._next = b"", offset, 0

    def skip_to_member(self, packing: Packing) -> bool:
        """Go to the next member, or to the end; return whether skipped bytes were no padding."""
        is_rubbish = False
        while True:
            found = packing.magic.search(self._data, self._next)
            end = found.start() if found else max(len(self._data) - packing.n_magic + 1, self._next)
            is_rubbish = is_rubbish or bool(self._data[self._next : end].strip(b"\0"))
            self._next = end
            if found:
                return is_rubbish
            if not self._read():
                is_rubbish = is_rubbish or bool(self._data[self._next :].strip(b"\0"))
                self._next = len(self._data)
                return is_rubbish

    def _read(self) -> bool:
        """Read the next chunk; return whether there was one."""
        chunk = self._file.read(_CHUNK_BYTES)
        n_dropped = max(self._next - _MAX_TRIED_BYTES, 0)
        self._data = self._data[n_dropped:] + chunk
        self._data_offset += n_dropped
        self._next -= n_dropped
        n_read = self._data_offset + len(self._data)
        if n_read > self._n_reported:
            self._n_reported = n_read
            self._on_read(n_read)
        return bool(chunk)


class Record(NamedTuple):
    """A record; the names of its headers are in lower case."""

    kind: str
    headers: dict[str, str]
    block: bytes

    @property
    def url(self) -> str | None:
        """The canonical URL of its target."""
        return canonical_url(bare_uri(self.headers.get("warc-target-uri", "")))

    @property
    def is_asset(self) -> bool:
        """Whether it is marked as an asset, which only our own archives do."""
        return ASSET_HEADER.lower() in self.headers


def bare_uri(stated: str) -> str:
    """Remove the angle brackets that some writers put around URIs, following examples of the standard."""
    return stated.strip("<>")


def whole_record(content: bytes) -> Record:
    """Parse exactly one record, as this package's own writer makes it; ValueError for anything else."""
    start = content.find(b"\r\n\r\n") + 4
    headers = _headers(content[:start]) if _VERSION.match(content) else {}
    length = headers.get("content-length", "")
    if not _LENGTH.fullmatch(length) or content[start + int(length) :] != b"\r\n\r\n":
        raise ValueError("no whole WARC record")
    return Record(headers.get("warc-type", "").lower(), headers, content[start : start + int(length)])


def record_time(date: str) -> float | None:
    """Parse a WARC-Date to Unix time; None if it is malformed."""
    try:
        stated = datetime.fromisoformat(date)
        return (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


@dataclass
class RecordCounts:
    """The numbers of records of any kind, gaps, and too large blocks in the files read so far."""

    n_records: int = 0
    n_gaps: int = 0
    n_too_large: int = 0
    first_gap: str = ""

    def gap(self, where: str) -> None:
        self.n_gaps += 1
        self.first_gap = self.first_gap or where


class _Gap(Exception):
    """The data here is malformed or incomplete."""


def records(blocks: Iterator[bytes | None], kinds: Container[str], counts: RecordCounts, name: str) -> Iterator[Record]:
    """Yield the records of these kinds. A block None means missing data; `name` is that of the file."""
    stream = _RecordStream(blocks, name)
    is_sound = True
    n_before = counts.n_records
    while True:
        try:
            if not stream.go_to_record(is_sound):
                return
            record = _record(stream, kinds, counts)
        except _Gap:
            if is_sound:
                n_read = counts.n_records - n_before
                counts.gap(f"{name}: after {counted(n_read, 'record')}")
            is_sound = False
            continue
        is_sound = True
        counts.n_records += 1
        if record is not None:
            yield record


def _record(stream: _RecordStream, kinds: Container[str], counts: RecordCounts) -> Record | None:
    headers = _headers(stream.head())
    length = headers.get("content-length", "")
    if not _LENGTH.fullmatch(length):
        raise _Gap
    kind = headers.get("warc-type", "").lower()
    is_selected = kind in kinds
    if is_selected and int(length) <= MAX_BLOCK_BYTES:
        return Record(kind, headers, stream.take(int(length)))
    stream.skip(int(length))
    counts.n_too_large += is_selected
    return None


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("utf-8", "replace").splitlines()[1:]
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


class _RecordStream:
    """A buffer over blocks of bytes; raises _Gap if data ends or is missing within a requested range."""

    def __init__(self, blocks: Iterator[bytes | None], name: str) -> None:
        self._blocks = blocks
        self._name = name
        self._data = bytearray()
        self._is_over = False
        self._n_rubbish = 0

    def go_to_record(self, is_sound: bool) -> bool:
        """Go to the next record; False at the end. After a sound record only empty lines may precede it."""
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
        """Return the version line and the headers."""
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
                del self._data[:1]  # or it would be found again
                raise _Gap
            self._require_more()

    def take(self, n_bytes: int) -> bytes:
        while len(self._data) < n_bytes:
            self._require_more()
        taken = bytes(memoryview(self._data)[:n_bytes])
        del self._data[:n_bytes]
        return taken

    def skip(self, n_bytes: int) -> None:
        while len(self._data) < n_bytes:
            n_bytes -= len(self._data)
            self._data.clear()
            self._require_more()
        del self._data[:n_bytes]

    def _require_more(self) -> None:
        """Read more data; _Gap at the end."""
        if self._is_over:
            self._data.clear()
            raise _Gap
        self._more()

    def _more(self) -> None:
        for block in self._blocks:
            if block is None:
                self._data.clear()  # an incomplete record
                raise _Gap
            self._data += block
            return
        self._is_over = True

    def _drop_empty_lines(self) -> None:
        empty = _EMPTY_LINES.match(self._data)
        del self._data[: empty.end() if empty else 0]

    def _drop_rubbish(self) -> None:
        """Drop the data before the next version line, or all but a possible beginning of one."""
        start = _ANY_START.search(self._data, 1)
        n_bytes = start.start() if start else max(len(self._data) - _START_BYTES, 1)
        self._n_rubbish += n_bytes
        if self._n_rubbish > _MAX_RUBBISH_BYTES:
            raise InputError(f"{self._name}: {_MAX_RUBBISH_BYTES >> 20} MiB without a WARC record: this is no archive")
        del self._data[:n_bytes]
