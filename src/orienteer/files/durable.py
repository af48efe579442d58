"""Files that survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path

from orienteer.files.plain import replaced_inside


def write_durably(path: Path, text: str) -> None:
    """Replace a file so that it has either the old or the new text, even after a crash."""
    with replaced_inside(path) as new, new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a file's own sync does not cover its name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
