"""`--library`: the folder of crawls that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from orienteer.library.library import Library

LIBRARY = typer.Option(
    None, "--library", metavar="DIR", help="The folder of crawls; default: ~/.local/share/orienteer/crawls."
)


def chosen_library(path: Path | None) -> Library:
    """The one that was named, or that of the user."""
    from orienteer.library.library import Library, default_library

    return Library(default_library() if path is None else path)
