"""What holds for all pages: nobody is kept out, nothing sticks out, nothing is missing in the dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from orienteer.web.app import PAGES
from tests.browser.conftest import DESKTOP, PHONE
from tests.web.small_crawl import CHARTS

ADDRESSES = [
    *(page.ENTRY.path for page in PAGES if page.ENTRY is not None),
    "/?q=harbour&rank=local",
    "/?q=habour+chrats",
    f"/page?url={CHARTS}",
    "/api/docs",
]
_AXE = Axe()
_ONLY_VIOLATIONS = {"resultTypes": ["violations"]}  # all rules are tried; of what keeps them, no list is made


def findings(page: Page) -> list[str]:
    """What axe says is serious or critical."""
    found = _AXE.run(page, options=_ONLY_VIOLATIONS).response["violations"]
    return [
        f"{entry['impact']} {entry['id']}: {node['html'][:200]}"
        for entry in found
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]


@pytest.mark.parametrize(
    "browser_options",
    [{"viewport": DESKTOP, "color_scheme": "light"}, {"viewport": PHONE, "color_scheme": "dark"}],
    ids=["desktop-light", "phone-dark"],
)
@pytest.mark.parametrize("target", ADDRESSES)
def test_a_page_is_accessible_and_fits(page: Page, target: str) -> None:
    page.goto(target)
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.locator("h1").count() == 1


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
