"""Open a read-only index: tantivy writes lock files into the folder of an index, so it gets a temporary folder.

The folder has symbolic links to the files of the index, which are immutable, and copies of its manifests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

_MANIFESTS = ("meta.json", ".managed.json")
_LOCKS = (".tantivy-meta.lock", ".tantivy-writer.lock")


def is_writable(folder: Path) -> bool:
    """Whether tantivy can create its lock files in the folder."""
    places = [folder, *(folder / name for name in _LOCKS if (folder / name).exists())]
    return all(os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids) for place in places)


class Mirror:
    """A writable folder with the content of the index; it is removed with this object."""

    def __init__(self, index: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="orienteer-index-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        for name in _MANIFESTS:
            if (index / name).is_file():
                shutil.copyfile(index / name, self.path / name)
        for path in index.iterdir():
            if path.is_file() and path.name not in (*_MANIFESTS, *_LOCKS):
                (self.path / path.name).symlink_to(path.resolve())
