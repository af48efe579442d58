"""Paths of a search index."""

from __future__ import annotations

from pathlib import Path

TEXTS = "pages.db"


def index_folder(folder: Path) -> Path:
    """Return the index folder of a crawl folder."""
    return folder / "index"
