"""The folder of compiled kernels, so that they are compiled once.

It is in the user's cache folder, or in NUMBA_CACHE_DIR; where that cannot be written, it is a temporary folder, deleted
when the process ends. Files in it are run as code. So it must belong to this user, without write access for others, and
a temporary one has an unpredictable name.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

NOT_STORED = "compiled code cannot be cached"  # the beginning of a warning

_given: Path | None = None


def use_folder(path: Path) -> None:
    """Cache kernels in this folder only."""
    global _given
    _given = path


@cache
def folder() -> Path | None:
    """Return the folder of cached kernels; None if there can be none."""
    if _given is not None:
        return _given
    for place in _places():
        if _is_made(place):
            return place
    warnings.warn("no cache folder can be written, so every run compiles again (see NUMBA_CACHE_DIR)", stacklevel=2)
    try:
        scratch = tempfile.mkdtemp(prefix="orienteer-kernels-")
    except OSError:
        return None
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return Path(scratch)


def _places() -> Iterator[Path]:
    if named := os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME"):
        yield Path(named) / "orienteer"
    with suppress(RuntimeError, OSError):
        home = Path.home()
        # Files made by another user, as with sudo, would be an obstacle for the owner of the home.
        if home.stat().st_uid == os.geteuid():
            yield home / ".cache" / "orienteer"


def _is_made(place: Path) -> bool:
    """Make such a folder if needed; return whether only this user can write to it."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        facts = place.lstat()
        is_private = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o022
        if is_private:
            tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return is_private
