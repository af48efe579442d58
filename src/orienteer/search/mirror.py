"""An index that may only be read: tantivy wants to write lock files beside it, so it is opened in a folder of our own.

That holds links to the files of the index, which never change once they are there, and a copy of what says which of
them belong to it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

_SAYS_WHAT_BELONGS = ("meta.json", ".managed.json")
_LOCKS = (".tantivy-meta.lock", ".tantivy-writer.lock")


def can_be_written(folder: Path) -> bool:
    """Whether tantivy can have its lock files there."""
    places = [folder, *(folder / name for name in _LOCKS if (folder / name).exists())]
    return all(os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for place in places)


class Mirror:
    """A folder that looks like the index, and can be written; it goes with this object."""

    def __init__(self, index: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-index-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        for name in _SAYS_WHAT_BELONGS:
            if (index / name).is_file():
                shutil.copyfile(index / name, self.path / name)
        for path in index.iterdir():
            if path.is_file() and path.name not in (*_SAYS_WHAT_BELONGS, *_LOCKS):
                (self.path / path.name).symlink_to(path.resolve())
