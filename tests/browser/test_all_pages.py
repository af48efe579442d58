"""All pages: they are accessible, fit the window, and work in dark mode."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from orienteer.web.app import PAGES
from tests.browser.conftest import DESKTOP, PHONE
from tests.web.small_crawl import CHARTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

ADDRESSES = [
    *(page.ENTRY.path for page in PAGES if page.ENTRY is not None),
    "/?q=harbour&rank=local",
    "/?q=habour+chrats",
    f"/page?url={CHARTS}",
    "/api/docs",
]
# All rules are tried; of what keeps them, no list is made.
_RUN = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"
# Of the rows, items and panels that one template makes, six stay, from one that is drawn on.
_THIN_OUT = """drawn => {
  for (const list of document.querySelectorAll("tbody, ul, ol, .calls")) {
    const all = [...list.children];
    all.forEach((one, place) => {
      if ((place + all.length - drawn % all.length) % all.length >= 6) one.remove();
    });
  }
}"""


def findings(page: Page) -> list[str]:
    """Return the serious and critical violations that axe finds."""
    if not page.evaluate("'axe' in window"):
        from axe_playwright_python.base import AXE_SCRIPT

        page.evaluate(AXE_SCRIPT)
    return [
        f"{entry['impact']} {entry['id']}: {node['html'][:200]}"
        for entry in page.evaluate(_RUN)
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]


def expect_accessible_and_fitting(page: Page, rng: random.Random) -> None:
    """On a light desktop, and on a dark phone."""
    assert page.locator("h1").count() == 1
    for viewport in (PHONE, DESKTOP):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.evaluate(_THIN_OUT, rng.randrange(1000))
    assert findings(page) == []
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="dark")
    assert findings(page) == []


@pytest.mark.parametrize("target", ADDRESSES)
def test_a_page_is_accessible_and_fits(page: Page, target: str, fresh_rng: random.Random) -> None:
    page.goto(target)
    expect_accessible_and_fitting(page, fresh_rng)


def test_a_refusal_is_accessible(browser: Browser, address: str) -> None:
    with browser.new_context(base_url=address, viewport=PHONE) as context:
        page = context.new_page()
        for target in ("/nothing", "/?q=sea&rank=wrong"):
            page.goto(target)
            assert findings(page) == []
            assert page.get_by_role("alert").count() == 1


def test_light_and_dark_follow_the_system(page: Page) -> None:
    page.goto("/?q=harbour")
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 26)"]


def test_the_first_tab_skips_to_the_content(page: Page) -> None:
    page.goto("/?q=harbour")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_htmx_is_there_and_evaluates_nothing(page: Page) -> None:
    page.goto("/")
    assert page.evaluate("htmx.config.allowEval") is False
    assert page.evaluate("htmx.config.selfRequestsOnly") is True
