"""The gzip members of an archive file, one per record; and the data after its acknowledged end.

Damaged members are skipped. After the acknowledged end there is the tail of a killed crawl, or acknowledged pages:
every record names the end that was acknowledged when it was written. In the tail of a killed crawl that is the end
stored in the database, since nothing was acknowledged after it. A record that names a later end shows that the database
is older than the archive (a restored backup, say): truncating the tail would then lose acknowledged pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from isal import igzip_lib, isal_zlib

from orienteer.warc.records import RecordCounts, records

ACKNOWLEDGED = "Orienteer-Acknowledged"  # a header of records: number and size of the last file at that time
_KINDS = ("response", "revisit", "resource")
_MAX_UNNAMED_BYTES = 64 << 20  # records of older versions name no end; no crawl writes more between two commits
MAX_RECORD_BYTES = 64 << 20  # unpacked: more than any crawl stores of a page
_GZIP = 31  # wbits of zlib: gzip header, largest window
_MAGIC = b"\x1f\x8b\x08"
_READ_BYTES = 1 << 16
_STEP_BYTES = 1 << 20
_MAX_FAILURES = 1_000  # the magic bytes may occur in any data: after this many false starts in a row skip _READ_BYTES


def exceeds_crash_tail(path: Path, start: int, end: tuple[int, int]) -> bool:
    """Return whether a file holds more after `start` than the tail of a killed crawl; `end` is acknowledged."""
    n_unnamed = 0
    contents = (member.content for member in whole_members(path, start))
    for record in records(contents, _KINDS, RecordCounts(), path.name):
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


class Member(NamedTuple):
    """A complete member: its offset, its bytes, and its decompressed content."""

    offset: int
    packed: bytes
    content: bytes


def whole_members(path: Path, start: int = 0, end: int | None = None) -> Iterator[Member]:
    """Yield the complete members between two offsets of a file, in order."""
    with path.open("rb") as file:
        last = path.stat().st_size if end is None else end
        offset, n_failures = start, 0
        while offset < last:
            member = _member_at(file, offset, last)
            if member is not None:
                yield member
                offset, n_failures = offset + len(member.packed), 0
            else:
                n_failures += 1
                offset = _next_magic(file, offset + (1 if n_failures % _MAX_FAILURES else _READ_BYTES), last)


def unpacked_member(member: bytes) -> bytes:
    """Return the content of exactly one member; ValueError if it is incomplete or larger than MAX_RECORD_BYTES."""
    decoder = isal_zlib.decompressobj(_GZIP)
    try:
        content: bytes = decoder.decompress(member, MAX_RECORD_BYTES + 1)
    except isal_zlib.error as error:  # type: ignore[misc]  # isal says `error` were an instance
        raise ValueError(str(error)) from None
    if not decoder.eof or decoder.unused_data or len(content) > MAX_RECORD_BYTES:
        raise ValueError("it is not exactly one gzip member, or too large")
    return content


def _member_at(file: BinaryIO, offset: int, last: int) -> Member | None:
    """Return the member that begins at `offset`; None if there is no complete one."""
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    packed, content, n_bytes = bytearray(), [], 0
    file.seek(offset)
    try:
        while not decoder.eof:
            chunk = file.read(min(_READ_BYTES, last - offset - len(packed))) if decoder.needs_input else b""
            if decoder.needs_input and not chunk:
                return None
            packed += chunk
            content.append(decoder.decompress(chunk, _STEP_BYTES))
            n_bytes += len(content[-1])
            if n_bytes > MAX_RECORD_BYTES:
                return None
    except (igzip_lib.IsalError, EOFError, ValueError):  # type: ignore[misc]  # isal says it were an instance
        return None
    return Member(offset, bytes(packed[: len(packed) - len(decoder.unused_data)]), b"".join(content))


def _next_magic(file: BinaryIO, offset: int, last: int) -> int:
    """Return the next offset at which a member may begin, or the end."""
    file.seek(offset)
    overlap = b""
    while offset < last and (chunk := file.read(min(_READ_BYTES, last - offset))):
        found = (overlap + chunk).find(_MAGIC)
        if found >= 0:
            return offset - len(overlap) + found
        offset += len(chunk)
        overlap = (overlap + chunk)[-len(_MAGIC) + 1 :]
    return last
