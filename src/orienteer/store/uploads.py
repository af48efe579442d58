"""Sends complete files of an archive to an object store while the crawl goes on.

    uploads.look(now)      whenever something was acknowledged: never waits
    uploads.finish(...)    at the end: waits until all is there, or the store fails

The work is done by a process beside this one (see `upload_process`). A file is noted when its upload is confirmed (see
`stored_files`), and deleted here afterwards, if that is wanted. Killed in between, the next run goes on from what is
there. An upload that fails is tried again, after longer and longer waits; the crawl hears of it in one line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

from orienteer.errors import OrienteerError
from orienteer.processes.child import Child
from orienteer.store.archive import Archive
from orienteer.store.failures import explained
from orienteer.store.object_store import Place
from orienteer.store.stored_files import StoredFile
from orienteer.store.upload_process import serve
from orienteer.wording import plain

_BACK_OFF_S, _MAX_BACK_OFF_S = 5.0, 300.0
_TICK_S = 0.1


class Uploads:
    """The way of an archive's files to `place`; `tell` hears in one line what a person should know."""

    def __init__(self, archive: Archive, place: Place, drop_local: bool) -> None:
        self.place = place
        self.tell: Callable[[str], None] = lambda line: None
        self.n_uploaded = 0  # confirmed since this was made
        self._archive, self._drops = archive, drop_local
        self._child: Child | None = None
        self._under_way: tuple[int, int] | None = None  # the number of a file, and its size
        self._n_failed = 0  # in a row
        self._next_try = 0.0
        self._told = ""  # the trouble that was told last
        self._waiting: list[int] = []
        self._looked_at: object = None
        archive.stored.allow(place)
        if drop_local:
            self._drop(*archive.stored.files)

    @property
    def n_waiting(self) -> int:
        """Files that are complete and not confirmed."""
        self._find_files()
        return len(self._waiting)

    def look(self, now: float) -> None:
        """Hear what has become of an upload, and begin the next one; `now` is a time of any clock that goes on."""
        self._find_files()
        if self._under_way is not None:
            self._hear(now)
        if self._under_way is None and self._waiting and now >= self._next_try:
            self._begin(self._waiting[0], now)

    def finish(self, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Send all that waits. False where something is left: the store failed, or somebody has no more time."""
        self._next_try, self._n_failed = 0.0, 0
        while self.n_waiting and not self._n_failed and not is_stopped():
            self.look(time.monotonic())
            if self._under_way is not None and self._child is not None:
                self._child.channel.poll(_TICK_S)
        return not self.n_waiting

    def close(self) -> None:
        """What is under way is given up; the next run sends it again."""
        if self._child is not None:
            self._child.kill()
            self._child.close()
            self._child = None

    def _find_files(self) -> None:
        seen = self._archive.acknowledged.file, len(self._archive.stored.sealed)
        if seen != self._looked_at:
            self._looked_at = seen
            self._waiting = self._archive.complete_files()

    def _begin(self, number: int, now: float) -> None:
        path = self._archive.path(number)
        try:
            with explained(path):
                size_bytes = path.stat().st_size
            if self._child is None:
                self._child = Child(serve, self.place)
            self._child.channel.send_bytes(json.dumps([str(path), size_bytes]).encode())
            self._under_way = number, size_bytes
        except (OrienteerError, OSError) as error:
            self._failed(str(error) if isinstance(error, OrienteerError) else self._ended(), now)

    def _hear(self, now: float) -> None:
        assert self._child is not None
        assert self._under_way is not None
        try:
            if not self._child.channel.poll():
                return
            answer = json.loads(self._child.channel.recv_bytes())
        except (EOFError, OSError):
            answer = {"trouble": self._ended()}
        (number, size_bytes), self._under_way = self._under_way, None
        if "trouble" in answer:
            return self._failed(answer["trouble"], now)
        self._n_failed = 0
        self._archive.stored.add(number, StoredFile(self.place, size_bytes, answer["sha256"]))
        self.n_uploaded += 1
        self._waiting.remove(number)
        if self._drops:
            self._drop(number)

    def _ended(self) -> str:
        """The process is gone: why."""
        assert self._child is not None
        why = self._child.why_ended()
        self.close()
        return f"the process that uploads the archive has ended: {plain(why, 200)}"

    def _failed(self, trouble: str, now: float) -> None:
        self._next_try = now + min(_BACK_OFF_S * 2**self._n_failed, _MAX_BACK_OFF_S)
        self._n_failed += 1
        if trouble != self._told:
            self._told = trouble
            self.tell(f"archive not uploaded: {trouble}")
        self._archive.stored.note_trouble(trouble)

    def _drop(self, *numbers: int) -> None:
        """Delete files that are stored elsewhere, as they are here."""
        if not self._archive.stored.can_be_kept:
            return  # nobody could read them any more
        for number in numbers:
            path, stored = self._archive.path(number), self._archive.stored.files[number]
            with explained(path), suppress(FileNotFoundError):
                if path.stat().st_size == stored.size_bytes:
                    path.unlink()
