"""Where things stand that belong to the user and to no crawl, as the rules of XDG have it."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """What is kept between runs, such as a key: in $XDG_STATE_HOME, or ~/.local/state."""
    return _named("XDG_STATE_HOME", "~/.local/state")


def data_folder() -> Path:
    """What a user has made: in $XDG_DATA_HOME, or ~/.local/share."""
    return _named("XDG_DATA_HOME", "~/.local/share")


def _named(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable, "")
    # As the XDG rules have it, a relative path is ignored.
    return (Path(named) if named.startswith("/") else Path(otherwise).expanduser()) / "orienteer"
