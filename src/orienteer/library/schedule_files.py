"""The files of schedules in a library, which follow a crawl that is renamed or deleted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from orienteer.store.failures import map_disk_errors

SUFFIXES = (".toml", ".secret", ".json")


def schedule_folder(library: Path) -> Path:
    return library / ".schedules"


def move_schedule(library: Path, name: str, new: str) -> None:
    """Rename the files of a crawl that was renamed."""
    for suffix in SUFFIXES:
        path = schedule_folder(library) / (name + suffix)
        with map_disk_errors(path), suppress(FileNotFoundError):
            os.replace(path, path.with_name(new + suffix))


def delete_schedule(library: Path, name: str) -> None:
    """Delete the files of a deleted crawl, so that a new crawl of that name does not inherit them."""
    for suffix in SUFFIXES:
        path = schedule_folder(library) / (name + suffix)
        with map_disk_errors(path):
            path.unlink(missing_ok=True)
