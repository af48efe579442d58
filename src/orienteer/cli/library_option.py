"""`--library`: the folder of crawls that a command works on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from orienteer.library.library import Library

LIBRARY = typer.Option(
    None, "--library", metavar="DIR", help="The folder of crawls; default: ~/.local/share/orienteer/crawls."
)


def chosen_library(path: Path | None, may_be_new: bool = False) -> Library:
    """Return the library at `path`, or the user's default. A given path must exist, unless `may_be_new`."""
    from orienteer.errors import InputError
    from orienteer.library.library import Library, default_library

    if path is not None and not path.is_dir() and (path.exists() or not may_be_new):
        raise InputError(f"{path}: {'not a folder of crawls' if path.exists() else 'no such folder of crawls'}")
    return Library(default_library() if path is None else path)
