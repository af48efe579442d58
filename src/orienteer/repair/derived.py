"""Files of a crawl folder that are derived from others: what is garbled is put aside, to be made anew."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from orienteer.errors import CrawlFolderError
from orienteer.repair.salvage import Salvage

# What is told of a history, in positions; and what is told of pages, by their numbers.
OF_THE_HISTORY = ("checkpoints/latest.npz", "course.jsonl", "frontier.json", "report.json", "outside")
OF_THE_NUMBERS = ("ranks.npz", "estimate.json", "index")


def garbled(folder: Path) -> list[str]:
    """The names of derived files, or folders, that cannot be read."""
    checks: dict[str, Callable[[Path], None]] = {
        "report.json": _read_json,
        "frontier.json": _read_json,
        "estimate.json": _read_json,
        "ranks.npz": _read_arrays,
        "index": _read_index,
    }
    found = []
    for name, check in checks.items():
        try:
            if (folder / name).exists():
                check(folder / name)
        except (ValueError, OSError, EOFError, KeyError, RecursionError, zipfile.BadZipFile, zlib.error):
            found.append(name)
        except CrawlFolderError:
            found.append(name)
    return found


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
            if not texts.is_whole():
                raise ValueError("pages.db is damaged")
