"""Where the schedules of a library stand, and what becomes of them when a crawl is renamed or deleted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from orienteer.store.failures import explained

SUFFIXES = (".toml", ".secret", ".json")


def schedule_folder(library: Path) -> Path:
    return library / ".schedules"


def move_schedule(library: Path, name: str, new: str) -> None:
    """The crawl has another name now."""
    for suffix in SUFFIXES:
        path = schedule_folder(library) / (name + suffix)
        with explained(path), suppress(FileNotFoundError):
            os.replace(path, path.with_name(new + suffix))


def delete_schedule(library: Path, name: str) -> None:
    """The crawl is gone: another one of that name is another one."""
    for suffix in SUFFIXES:
        path = schedule_folder(library) / (name + suffix)
        with explained(path):
            path.unlink(missing_ok=True)
