"""Uploads files of an archive in a process of its own, one after the other, and confirms each.

An upload is confirmed when the store says by itself that it holds these bytes: it has the right size, and its ETag is
the MD5 of what was sent. Where an ETag is something else, the object is read back and hashed.

Nothing is overwritten but what this very file has left there before.
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
from orienteer.store.failures import explained
from orienteer.store.object_store import FoundObject, ObjectStore, Place

_PART_BYTES = 8 << 20
_MAX_PARTS = 9_000  # 10,000 are allowed
_NICENESS = 10


def serve(channel: Connection, place: Place) -> None:
    """Upload what is asked for: a path and a size as JSON; the answer has its sha256, or says what went wrong."""
    os.nice(_NICENESS)  # the crawl comes first
    store: ObjectStore | None = None
    while True:
        path, size_bytes = json.loads(channel.recv_bytes())
        try:
            store = store or ObjectStore(place)
            answer = {"sha256": upload(store, Path(path), size_bytes)}
        except OrienteerError as error:
            answer = {"trouble": str(error)}
        channel.send_bytes(json.dumps(answer).encode())


def upload(store: ObjectStore, path: Path, size_bytes: int) -> str:
    """The SHA-256 of a file that is in the store, confirmed; it is sent unless it is there already."""
    part_bytes = max(_PART_BYTES, -(-size_bytes // _MAX_PARTS))
    wanted = _Fingerprint.of(path, size_bytes, part_bytes)
    there = store.find(path.name)
    if there is not None and _is_confirmed(store, path.name, there, wanted):
        return wanted.sha256
    where = store.place.address(path.name)
    if there is not None and there.sha256 != wanted.sha256:
        raise CrawlFolderError(f"{where}: another file is there; choose a prefix of its own for this crawl")
    store.write(path.name, path, wanted.sha256, part_bytes)
    there = store.find(path.name)
    if there is None or not _is_confirmed(store, path.name, there, wanted):
        held = "nothing" if there is None else f"{there.size_bytes:,} bytes"
        raise CrawlFolderError(f"{where}: not what was sent arrived ({held}, of {size_bytes:,} bytes)")
    return wanted.sha256


class _Fingerprint(NamedTuple):
    size_bytes: int
    sha256: str
    e_tags: tuple[str, str]  # of an object sent as a whole, and in parts

    @classmethod
    def of(cls, path: Path, size_bytes: int, part_bytes: int) -> _Fingerprint:
        whole, content = hashlib.md5(usedforsecurity=False), hashlib.sha256()
        parts: list[bytes] = []
        n_bytes = 0
        with explained(path), os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
            while part := file.read(part_bytes):
                whole.update(part)
                content.update(part)
                parts.append(hashlib.md5(part, usedforsecurity=False).digest())
                n_bytes += len(part)
        if n_bytes != size_bytes:
            raise CrawlFolderError(f"{path}: it holds {n_bytes:,} bytes, it should hold {size_bytes:,}")
        in_parts = hashlib.md5(b"".join(parts), usedforsecurity=False).hexdigest()
        return cls(n_bytes, content.hexdigest(), (whole.hexdigest(), f"{in_parts}-{len(parts)}"))


def _is_confirmed(store: ObjectStore, name: str, there: FoundObject, wanted: _Fingerprint) -> bool:
    if there.size_bytes != wanted.size_bytes:
        return False
    if there.e_tag in wanted.e_tags:
        return True
    content = hashlib.sha256()
    for block in store.blocks(name):
        content.update(block)
    return content.hexdigest() == wanted.sha256
