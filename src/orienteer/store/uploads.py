"""Uploads complete files of an archive to an object store during the crawl.

    uploads.poll(now)      after each acknowledgement: never waits
    uploads.finish(...)    at the end: waits until all files are uploaded, or the store fails

A separate process does the work (see `upload_process`). A file is listed when its upload is confirmed (see
`stored_files`), and then deleted locally if the settings say so. After a kill the next run continues. A failed upload
is retried with exponential back-off, and reported in one line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

from orienteer.errors import OrienteerError
from orienteer.processes.child import Child
from orienteer.store.archive import Archive
from orienteer.store.failures import map_disk_errors
from orienteer.store.object_store import StoreLocation
from orienteer.store.stored_files import StoredFile
from orienteer.store.upload_process import serve
from orienteer.wording import plain

_BACK_OFF_S, _MAX_BACK_OFF_S = 5.0, 300.0
_TICK_S = 0.1


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
