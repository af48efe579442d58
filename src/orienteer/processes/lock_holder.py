"""Find the process that holds a lock file, and send signals to that process only.

A lock is taken by `flock` on a file that contains the pid of its holder. The kernel releases it when the last process
that inherited the open file has ended; the pid alone proves nothing, since it may be reused.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PROCESSES = Path("/proc")


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
