"""The browser that shows our own pages in tests, and what others play: any Chromium, driven by Playwright."""

from __future__ import annotations

import shutil

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)


def browser_path() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)
