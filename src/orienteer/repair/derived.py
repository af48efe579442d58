"""Derived files of a crawl folder: damaged ones are moved to the backup, and rebuilt later."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from orienteer.errors import CrawlFolderError
from orienteer.repair.salvage import Salvage

# Files that refer to positions in the history, and files that refer to page ids.
FILES_WITH_POSITIONS = ("checkpoints/latest.npz", "course.jsonl", "frontier.json", "report.json", "outside")
FILES_WITH_PAGE_IDS = ("ranks.npz", "estimate.json", "index")


def unreadable(folder: Path) -> list[str]:
    """Return the names of derived files, or folders, that cannot be read."""
    checks: dict[str, Callable[[Path], None]] = {
        "report.json": _read_json,
        "frontier.json": _read_json,
        "estimate.json": _read_json,
        "ranks.npz": _read_arrays,
        "index": _read_index,
    }
    names = []
    for name, check in checks.items():
        try:
            if (folder / name).exists():
                check(folder / name)
        except (ValueError, OSError, EOFError, KeyError, RecursionError, zipfile.BadZipFile, zlib.error):
            names.append(name)
        except CrawlFolderError:
            names.append(name)
    return names


def _read_json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _read_arrays(path: Path) -> None:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        dict(arrays)


def _read_index(path: Path) -> None:
    if (path / "meta.json").exists():
        _read_json(path / "meta.json")
    if (path / "columns.npz").exists():
        _read_arrays(path / "columns.npz")
    if (path / "pages.db").exists():
        with Salvage(path / "pages.db") as texts:
            if not texts.is_sound():
                raise ValueError("pages.db is damaged")
