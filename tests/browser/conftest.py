"""A real browser on the pages of a small crawl.

A test that takes `page` fails on errors in the console, on what the Content Security Policy had to stop, and on
requests to anything but the server. Without a browser on this machine the tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.web.conftest import address, small_crawl

__all__ = ["address", "small_crawl"]

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
_PATIENCE_MS = 300_000
expect.set_options(timeout=_PATIENCE_MS)


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


@pytest.fixture
def browser_options() -> dict[str, object]:
    """How the browser of a test is: override it with a fixture or a parameter of the same name."""
    return {"viewport": DESKTOP}


@pytest.fixture
def page(browser: Browser, address: str, browser_options: dict[str, object]) -> Iterator[Page]:
    """An empty tab; addresses are relative to the server (`page.goto("/")`)."""
    context = browser.new_context(base_url=address, **browser_options)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE_MS)
    watched = Watched(context, address)
    yield context.new_page()
    context.close()
    assert watched.wrong == []
