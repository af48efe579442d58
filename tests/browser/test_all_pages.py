"""What holds for all pages: nobody is kept out, nothing sticks out, nothing is missing in the dark."""

from __future__ import annotations

import random

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from orienteer.web.app import PAGES
from tests.browser.conftest import DESKTOP, PHONE
from tests.web.small_crawl import CHARTS

ADDRESSES = [
    *(page.ENTRY.path for page in PAGES if page.ENTRY is not None),
    "/?q=harbour&rank=local",
    "/?q=habour+chrats",
    f"/page?url={CHARTS}",
]
# All rules are tried; of what keeps them, no list is made.
_RUN = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"
# Of many panels that one template makes, those with these numbers stay, and the links to them.
_THIN_OUT = """numbers => {
  [...document.querySelectorAll(".calls > section")].forEach((section, number) => {
    if (numbers.includes(number)) return;
    document.querySelector(`.contents a[href="#${section.id}"]`).parentElement.remove();
    section.remove();
  });
}"""


def findings(page: Page) -> list[str]:
    """What axe says is serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return [
        f"{entry['impact']} {entry['id']}: {node['html'][:200]}"
        for entry in page.evaluate(_RUN)
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]


def expect_accessible_and_fitting(page: Page) -> None:
    """On a light desktop, and on a dark phone."""
    for viewport, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("target", ADDRESSES)
def test_a_page_is_accessible_and_fits(page: Page, target: str) -> None:
    page.goto(target)
    expect_accessible_and_fitting(page)


def test_the_page_of_the_api_is_accessible_and_fits(page: Page, fresh_rng: random.Random) -> None:
    """All of it fits; of its panels, some that are drawn are looked at for the rest."""
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto("/api/docs")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    n_panels = page.locator(".calls > section").count()
    page.evaluate(_THIN_OUT, fresh_rng.sample(range(n_panels), 8))
    expect_accessible_and_fitting(page)


@pytest.mark.parametrize("target", ["/nothing", "/?q=sea&rank=wrong"])
def test_a_refusal_is_accessible(browser: Browser, address: str, target: str) -> None:
    with browser.new_context(base_url=address, viewport=PHONE) as context:
        page = context.new_page()
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
