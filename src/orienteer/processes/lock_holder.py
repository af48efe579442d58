"""Who holds a lock file, and how to send a signal to that process and to no other.

A lock is taken by `flock` on a file that says the number of its holder. It ends with the last process that has the file
open from whoever took it, however that process ends; a number alone proves nothing.
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
    """The process that holds the lock, 0 if it does not say which; None if nobody does."""
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
    """What sends signals to a process, and to no other that has its number later, where the system can tell them."""
    if not hasattr(os, "pidfd_open"):
        yield lambda number: os.kill(process, number)
        return
    descriptor = os.pidfd_open(process)
    try:
        yield lambda number: signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def has_open(process: int, path: Path) -> bool:
    """Whether a process has a file open; True where the system does not tell."""
    opened = _PROCESSES / str(process) / "fd"
    if not opened.parent.exists():
        return not (_PROCESSES / "self").exists()
    wanted = path.stat()
    for descriptor in opened.iterdir():
        try:
            found = descriptor.stat()
        except FileNotFoundError:  # closed just now
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
