"""Where compiled kernels are kept, so that they are compiled once.

In the user's cache folder, or where NUMBA_CACHE_DIR says; where that cannot be written, in a temporary folder that is
gone when the process ends. What is in such a folder is run as code. So it must belong to this user, nobody else may
write there, and a temporary one has a name that nobody can foresee.
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

NOT_KEPT = "what was compiled cannot be kept"  # how a warning begins that says so

_given: Path | None = None


def use_folder(path: Path) -> None:
    """Keep kernels there, and nowhere else."""
    global _given
    _given = path


@cache
def folder() -> Path | None:
    """Where kernels are kept; None where they cannot be."""
    if _given is not None:
        return _given
    for place in _places():
        if _is_made(place):
            return place
    warnings.warn("no cache folder can be written, so every run compiles anew (see NUMBA_CACHE_DIR)", stacklevel=2)
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
        # What is made here as another user, as by sudo, would be in the way of the one who lives here.
        if home.stat().st_uid == os.geteuid():
            yield home / ".cache" / "orienteer"


def _is_made(place: Path) -> bool:
    """Whether there is such a folder now, and it is this user's alone."""
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
