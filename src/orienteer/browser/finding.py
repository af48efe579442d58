"""Which browser is there: any of Chromium's family will do; the headless shell is the cheapest."""

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
_PLACES = (  # where other tools and systems put one
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/headless_shell",
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/chrome-headless-shell",
    "~/.cache/puppeteer/chrome-headless-shell/*/*/chrome-headless-shell",
    "/usr/lib/chromium/chromium-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find_browser(path: str = "") -> Path:
    """The program at `path` or of this name, or else the first of Chromium's family that is there."""
    if path:
        found = shutil.which(os.path.expanduser(path))
        if found is None:
            raise InputError(f"no browser at {path!r}: it is not there, or it is no program")
        return Path(found)
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    for place in _PLACES:
        for candidate in sorted(Path("/").glob(os.path.expanduser(place).lstrip("/")), reverse=True):
            if os.access(candidate, os.X_OK):
                return candidate
    raise InputError(
        "no browser found to render pages with: install chromium-headless-shell (Debian), chromium or Google Chrome,"
        " or name one with --browser PATH"
    )
