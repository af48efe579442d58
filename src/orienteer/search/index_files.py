"""Where an index stands."""

from __future__ import annotations

from pathlib import Path

TEXTS = "pages.db"


def index_folder(folder: Path) -> Path:
    """The index of a crawl folder."""
    return folder / "index"
