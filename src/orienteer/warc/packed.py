"""The bytes of a file that may be packed and damaged: what can be had of it, and a mark where something is missing.

Archives are packed record by record: a file is a row of gzip members (or zstd frames). What is wrong with one says
nothing about the next, so the reading goes on there. A member is handed out when it has come to its end and its
checksum is right; one of many megabytes, such as a file packed as a whole, is handed out bit by bit before that.
"""

from __future__ import annotations

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
    """How to unpack one member, and how the next is found."""

    magic: bytes
    new: Callable[[], Any]


_GZIP = Packing(b"\x1f\x8b\x08", lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))
_ZSTD = Packing(b"\x28\xb5\x2f\xfd", zstd.ZstdDecompressor)
_ERRORS: tuple[type[BaseException], ...] = (igzip_lib.IsalError, zstd.ZstdError, EOFError)  # type: ignore[assignment]


def blocks(file: BinaryIO, name: str, tell: Callable[[int], None]) -> Iterator[bytes | None]:
    """The file's bytes, unpacked as its name says, or MISSING; `tell` hears how many bytes were read of it."""
    packing = _GZIP if name.lower().endswith(".gz") else _ZSTD if name.lower().endswith(".zst") else None
    return _read(file, _PLAIN_BYTES, tell) if packing is None else _unpacked(_read(file, _CHUNK_BYTES, tell), packing)


def _read(file: BinaryIO, size: int, tell: Callable[[int], None]) -> Iterator[bytes]:
    n_bytes = 0
    while chunk := file.read(size):
        n_bytes += len(chunk)
        tell(n_bytes)
        yield chunk


def _unpacked(chunks: Iterator[bytes], packing: Packing) -> Iterator[bytes | None]:
    rest = b""
    n_in_vain = 0
    while True:
        rest, between = _next_member(rest, chunks, packing.magic)
        if between.strip(b"\0"):
            yield MISSING
        if not rest:
            return
        member = _Member(packing, rest, chunks)
        try:
            yield from member
            rest, n_in_vain = member.rest, 0
        except _ERRORS:
            yield MISSING
            # The bytes that a member begins with may stand anywhere: what comes next is tried, but not for ever.
            n_in_vain += 1
            rest = member.tried[1:] if n_in_vain % _MAX_IN_VAIN else b""


def _next_member(rest: bytes, chunks: Iterator[bytes], magic: bytes) -> tuple[bytes, bytes]:
    """What begins with the next member, and a sample of what stood before it; nothing where there is none."""
    between = b""
    while True:
        start = rest.find(magic)
        if start >= 0:
            return rest[start:], between + rest[:start]
        kept = rest[-len(magic) + 1 :]
        between = between or rest[: len(rest) - len(kept)].strip(b"\0")[:1]
        chunk = next(chunks, b"")
        if not chunk:
            return b"", between + kept
        rest = kept + chunk


class _Member:
    """One member, as it is unpacked; then `rest` is what follows it.

    `tried` are the bytes to look at again if it fails: all that it had, or the last of them.
    """

    def __init__(self, packing: Packing, first: bytes, chunks: Iterator[bytes]) -> None:
        self._decoder = packing.new()
        self._chunks = chunks
        self.rest = b""
        self.tried = first

    def __iter__(self) -> Iterator[bytes]:
        held: list[bytes] = []
        n_held, data = 0, self.tried
        while not self._decoder.eof:
            part = self._decoder.decompress(data, _STEP_BYTES)
            held.append(part)
            n_held += len(part)
            if n_held > _MAX_HELD_BYTES:
                yield b"".join(held)
                held, n_held = [], 0
            data = b""
            if not self._decoder.eof and self._decoder.needs_input:
                data = next(self._chunks, b"")
                if not data:
                    yield b"".join(held)  # what came before the cut is as good as it ever was
                    raise EOFError
                self.tried = self.tried + data if len(self.tried) < _MAX_TRIED_BYTES else data
        self.rest = self._decoder.unused_data
        yield b"".join(held)
