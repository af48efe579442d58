"""The bytes of a file that may be packed and damaged: what can be had of it, and a mark where something is missing.

Archives are packed record by record: a file is a row of gzip members (or zstd frames). What is wrong with one says
nothing about the next, so the reading goes on there. Nothing of a member is handed out before it has come to its end
and its checksum was right. A member that is too large to be held in memory, such as a file packed as a whole, is
unpacked twice: first to check it, keeping nothing, and then, bit by bit, to hand it out.
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

MISSING = None  # in a row of blocks: here something could not be read

_CHUNK_BYTES = 1 << 16  # small, since what follows a member is copied each time
_PLAIN_BYTES = 1 << 20
_STEP_BYTES = 1 << 20
_MAX_HELD_BYTES = 40 << 20
_MAX_TRIED_BYTES = 1 << 18
_MAX_IN_VAIN = 1_000


class Packing(NamedTuple):
    """How to unpack one member, and the `n_magic` bytes by which the next is found."""

    magic: re.Pattern[bytes]
    n_magic: int
    new: Callable[[], Any]


_GZIP = Packing(re.compile(rb"\x1f\x8b\x08"), 3, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
# A frame, or a skippable one: that holds nothing, and the decoder passes over it.
_ZSTD = Packing(re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), 4, zstd.ZstdDecompressor)
_ERRORS: tuple[type[BaseException], ...] = (igzip_lib.IsalError, zstd.ZstdError, EOFError)  # type: ignore[assignment]


def blocks(file: BinaryIO, name: str, tell: Callable[[int], None]) -> Iterator[bytes | None]:
    """The file's bytes, unpacked as its name says, or MISSING; `tell` hears how many bytes were read of it.

    The file must be able to seek, and stand at its beginning.
    """
    packing = _GZIP if name.lower().endswith(".gz") else _ZSTD if name.lower().endswith(".zst") else None
    return _plain(file, tell) if packing is None else _unpacked(_Source(file, tell), packing)


def _plain(file: BinaryIO, tell: Callable[[int], None]) -> Iterator[bytes]:
    n_bytes = 0
    while chunk := file.read(_PLAIN_BYTES):
        n_bytes += len(chunk)
        tell(n_bytes)
        yield chunk


def _unpacked(source: _Source, packing: Packing) -> Iterator[bytes | None]:
    n_in_vain = 0
    while True:
        if source.pass_over_to(packing):
            yield MISSING
        if source.is_over:
            return
        start = source.place
        try:
            held = _held(source, packing)
            if held is None:
                source.seek(start)
                yield from _pieces(source, packing)
            else:
                yield held
            n_in_vain = 0
        except _ERRORS:
            yield MISSING
            # The bytes that a member begins with may stand anywhere: what comes next is tried, but not for ever.
            n_in_vain += 1
            if n_in_vain % _MAX_IN_VAIN:
                source.back_to(start + 1)


def _held(source: _Source, packing: Packing) -> bytes | None:
    """A whole member, whose checksum is right; None where it is too large to be held."""
    pieces: list[bytes] = []
    n_bytes = 0
    for piece in _pieces(source, packing):
        n_bytes += len(piece)
        pieces.append(piece)
        if n_bytes > _MAX_HELD_BYTES:
            pieces.clear()
    return b"".join(pieces) if n_bytes <= _MAX_HELD_BYTES else None


def _pieces(source: _Source, packing: Packing) -> Iterator[bytes]:
    """The member that begins here, bit by bit; only when all of them have come is it known whether they are right."""
    decoder = packing.new()
    while not decoder.eof:
        chunk = source.take() if decoder.needs_input else b""
        if decoder.needs_input and not chunk:
            raise EOFError
        yield decoder.decompress(chunk, _STEP_BYTES)
    source.put_back(len(decoder.unused_data))


class _Source:
    """A packed file, taken chunk by chunk. The last bytes that were taken are kept, to look at them again."""

    def __init__(self, file: BinaryIO, tell: Callable[[int], None]) -> None:
        self._file = file
        self._tell = tell
        self._n_told = 0
        self._data = b""
        self._data_place = 0  # of the data's first byte in the file
        self._next = 0  # the first byte of the data that is not taken

    @property
    def place(self) -> int:
        """Where the next byte stands in the file."""
        return self._data_place + self._next

    @property
    def is_over(self) -> bool:
        return self._next == len(self._data) and not self._read()

    def take(self) -> bytes:
        """The next bytes; none at the end."""
        if self.is_over:
            return b""
        chunk = self._data[self._next : self._next + _CHUNK_BYTES]
        self._next += len(chunk)
        return chunk

    def put_back(self, n_bytes: int) -> None:
        """Of the chunk that was taken last, so many bytes."""
        self._next -= n_bytes

    def back_to(self, place: int) -> None:
        """Take again what was taken from this place on, or the last of it that is kept."""
        self._next = max(place - self._data_place, self._next - _MAX_TRIED_BYTES, 0)

    def seek(self, place: int) -> None:
        self._file.seek(place)
        self._data, self._data_place, self._next = b"", place, 0

    def pass_over_to(self, packing: Packing) -> bool:
        """Go to where a member begins, or to the end; whether something was passed over that is no padding."""
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
        """Read on; whether there was more."""
        chunk = self._file.read(_CHUNK_BYTES)
        n_dropped = max(self._next - _MAX_TRIED_BYTES, 0)
        self._data = self._data[n_dropped:] + chunk
        self._data_place += n_dropped
        self._next -= n_dropped
        n_read = self._data_place + len(self._data)
        if n_read > self._n_told:
            self._n_told = n_read
            self._tell(n_read)
        return bool(chunk)
