"""Index arrays in an NPZ file, which may be damaged or untrusted."""

from __future__ import annotations

import os
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.store.failures import map_disk_errors
from orienteer.store.page_texts import REBUILD_HINT


class ArrayFile:
    """An NPZ file that stays readable after its path is removed or replaced; closed when it is collected."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with map_disk_errors(path):
            self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, is_wanted: Callable[[str], bool] = lambda _: True) -> dict[str, NDArray[Any]]:
        """Return the arrays whose names are wanted."""
        try:
            with map_disk_errors(self._path), self._lock, open(self._descriptor, "rb", closefd=False) as file:
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    return {name: arrays[name] for name in arrays.files if is_wanted(name)}
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged_index(self._path, error) from None


def damaged_index(path: Path, error: Exception) -> CrawlFolderError:
    return CrawlFolderError(f"{path}: the search index is damaged ({error}); {REBUILD_HINT}")
