"""The files of an archive with their digests: read here, or as they were noted at their upload."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing

from orienteer.certificates.facts import NOTED, READ, ArchiveFile
from orienteer.errors import OrienteerError
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive
from orienteer.wording import plain

_BLOCK_BYTES = 1 << 20
MISSING = "the file is missing"


def archive_files(archive: Archive, read_stored: bool = False, progress: Progress = silent) -> tuple[ArchiveFile, ...]:
    """All files up to the acknowledged end. With `read_stored`, those in object storage are read there."""
    end = archive.end
    n_files = end.file + (end.size_bytes > 0)
    found = []
    for number in range(n_files):
        size_bytes = end.size_bytes if number == end.file else _size_of(archive, number)
        found.append(archive_file(archive, number, size_bytes, read_stored))
        progress("reading the archive", number + 1, n_files)
    return tuple(found)


def archive_file(archive: Archive, number: int, size_bytes: int, read_stored: bool = False) -> ArchiveFile:
    """The first bytes of a file, with their digest; with an empty one and the reason where there is none."""
    name, sha256, known_by = archive.path(number).name, "", MISSING
    stored = archive.stored.files.get(number)
    try:
        if archive.path(number).exists():
            sha256, known_by = _digest(_local_blocks(archive, number), size_bytes), READ
        elif stored is not None and read_stored:
            archive.stored.expect_allowed(number)
            blocks = archive.remote.store_of(stored.place).blocks(name)
            sha256, known_by = _digest(blocks, size_bytes), READ
        elif stored is not None and archive.stored.is_ours and stored.size_bytes == size_bytes:
            sha256, known_by = stored.sha256, NOTED
        elif stored is not None:
            known_by = "it is in object storage, and was not read there"
    except (OSError, OrienteerError) as error:
        known_by = plain(str(error), 300)
    if known_by == READ and not sha256:
        known_by = f"it is shorter than {size_bytes:,} bytes"
    return ArchiveFile(name, size_bytes, sha256, known_by)


def _digest(blocks: Iterator[bytes], size_bytes: int) -> str:
    """Of the first bytes; "" where there are not so many."""
    made, left = hashlib.sha256(), size_bytes
    with closing(blocks):  # type: ignore[type-var]  # generators can be closed
        for block in blocks:
            made.update(block[:left])
            left -= min(left, len(block))
            if not left:
                break
    return "" if left else made.hexdigest()


def _local_blocks(archive: Archive, number: int) -> Iterator[bytes]:
    descriptor = os.open(archive.path(number), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _size_of(archive: Archive, number: int) -> int:
    path, stored = archive.path(number), archive.stored.files.get(number)
    if path.exists():
        return path.stat().st_size
    return 0 if stored is None else stored.size_bytes
