"""Text files that may be compressed: .gz and .zst are told by the name.

A stream that ends in the middle is an error here. The zstandard reader alone would take it for the end of the file.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from orienteer.errors import GraphFileError
from orienteer.progress import Progress, silent

BLOCK_BYTES = 1 << 23


def byte_blocks(path: Path, progress: Progress = silent) -> Iterator[bytes]:
    """The file's decompressed bytes, block by block; progress is counted in bytes of the file as it lies on disk."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        try:
            for block in _plain(raw, path):
                progress("reading", raw.tell(), size)
                yield block
        except EOFError:
            raise GraphFileError("the compressed file is truncated") from None
        except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise GraphFileError(f"the compressed file is corrupt ({error})") from None


def _plain(raw: BinaryIO, path: Path) -> Iterator[bytes]:
    if path.suffix == ".zst":
        yield from _from_zstandard(raw)
        return
    stream = cast(BinaryIO, gzip.open(raw)) if path.suffix == ".gz" else raw
    while block := stream.read(BLOCK_BYTES):
        yield block


def _from_zstandard(raw: BinaryIO) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor()
    rest = raw.read(BLOCK_BYTES)
    while rest:  # one round per frame
        frame = decompressor.decompressobj(read_across_frames=False)
        while not frame.eof:
            if not rest:
                raise EOFError
            if block := frame.decompress(rest):
                yield block
            rest = frame.unused_data if frame.eof else raw.read(BLOCK_BYTES)
        rest = rest or raw.read(BLOCK_BYTES)


@contextmanager
def byte_writer(path: Path, name: str) -> Iterator[BinaryIO]:
    """A stream to write to `path`, compressed as the ending of `name` says."""
    with path.open("wb") as raw:
        if name.endswith(".gz"):
            # No time stamp: the same graph gives the same file.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                yield cast(BinaryIO, stream)
        elif name.endswith(".zst"):
            with zstandard.ZstdCompressor(level=6).stream_writer(raw, closefd=False) as writer:
                yield cast(BinaryIO, writer)
        else:
            yield raw
