"""Reads compressed files that may be damaged: yields the readable bytes, and a marker where something is missing.

Archives are compressed record by record: a file is a sequence of gzip members (or zstd frames). After a damaged member
reading continues with the next one. No byte of a member is yielded before its checksum is verified. A member that is
too large for memory, such as a file compressed as a whole, is decompressed twice: first to verify it, and then in
pieces to yield it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from isal import igzip_lib

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


class Packing(NamedTuple):
    """A compression format: its decompressor, and the `n_magic` magic bytes that begin a member."""

    magic: re.Pattern[bytes]
    n_magic: int
    new: Callable[[], Any]


_GZIP = Packing(re.compile(rb"\x1f\x8b\x08"), 3, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
# A frame, or a skippable frame, which the decoder ignores.
_ZSTD = Packing(re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), 4, zstd.ZstdDecompressor)
_ERRORS: tuple[type[BaseException], ...] = (igzip_lib.IsalError, zstd.ZstdError, EOFError)  # type: ignore[assignment]


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
