"""The folders of the user's own files, outside of crawls, by the XDG specification."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder of state between runs, such as a key: in $XDG_STATE_HOME, or ~/.local/state."""
    return _named("XDG_STATE_HOME", "~/.local/state")


def data_folder() -> Path:
    """Return the folder of the user's data: in $XDG_DATA_HOME, or ~/.local/share."""
    return _named("XDG_DATA_HOME", "~/.local/share")


def _named(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    return (Path(named) if named.startswith("/") else Path(otherwise).expanduser()) / "orienteer"
