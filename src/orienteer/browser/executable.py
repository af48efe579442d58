"""Find a browser of the Chromium family; the headless shell is the cheapest."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from orienteer.errors import InputError

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_PATHS = (  # where other tools and systems install one
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/headless_shell",
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/chrome-headless-shell",
    "~/.cache/puppeteer/chrome-headless-shell/*/*/chrome-headless-shell",
    "/usr/lib/chromium/chromium-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find_browser(path: str = "") -> Path:
    """Return the program with this path or name, else the first browser of the Chromium family."""
    if path:
        program = shutil.which(os.path.expanduser(path))
        if program is None:
            raise InputError(f"no browser at {path!r}: the file does not exist, or is not executable")
        return Path(program)
    for name in NAMES:
        program = shutil.which(name)
        if program is not None:
            return Path(program)
    for pattern in _PATHS:
        for candidate in sorted(Path("/").glob(os.path.expanduser(pattern).lstrip("/")), reverse=True):
            if os.access(candidate, os.X_OK):
                return candidate
    raise InputError(
        "no browser found to render pages with: install chromium-headless-shell (Debian), chromium or Google Chrome,"
        " or name one with --browser PATH"
    )
