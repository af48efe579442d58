"""The process that uploads files of an archive one by one, and confirms each.

An upload is confirmed if the store reports the right size and an ETag equal to the MD5 of what was sent. If the ETag
has another form, the object is read back and hashed.

An existing object is overwritten only if its metadata show that it came from the same file.
"""

from __future__ import annotations

import hashlib
import json
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.files.plain import open_plain
from orienteer.store.failures import map_disk_errors
from orienteer.store.object_store import FoundObject, ObjectStore, StoreLocation

_PART_BYTES = 8 << 20
_MAX_PARTS = 9_000  # 10,000 are allowed
_NICENESS = 10


def serve(channel: Connection, place: StoreLocation) -> None:
    """Upload each file received as JSON, a path and a size; the response holds its sha256, or an error."""
    os.nice(_NICENESS)  # the crawl comes first
    store: ObjectStore | None = None
    while True:
        path, size_bytes = json.loads(channel.recv_bytes())
        try:
            store = store or ObjectStore(place)
            response = {"sha256": upload(store, Path(path), size_bytes)}
        except OrienteerError as error:
            response = {"problem": str(error)}
        channel.send_bytes(json.dumps(response).encode())


def upload(store: ObjectStore, path: Path, size_bytes: int) -> str:
    """Upload a file unless the store has it, and return its SHA-256 when the upload is confirmed."""
    part_bytes = max(_PART_BYTES, -(-size_bytes // _MAX_PARTS))
    expected = _Fingerprint.of(path, size_bytes, part_bytes)
    stored = store.find(path.name)
    if stored is not None and _is_confirmed(store, path.name, stored, expected):
        return expected.sha256
    where = store.location.address(path.name)
    if stored is not None and stored.sha256 != expected.sha256:
        raise CrawlFolderError(f"{where}: another file has this name; choose another prefix for this crawl")
    store.write(path.name, path, expected.sha256, part_bytes)
    stored = store.find(path.name)
    if stored is None or not _is_confirmed(store, path.name, stored, expected):
        held = "nothing" if stored is None else f"{stored.size_bytes:,} bytes"
        raise CrawlFolderError(f"{where}: the object differs from the file ({held} stored, {size_bytes:,} sent)")
    return expected.sha256


class _Fingerprint(NamedTuple):
    size_bytes: int
    sha256: str
    e_tags: tuple[str, str]  # of a single upload, and of a multipart upload

    @classmethod
    def of(cls, path: Path, size_bytes: int, part_bytes: int) -> _Fingerprint:
        whole, content = hashlib.md5(usedforsecurity=False), hashlib.sha256()
        digests: list[bytes] = []
        n_bytes = 0
        with map_disk_errors(path), os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
            while part := file.read(part_bytes):
                whole.update(part)
                content.update(part)
                digests.append(hashlib.md5(part, usedforsecurity=False).digest())
                n_bytes += len(part)
        if n_bytes != size_bytes:
            raise CrawlFolderError(f"{path}: its size is {n_bytes:,} bytes, expected {size_bytes:,}")
        multipart = hashlib.md5(b"".join(digests), usedforsecurity=False).hexdigest()
        return cls(n_bytes, content.hexdigest(), (whole.hexdigest(), f"{multipart}-{len(digests)}"))


def _is_confirmed(store: ObjectStore, name: str, stored: FoundObject, expected: _Fingerprint) -> bool:
    if stored.size_bytes != expected.size_bytes:
        return False
    if stored.e_tag in expected.e_tags:
        return True
    content = hashlib.sha256()
    for block in store.blocks(name):
        content.update(block)
    return content.hexdigest() == expected.sha256
