"""The browser that shows our own pages in tests, and what others play: any Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from typing import Any

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)

TIMEOUT_MS = 300_000


def expect(what: Any) -> Any:
    """Playwright's assertions, imported late: the tests are collected on machines that lack it."""
    from playwright.sync_api import expect

    return expect(what)


def browser_path() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)
