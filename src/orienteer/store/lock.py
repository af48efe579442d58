"""The lock of a crawl folder: only one process may write to it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain_folder, open_plain
from orienteer.processes.lock_holder import holder
from orienteer.store.failures import map_disk_errors

LOCK = "crawl.lock"
REFRESH_LOCK = "refresh.lock"  # held from the check whether a refresh is due until its report is delivered
# The folders inside a crawl folder that are written to.
INNER_FOLDERS = frozenset(
    ("archive", "captures", "checkpoints", "index", "jobs", "outside", "survey", "survey-on-topic")
)


class FolderLock:
    """The write lock of a folder; the system releases it when the process ends.

    A folder that contains symbolic links or special files is refused before anything is written.
    """

    def __init__(self, folder: Path, name: str = LOCK) -> None:
        path, self._name = folder / name, name
        with map_disk_errors(path):
            expect_plain_folder(folder, alone=True, inner=INNER_FOLDERS)
            self._descriptor: int | None = open_plain(path, os.O_RDWR | os.O_CREAT)
        try:
            with map_disk_errors(path):
                self._take(folder, self._descriptor)
        except BaseException:
            self.release()
            raise

    def _take(self, folder: Path, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            hint = f"; `orienteer stop {folder}` stops it" if self._name == LOCK else ""
            raise CrawlFolderError(f"{folder} is in use by process {holder or '(unknown)'}{hint}") from None
        with suppress(OSError):  # only for messages of other processes: a full disk must not prevent opening
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Release the lock. A second call does nothing: the descriptor may belong to another file by then."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def holder_of(folder: Path, name: str = LOCK) -> int | None:
    """Return the process that holds the lock, 0 if it is unknown; None if there is none."""
    path = folder / name
    if not path.is_file():
        return None
    with map_disk_errors(path):
        return holder(path)
