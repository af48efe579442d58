"""What stands in an archive behind its acknowledged end: the tail of a crawl that was killed, or far more than that.

Every record names the end that was acknowledged when it was written. In the tail of a killed crawl that is the end that
the database knows, since nothing was acknowledged after it. A record that names a later one shows that the database is
older than the archive (a backup that was put back, say): to cut off the tail would then lose acknowledged pages.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, cast

from orienteer.warc.packed import blocks
from orienteer.warc.records import Reading, records

ACKNOWLEDGED = "Orienteer-Acknowledged"  # a header of records: number and size of the last file, when it was written
_KINDS = ("response", "revisit", "resource")
_MAX_UNNAMED_BYTES = 64 << 20  # of records of older versions, which name no end: more than a second of any crawl


def goes_far_on(path: Path, start: int, end: tuple[int, int]) -> bool:
    """Whether a file holds, from `start` on, more than the tail of a crawl that was killed; `end` is acknowledged."""
    n_unnamed = 0
    with path.open("rb") as file:
        tail = cast(BinaryIO, _From(file, start))
        for record in records(blocks(tail, path.name, lambda _: None), _KINDS, Reading(), path.name):
            named = acknowledged_in(record.headers.get(ACKNOWLEDGED.lower(), ""))
            if named is None:
                n_unnamed += len(record.block)
            if n_unnamed > _MAX_UNNAMED_BYTES or (named is not None and named > end):
                return True
    return False


def acknowledged_text(end: tuple[int, int]) -> str:
    """As the header of a record has it.

    >>> acknowledged_in(acknowledged_text((3, 17)))
    (3, 17)
    """
    return f"{end[0]} {end[1]}"


def acknowledged_in(text: str) -> tuple[int, int] | None:
    """The end that a header names; None where it names none."""
    file, _, size = text.partition(" ")
    if not (file.isascii() and file.isdigit() and size.isascii() and size.isdigit()) or len(text) > 40:
        return None
    return int(file), int(size)


class _From(io.RawIOBase):
    """A file from some place on."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._start = file, start
        file.seek(start)

    def read(self, n_bytes: int = -1) -> bytes:
        return self._file.read(n_bytes)

    def seek(self, place: int, whence: int = 0) -> int:
        return self._file.seek(self._start + place) - self._start
