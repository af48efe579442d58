"""The right to write to a crawl folder: one process at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.store.failures import explained

LOCK = "crawl.lock"


class FolderLock:
    """The right to write to a folder; it ends with the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with explained(path):
            self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
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
    if not path.exists():
        return None
    with explained(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 20, 0).strip()
            return int(pid) if pid.isdigit() else 0
        finally:
            os.close(descriptor)
    return None
