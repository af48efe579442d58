"""A temporary folder for arrays larger than memory, deleted together with the graph that is mapped from it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class ScratchFolder:
    """A new folder for temporary files (in TMPDIR), removed with this object or at exit.

    Unlike tempfile.TemporaryDirectory it does not warn when it is garbage-collected: graphs are never closed.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
