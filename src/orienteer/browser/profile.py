"""The folder that a browser writes to: private, and removed when it ends.

Whoever is killed cannot remove it. So each folder has a lock that is held while its owner lives, and the next who makes
one removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "orienteer-browser-"
_LOCK = "owner.lock"
_NEW_S = 60.0  # one that is not locked yet


class Profile:
    def __init__(self) -> None:
        remove_abandoned()
        self.folder = tempfile.mkdtemp(prefix=PREFIX)
        self._lock = os.open(os.path.join(self.folder, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        _removed(self.folder)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def remove_abandoned(now_s: float | None = None) -> None:
    """Remove the folders of this user whose owners are gone."""
    now_s = time.time() if now_s is None else now_s
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or now_s - status.st_ctime < _NEW_S or folder.is_symlink():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _removed(str(folder))
            finally:
                os.close(lock)


def _removed(folder: str) -> None:
    """A process that was killed may write for a moment more."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
