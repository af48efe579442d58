"""Text files that may be compressed, by the extensions .gz and .zst.

Blocks are of bounded size however well the file is packed, and a stream that ends in the middle is an error.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from orienteer.errors import GraphFileError, InputError, OrienteerError
from orienteer.progress import Progress, silent

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK_BYTES = 1 << 23


def byte_blocks(path: Path, progress: Progress = silent) -> Iterator[bytes]:
    """Yield the file's decompressed bytes, block by block; progress counts bytes of the file on disk."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        try:
            stream = _plain(raw, path.name)
            while block := stream.read(BLOCK_BYTES):
                progress("reading", raw.tell(), size)
                yield block
        except EOFError:
            raise GraphFileError("the compressed file is truncated") from None
        except (gzip.BadGzipFile, zlib.error, zstd.ZstdError) as error:
            raise GraphFileError(f"the compressed file is corrupt ({error})") from None


def _plain(raw: BinaryIO, name: str) -> BinaryIO:
    if name.lower().endswith(".zst"):
        return cast(BinaryIO, zstd.ZstdFile(raw))
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if name.lower().endswith(".gz") else raw


@contextmanager
def byte_writer(path: Path, name: str) -> Iterator[BinaryIO]:
    """Yield a stream to write to `path`, compressed by the extension of `name`."""
    with path.open("wb") as raw:
        if name.lower().endswith(".gz"):
            # No time stamp: the same graph gives the same file.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        elif name.lower().endswith(".zst"):
            with zstd.ZstdFile(raw, "wb", level=6) as packed_zst:
                yield cast(BinaryIO, packed_zst)
        else:
            yield raw


def text_of(path: Path, name: str, absent: str) -> str:
    """Read a whole text file. An error is an InputError about `name`, with the text `absent` if there is no file."""
    try:
        return b"".join(byte_blocks(path)).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{name}: {absent}") from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: this is no text file") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from None
    except OrienteerError as error:
        raise InputError(f"{name}: {error}") from None
