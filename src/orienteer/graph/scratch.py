"""A temporary folder for arrays larger than memory; it goes when the graph mapped from it goes."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class ScratchFolder:
    """A new folder where the system keeps temporary files (TMPDIR), removed with this object or at exit.

    Unlike tempfile.TemporaryDirectory it may be dropped without a word: a graph has no moment at which it is closed.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
