"""Arrays of an index in a file (NPZ), which may be damaged, or anybody's."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.store.failures import explained
from orienteer.store.page_texts import MAKE_ANEW


def read_arrays(path: Path, is_wanted: Callable[[str], bool] = lambda _: True) -> dict[str, NDArray[Any]]:
    """Those with a name that is wanted."""
    try:
        with explained(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files if is_wanted(name)}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged_index(path, error) from None


def damaged_index(path: Path, error: Exception) -> CrawlFolderError:
    return CrawlFolderError(f"{path}: the search index is damaged ({error}); {MAKE_ANEW}")
