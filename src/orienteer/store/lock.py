"""The lock of a crawl folder: only one process may write to it.

A lock is taken by `flock` on a file that contains the pid of its holder. The kernel releases it when the last process
that inherited the open file has ended; the pid alone proves nothing, since it may be reused.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain_folder, open_plain
from orienteer.store.failures import map_disk_errors

_PROCESSES = Path("/proc")
LOCK = "crawl.lock"
REFRESH_LOCK = "refresh.lock"  # held from the check whether a refresh is due until its report is delivered
# The folders inside a crawl folder that are written to.
INNER_FOLDERS = frozenset(
    ("archive", "captures", "checkpoints", "index", "jobs", "outside", "survey", "survey-on-topic")
)


def holder(path: Path) -> int | None:
    """Return the pid of the process that holds the lock, 0 if it is unknown; None if the lock is free."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(descriptor, 20, 0).strip()
        return int(pid) if pid.isdigit() else 0
    finally:
        os.close(descriptor)
    return None


@contextmanager
def signaller(process: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that sends signals to a process; with pidfd never to a later process with the same pid."""
    if not hasattr(os, "pidfd_open"):
        yield lambda number: os.kill(process, number)
        return
    descriptor = os.pidfd_open(process)
    try:
        yield lambda number: signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def has_open(process: int, path: Path) -> bool:
    """Whether a process has a file open; True on systems without /proc."""
    opened = _PROCESSES / str(process) / "fd"
    if not opened.parent.exists():
        return not (_PROCESSES / "self").exists()
    expected = path.stat()
    for descriptor in opened.iterdir():
        try:
            status = descriptor.stat()
        except FileNotFoundError:  # closed just now
            continue
        if (status.st_dev, status.st_ino) == (expected.st_dev, expected.st_ino):
            return True
    return False


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
