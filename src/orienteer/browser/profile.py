"""The profile folder of a browser: private, and removed when the browser ends.

A process that is killed cannot remove its folder. So each folder has a lock file that its owner holds, and each new
profile first removes the folders whose lock is free.
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
_NEW_S = 60.0  # a younger folder may not be locked yet


class Profile:
    def __init__(self) -> None:
        remove_abandoned()
        self.folder = tempfile.mkdtemp(prefix=PREFIX)
        self._lock = os.open(os.path.join(self.folder, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        _remove_folder(self.folder)
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
                _remove_folder(str(folder))
            finally:
                os.close(lock)


def _remove_folder(folder: str) -> None:
    """Remove a folder; a killed process may still be writing, so try three times."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
