"""Data after the acknowledged end of an archive: the tail of a killed crawl, or acknowledged pages.

Every record names the end that was acknowledged when it was written. In the tail of a killed crawl that is the end
stored in the database, since nothing was acknowledged after it. A record that names a later end shows that the database
is older than the archive (a restored backup, say): truncating the tail would then lose acknowledged pages.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, cast

from orienteer.warc.packed import blocks
from orienteer.warc.records import RecordCounts, records

ACKNOWLEDGED = "Orienteer-Acknowledged"  # a header of records: number and size of the last file at that time
_KINDS = ("response", "revisit", "resource")
_MAX_UNNAMED_BYTES = 64 << 20  # records of older versions name no end; no crawl writes more between two commits


def exceeds_crash_tail(path: Path, start: int, end: tuple[int, int]) -> bool:
    """Return whether a file holds more after `start` than the tail of a killed crawl; `end` is acknowledged."""
    n_unnamed = 0
    with path.open("rb") as file:
        tail = cast(BinaryIO, _From(file, start))
        for record in records(blocks(tail, path.name, lambda _: None), _KINDS, RecordCounts(), path.name):
            named = acknowledged_in(record.headers.get(ACKNOWLEDGED.lower(), ""))
            if named is None:
                n_unnamed += len(record.block)
            if n_unnamed > _MAX_UNNAMED_BYTES or (named is not None and named > end):
                return True
    return False


def acknowledged_text(end: tuple[int, int]) -> str:
    """Return the value of the header.

    >>> acknowledged_in(acknowledged_text((3, 17)))
    (3, 17)
    """
    return f"{end[0]} {end[1]}"


def acknowledged_in(text: str) -> tuple[int, int] | None:
    """Return the end that a header names; None if it is malformed."""
    file, _, size = text.partition(" ")
    if not (file.isascii() and file.isdigit() and size.isascii() and size.isdigit()) or len(text) > 40:
        return None
    return int(file), int(size)


class _From(io.RawIOBase):
    """A file that begins at an offset of another."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._start = file, start
        file.seek(start)

    def read(self, n_bytes: int = -1) -> bytes:
        return self._file.read(n_bytes)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(self._start + offset) - self._start
