"""What all pages have: navigation, a way to skip it, no script from elsewhere."""

from __future__ import annotations

from playwright.sync_api import Page


def test_the_first_tab_skips_to_the_content(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_htmx_is_there_and_evaluates_nothing(page: Page) -> None:
    page.goto("/")
    assert page.evaluate("htmx.config.allowEval") is False
    assert page.evaluate("htmx.config.selfRequestsOnly") is True
