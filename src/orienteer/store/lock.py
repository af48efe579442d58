"""The right to write to a crawl folder: one process at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain_folder, open_plain
from orienteer.processes.lock_holder import holder
from orienteer.store.failures import explained

LOCK = "crawl.lock"
# That we write to in a folder.
INNER_FOLDERS = frozenset(
    ("archive", "captures", "checkpoints", "index", "jobs", "outside", "survey", "survey-on-topic")
)


class FolderLock:
    """The right to write to a folder; it ends with the process, however that ends.

    A folder with links in it, or other things that are no plain files, is refused before anything is written.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with explained(path):
            expect_plain_folder(folder, alone=True, inner=INNER_FOLDERS)
            self._descriptor: int | None = open_plain(path, os.O_RDWR | os.O_CREAT)
        try:
            with explained(path):
                self._take(folder, self._descriptor)
        except BaseException:
            self.release()
            raise

    def _take(self, folder: Path, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise CrawlFolderError(f"{folder} is in use by process {holder or '(unknown)'}") from None
        with suppress(OSError):  # only for the message to others: a full disk is no reason not to open
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """A second time does nothing: the number may be another file's by then."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def holder_of(folder: Path) -> int | None:
    """The process that is writing to a crawl folder, 0 if it does not say which; None if there is none."""
    path = folder / LOCK
    if not path.is_file():
        return None
    with explained(path):
        return holder(path)
