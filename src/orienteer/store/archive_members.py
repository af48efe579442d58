"""The gzip members of a file of an archive: one holds one record. What is damaged is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from isal import igzip_lib

MAX_RECORD_BYTES = 64 << 20  # unpacked: more than any crawl keeps of a page
_MAGIC = b"\x1f\x8b\x08"
_READ_BYTES = 1 << 16
_STEP_BYTES = 1 << 20
_MAX_IN_VAIN = 1_000  # the bytes that a member begins with may stand anywhere: they are tried, but not for ever


class Member(NamedTuple):
    """A member that is whole: where it stands, its bytes, and what is packed in them."""

    offset: int
    packed: bytes
    content: bytes


def whole_members(path: Path, start: int = 0, end: int | None = None) -> Iterator[Member]:
    """Those between two places of a file, in order."""
    with path.open("rb") as file:
        last = path.stat().st_size if end is None else end
        offset, n_in_vain = start, 0
        while offset < last:
            member = _member_at(file, offset, last)
            if member is not None:
                yield member
                offset, n_in_vain = offset + len(member.packed), 0
            else:
                n_in_vain += 1
                offset = _next_magic(file, offset + (1 if n_in_vain % _MAX_IN_VAIN else _READ_BYTES), last)


def unpacked_member(member: bytes) -> bytes:
    """What is packed in a member; ValueError where it is not whole, or holds more than any record."""
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        content: bytes = decoder.decompress(member, MAX_RECORD_BYTES + 1)
    except (igzip_lib.IsalError, EOFError) as error:  # type: ignore[misc]  # isal says it were an instance
        raise ValueError(str(error)) from None
    if not decoder.eof or len(content) > MAX_RECORD_BYTES:
        raise ValueError("cut off, or too large")
    return content


def _member_at(file: BinaryIO, offset: int, last: int) -> Member | None:
    """The member that begins here; None where there is none that is whole."""
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
    """Where the next member may begin, or the end."""
    file.seek(offset)
    kept = b""
    while offset < last and (chunk := file.read(min(_READ_BYTES, last - offset))):
        found = (kept + chunk).find(_MAGIC)
        if found >= 0:
            return offset - len(kept) + found
        offset += len(chunk)
        kept = (kept + chunk)[-len(_MAGIC) + 1 :]
    return last
