"""A real browser on the pages of a small crawl.

A test that takes `page` fails on errors in the console, on what the Content Security Policy had to stop, and on
requests to anything but the server. Without a browser on this machine the tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import address, small_crawl
from tests.window import TIMEOUT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

__all__ = ["address", "small_crawl"]

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


class Watched:
    """What a page did that it should not have done."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.wrong: list[str] = []
        self._address = address
        context.on("console", self._said)
        context.on("weberror", lambda error: self.wrong.append(f"error: {error.error}"))
        context.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        context.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"console: {message.text}")

    def _asked(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(self._address + "/"):
            self.wrong.append(f"request to {url}")


class Tab:
    """A window with one tab. Tests take turns in it, since a new one takes longer than most of them."""

    def __init__(self, browser: Browser, address: str, options: dict[str, Any]) -> None:
        self._options = options
        self._context = browser.new_context(base_url=address, **options)
        self._context.set_default_timeout(TIMEOUT_MS)
        self.watched = Watched(self._context, address)
        self.page = self._context.new_page()

    def clean(self) -> None:
        """As it was: nothing of a test is left for the next one."""
        self.page.goto("about:blank")
        self.page.unroute_all()
        self.page.emulate_media(color_scheme=self._options.get("color_scheme", "light"))
        self.page.set_viewport_size(self._options["viewport"])
        self.page.mouse.move(0, 0)
        self._context.clear_cookies()

    def close(self) -> None:
        self._context.close()


@pytest.fixture(scope="module")
def tabs() -> Iterator[dict[str, Tab]]:
    """One for each server and each kind of window that tests of a module want."""
    tabs: dict[str, Tab] = {}
    yield tabs
    for tab in tabs.values():
        tab.close()


@pytest.fixture
def browser_options() -> dict[str, Any]:
    """How the window of a test is: override it with a fixture or a parameter of the same name."""
    return {"viewport": DESKTOP}


@pytest.fixture
def page(browser: Browser, tabs: dict[str, Tab], address: str, browser_options: dict[str, Any]) -> Iterator[Page]:
    """An empty tab; addresses are relative to the server (`page.goto("/")`)."""
    kind = f"{address} {browser_options}"
    tab = tabs.get(kind) or tabs.setdefault(kind, Tab(browser, address, browser_options))
    tab.watched.wrong.clear()
    yield tab.page
    tab.clean()
    assert tab.watched.wrong == []
