"""Response records with the payload digest of the rendered page, a bug of version 0.2.0.

WARC-Payload-Digest must be the digest of the payload of the same record. For rendered pages 0.2.0 wrote the digest of
the rendered document, which is archived in another record (`urn:dom:`). Only records whose stated digest is that of a
rendered document of the same URL are corrected. Any other wrong digest may mean that the payload was changed.

A record is corrected in place: it is compressed better than before, and a comment in the header of its gzip member
fills the remaining space. So no offset changes, neither in the archive nor in crawl.db.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path

from orienteer.files.plain import expect_plain, replaced_inside, sync_folder
from orienteer.responses.rendered import rendered_document_of
from orienteer.store.archive_members import unpacked_member, whole_members
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import FolderView
from orienteer.store.record import DOM, PAYLOAD_DIGEST, page_of, resource_of, stated_digest

_HAS_COMMENT = 0x10  # a flag in the header of a gzip member
_HEADER = b"\x1f\x8b\x08%c\0\0\0\0\x02\xff"  # deflate, these flags, no time, compressed best, unknown system
_BEST = 9


class WrongDigests:
    """Scans the records of an archive one by one, and collects those that state a wrong digest."""

    def __init__(self) -> None:
        self._suspects: dict[tuple[int, int], tuple[str, str]] = {}  # URL and stated digest, by file and offset
        self._rendered: set[tuple[str, str]] = set()  # URLs and digests of rendered documents

    def scan(self, file: int, offset: int, member: bytes) -> None:
        """Check the next record, a gzip member at this offset."""
        try:
            page = page_of(member)
        except ValueError:
            self._rendered |= _rendered_document(member)
        else:
            if page.payload_digest != _digest(page.body):
                self._suspects[file, offset] = page.url, page.payload_digest

    def scan_file(self, path: Path, file: int) -> None:
        """Check all records of a file."""
        for member in whole_members(path):
            self.scan(file, member.offset, member.packed)

    def positions(self) -> list[tuple[int, int]]:
        """Return file and offset of the records that state the digest of a rendered document."""
        return [position for position, stated in self._suspects.items() if stated in self._rendered]


def n_wrong_digests(folder: FolderView) -> int:
    """Return the number of such records in the local files of an archive."""
    if not folder.database.rendered.tally().n_pages:
        return 0
    wrong = WrongDigests()
    for number in folder.archive.numbers():
        path = folder.archive.path(number)
        with map_disk_errors(path):
            if path.exists():
                wrong.scan_file(path, number)
    return len(wrong.positions())


def states_document_digest(member: bytes, dom_member: bytes) -> bool:
    """Return whether a response record states the digest of this rendered document instead of its own payload's."""
    page = page_of(member)
    is_wrong = page.payload_digest != _digest(page.body)
    return is_wrong and (page.url, page.payload_digest) in _rendered_document(dom_member)


def with_own_digest(member: bytes, size_bytes: int | None = None) -> bytes:
    """Return the response record with the digest of its own payload: a gzip member, of `size_bytes` if given.

    ValueError if it cannot be compressed to that size.
    """
    page = page_of(member)
    old, new = (f"{PAYLOAD_DIGEST}: {digest}".encode() for digest in (page.payload_digest, _digest(page.body)))
    return _packed(unpacked_member(member).replace(old, new, 1), size_bytes)


def correct_file(path: Path, offsets: Iterable[int]) -> int:
    """Correct the records at these offsets and return their number. The file is replaced atomically."""
    expect_plain(path, alone=True)
    n_corrected = 0
    with replaced_inside(path) as new:
        shutil.copyfile(path, new)
        shutil.copymode(path, new)
        with new.open("r+b") as file:
            for offset in offsets:
                member = next(whole_members(path, offset)).packed
                try:
                    corrected = with_own_digest(member, len(member))
                except ValueError:
                    continue
                file.seek(offset)
                file.write(corrected)
                n_corrected += 1
            file.flush()
            os.fsync(file.fileno())
    sync_folder(path.parent)
    return n_corrected


def _digest(payload: bytes) -> str:
    return stated_digest(hashlib.sha1(payload).digest())


def _rendered_document(member: bytes) -> set[tuple[str, str]]:
    """Return the URL and the digest of the rendered document in a record; empty if it holds none."""
    try:
        resource = resource_of(member)
    except ValueError:
        return set()
    if not resource.uri.startswith(DOM):
        return set()
    url = resource.uri.removeprefix(DOM)
    return {(url, _digest(rendered_document_of(resource.body, url).document))}


def _packed(content: bytes, size_bytes: int | None) -> bytes:
    """Return a gzip member with this content, padded by a comment."""
    packing = zlib.compressobj(_BEST, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    body = packing.compress(content) + packing.flush()
    body += zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    n_free = 0 if size_bytes is None else size_bytes - len(body) - len(_HEADER % 0)
    if n_free < 0:
        raise ValueError(f"the record does not fit into {size_bytes} bytes")
    comment = b" " * (n_free - 1) + b"\0" if n_free else b""
    return _HEADER % (_HAS_COMMENT if comment else 0) + comment + body
