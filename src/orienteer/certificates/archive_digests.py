"""The files of an archive with their digests, read now, or stored at their upload."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing

from orienteer.certificates.facts import NOTED, READ, CertifiedFile
from orienteer.errors import OrienteerError
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive
from orienteer.wording import plain

_BLOCK_BYTES = 1 << 20
MISSING = "the file is missing"


def archive_files(
    archive: Archive, read_stored: bool = False, progress: Progress = silent
) -> tuple[CertifiedFile, ...]:
    """Return all files up to the acknowledged end. With `read_stored`, those in object storage are read, too."""
    end = archive.end
    n_files = end.file + (end.size_bytes > 0)
    files = []
    for number in range(n_files):
        size_bytes = end.size_bytes if number == end.file else _size_of(archive, number)
        files.append(archive_file(archive, number, size_bytes, read_stored))
        progress("reading the archive", number + 1, n_files)
    return tuple(files)


def archive_file(archive: Archive, number: int, size_bytes: int, read_stored: bool = False) -> CertifiedFile:
    """Return the digest of the first bytes of a file; or an empty digest and the reason."""
    name, sha256, known_by = archive.path(number).name, "", MISSING
    stored = archive.stored.files.get(number)
    try:
        if archive.path(number).exists():
            sha256, known_by = _digest(_local_blocks(archive, number), size_bytes), READ
        elif stored is not None and read_stored:
            archive.stored.expect_allowed(number)
            blocks = archive.remote.store_of(stored.location).blocks(name)
            sha256, known_by = _digest(blocks, size_bytes), READ
        elif stored is not None and archive.stored.is_ours and stored.size_bytes == size_bytes:
            sha256, known_by = stored.sha256, NOTED
        elif stored is not None:
            known_by = "it is in object storage, and was not read there"
    except (OSError, OrienteerError) as error:
        known_by = plain(str(error), 300)
    if known_by == READ and not sha256:
        known_by = f"it is shorter than {size_bytes:,} bytes"
    return CertifiedFile(name, size_bytes, sha256, known_by)


def _digest(blocks: Iterator[bytes], size_bytes: int) -> str:
    """Return the digest of the first bytes; "" if there are fewer."""
    digest, n_left = hashlib.sha256(), size_bytes
    with closing(blocks):  # type: ignore[type-var]  # generators can be closed
        for block in blocks:
            digest.update(block[:n_left])
            n_left -= min(n_left, len(block))
            if not n_left:
                break
    return "" if n_left else digest.hexdigest()


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
