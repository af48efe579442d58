"""Uploads complete files of an archive to an object store during the crawl.

    uploads.poll(now)      after each acknowledgement: never waits
    uploads.finish(...)    at the end: waits until all files are uploaded, or the store fails

A separate process does the work. It confirms an upload if the store reports the right size and an ETag equal to the MD5
of what was sent; if the ETag has another form, the object is read back and hashed. An existing object is overwritten
only if its metadata show that it came from the same file.

A file is listed when its upload is confirmed (see `stored_files`), and then deleted locally if the settings say so.
After a kill the next run continues. A failed upload is retried with exponential back-off, and reported in one line.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.files.plain import open_plain
from orienteer.processes.child import Child
from orienteer.store.archive import Archive
from orienteer.store.failures import map_disk_errors
from orienteer.store.object_store import FoundObject, ObjectStore, StoreLocation
from orienteer.store.stored_files import StoredFile
from orienteer.wording import plain

_BACK_OFF_S, _MAX_BACK_OFF_S = 5.0, 300.0
_TICK_S = 0.1


_PART_BYTES = 8 << 20
_MAX_PARTS = 9_000  # 10,000 are allowed
_NICENESS = 10


class Uploads:
    """The uploads of an archive's files to `location`; `report` is called with one-line messages for the user."""

    def __init__(self, archive: Archive, location: StoreLocation, drop_local: bool) -> None:
        self.location = location
        self.report: Callable[[str], None] = lambda line: None
        self.n_uploaded = 0  # confirmed since this was made
        self._archive, self._drops = archive, drop_local
        self._child: Child | None = None
        self._in_flight: tuple[int, int] | None = None  # the number of a file, and its size
        self._n_failed = 0  # in a row
        self._next_try = 0.0
        self._reported = ""  # the last error that was reported
        self._waiting: list[int] = []
        self._checked_state: object = None
        archive.stored.allow(location)
        if drop_local:
            self._drop(*archive.stored.files)

    @property
    def n_waiting(self) -> int:
        """The number of files that are complete and not confirmed."""
        self._find_files()
        return len(self._waiting)

    def poll(self, now: float) -> None:
        """Receive the result of an upload, and begin the next one; `now` is the time of any monotonic clock."""
        self._find_files()
        if self._in_flight is not None:
            self._receive(now)
        if self._in_flight is None and self._waiting and now >= self._next_try:
            self._begin(self._waiting[0], now)

    def finish(self, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Upload all waiting files. False if some are left: the store failed, or `is_stopped` returned True."""
        self._next_try, self._n_failed = 0.0, 0
        while self.n_waiting and not self._n_failed and not is_stopped():
            self.poll(time.monotonic())
            if self._in_flight is not None and self._child is not None:
                self._child.channel.poll(_TICK_S)
        return not self.n_waiting

    def close(self) -> None:
        """Abandon the upload in flight; the next run repeats it."""
        if self._child is not None:
            self._child.kill()
            self._child.close()
            self._child = None

    def _find_files(self) -> None:
        state = self._archive.acknowledged.file, len(self._archive.stored.sealed)
        if state != self._checked_state:
            self._checked_state = state
            self._waiting = self._archive.complete_files()

    def _begin(self, number: int, now: float) -> None:
        path = self._archive.path(number)
        try:
            with map_disk_errors(path):
                size_bytes = path.stat().st_size
            if self._child is None:
                self._child = Child(serve, self.location)
            self._child.channel.send_bytes(json.dumps([str(path), size_bytes]).encode())
            self._in_flight = number, size_bytes
        except (OrienteerError, OSError) as error:
            self._failed(str(error) if isinstance(error, OrienteerError) else self._ended(), now)

    def _receive(self, now: float) -> None:
        assert self._child is not None
        assert self._in_flight is not None
        try:
            if not self._child.channel.poll():
                return
            response = json.loads(self._child.channel.recv_bytes())
        except (EOFError, OSError):
            response = {"problem": self._ended()}
        (number, size_bytes), self._in_flight = self._in_flight, None
        if "problem" in response:
            return self._failed(response["problem"], now)
        self._n_failed = 0
        self._archive.stored.add(number, StoredFile(self.location, size_bytes, response["sha256"]))
        self.n_uploaded += 1
        self._waiting.remove(number)
        if self._drops:
            self._drop(number)

    def _ended(self) -> str:
        """Return why the process has ended."""
        assert self._child is not None
        why = self._child.why_ended()
        self.close()
        return f"the process that uploads the archive has ended: {plain(why, 200)}"

    def _failed(self, problem: str, now: float) -> None:
        self._next_try = now + min(_BACK_OFF_S * 2**self._n_failed, _MAX_BACK_OFF_S)
        self._n_failed += 1
        if problem != self._reported:
            self._reported = problem
            self.report(f"archive not uploaded: {problem}")
        self._archive.stored.record_problem(problem)

    def _drop(self, *numbers: int) -> None:
        """Delete local files that are stored with the same size."""
        if not self._archive.stored.can_be_signed:
            return  # without a signed list the files could not be read later
        for number in numbers:
            path, stored = self._archive.path(number), self._archive.stored.files[number]
            with map_disk_errors(path), suppress(FileNotFoundError):
                if path.stat().st_size == stored.size_bytes:
                    path.unlink()


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
