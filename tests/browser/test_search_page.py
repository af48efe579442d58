"""Search as a user does: type, read, switch the order, page through, open details."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_all_pages import findings
from tests.web.small_crawl import CHARTS
from tests.web.small_library import OTHER, make_library, served_library
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long

TITLES = ".results h2"


def titles(page: Page) -> list[str]:
    return page.locator(TITLES).all_inner_texts()


def open_first_page(page: Page) -> None:
    """The field gets the focus by itself, once the page is drawn."""
    page.goto("/")
    expect(page.get_by_role("combobox")).to_be_focused()


def test_type_and_find(page: Page) -> None:
    open_first_page(page)
    page.keyboard.type("sea charts")
    page.keyboard.press("Enter")
    first = page.locator(".results > li").first
    expect(first.locator("h2")).to_have_text("Old sea charts")
    expect(first.locator("mark").first).to_have_text(re.compile("sea|charts?", re.IGNORECASE))
    link = first.locator("h2 a")
    assert link.get_attribute("href") == CHARTS
    assert set((link.get_attribute("rel") or "").split()) == {"noreferrer", "noopener", "nofollow"}
    expect(page.get_by_role("status")).to_have_text(re.compile(r"20 pages found, 1 to 10, best first"))
    assert "sea charts" in page.title()
    expect(page.get_by_text("Related: linked from the same pages")).to_be_visible()


def test_switching_the_order_reorders_at_once_and_shows_the_moves(page: Page) -> None:
    page.goto("/?q=harbour&rank=text")
    by_words = titles(page)
    page.evaluate("window.isTheSamePage = true")
    page.get_by_role("link", name="Most linked", exact=True).click()
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("status")).to_have_text(re.compile("by links in this crawl"))
    inside = titles(page)
    assert inside != by_words
    assert page.evaluate("window.isTheSamePage") is True
    assert "rank=local" in page.url
    assert "seen_from=text" in page.url
    moved = page.locator(".results > li", has_text="All news of the harbour").locator(".moved")
    expect(moved).to_have_class(re.compile("up"))
    expect(moved).to_contain_text(re.compile(r"up \d+ places, from \d+ by words"))
    expect(page.get_by_text("compared with the order by words")).to_be_visible()
    page.get_by_role("link", name="Most linked on the web").click()
    expect(page.get_by_text("compared with the order by links in this crawl")).to_be_visible()
    assert titles(page) != inside
    page.go_back()
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    page.wait_for_load_state()  # it was reloaded: before its scripts are loaded, going back is not handled
    assert titles(page) == inside
    page.go_back()
    expect(page.get_by_role("link", name="Words only", exact=True)).to_have_attribute("aria-current", "true")
    assert titles(page) == by_words


def test_the_arrows_say_the_truth(page: Page) -> None:
    """The positions of the previous order and the arrows agree."""
    page.goto("/?q=harbour&rank=text")
    before = {title: place for place, title in enumerate(titles(page), 1)}
    page.get_by_role("link", name="Most linked on the web").click()
    expect(page.get_by_text("compared with the order by words")).to_be_visible()
    arrows = page.locator(".results .moved > [aria-hidden]").all_inner_texts()
    n_checked = 0
    for place, (title, arrow) in enumerate(zip(titles(page), arrows, strict=True), 1):
        if title in before:
            places = before[title] - place
            assert arrow == (f"↑{places}" if places > 0 else f"↓{-places}" if places < 0 else "=")
            n_checked += 1
    assert n_checked >= 3


def test_paging(page: Page) -> None:
    page.goto("/?q=harbour&rank=local")
    seen = titles(page)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 6")).to_be_visible()
    assert page.locator(".position").first.inner_text() == "11"
    assert not set(titles(page)) & set(seen)
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("Page 1 of 6")).to_be_visible()
    assert titles(page) == seen


def test_what_was_meant(page: Page) -> None:
    page.goto("/?q=habour+chrats")
    expect(page.get_by_role("status")).to_contain_text("Nothing found. This crawl covers at least ")
    page.get_by_role("link", name="harbour charts").click()
    expect(page.locator(TITLES).first).to_be_visible()


def test_the_details_of_a_result_and_on_from_there(page: Page) -> None:
    page.goto("/?q=sea+charts")
    page.get_by_role("link", name="Details").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Old sea charts")
    expect(page.get_by_text(re.compile(r"fetched as number \d+ of \d+"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile(r"outside \d+ of 52"))).to_be_visible()
    page.get_by_role("link", name="http://museum.harbour.test/", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Museum of the harbour")
    page.goto("/page?url=museum.harbour.test/store/inventory")
    expect(page.get_by_text("blocked, not fetched: robots.txt of its host forbids it")).to_be_visible()


def test_with_the_keyboard_alone(page: Page) -> None:
    open_first_page(page)
    page.keyboard.type("harbour")
    page.keyboard.press("Enter")
    expect(page.locator(TITLES).first).to_be_visible()
    go_to(page, "Most linked")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    expect(page.locator(":focus")).to_have_text("Most linked")  # it stays where one was
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    go_to(page, "Details")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbour town")


def go_to(page: Page, text: str) -> None:
    """Press Tab until a link or button with this text has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == text:
            return
    pytest.fail(f"the Tab key does not lead to {text!r}")


def test_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Search words").fill("harbour")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Most linked", exact=True).click()
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 6")).to_be_visible()
    page.locator("#facets").get_by_role("link", name="museum.harbour.test").click()
    expect(page.locator(".filter")).to_have_text(re.compile("host:museum.harbour.test"))
    context.close()


# -- completion and keys ----------------------------------------------------------------------------------------


def test_suggestions_while_typing_and_by_keys_alone(page: Page) -> None:
    open_first_page(page)
    field = page.get_by_role("combobox")
    page.keyboard.type("old s")
    options = page.get_by_role("option")
    expect(options.last).to_have_text(re.compile("^Old sea charts"))
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_value("old sea")
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", options.first.get_attribute("id") or "")
    page.keyboard.press("ArrowUp")  # back to what was typed
    expect(field).to_have_value("old s")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("Old sea charts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(field).to_have_value("old s")
    page.keyboard.type("ea")
    expect(options.last).to_have_text(re.compile("^Old sea charts"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(TITLES).first).to_have_text("Old sea charts")
    assert "q=Old+sea+charts" in page.url


def test_a_suggestion_can_be_clicked(page: Page) -> None:
    open_first_page(page)
    page.keyboard.type("harb")
    page.get_by_role("option", name="harbour", exact=True).click()
    expect(page.get_by_role("status")).to_have_text(re.compile("pages found"))
    assert "q=harbour" in page.url


def test_the_list_of_suggestions_is_accessible(page: Page) -> None:
    page.goto("/?q=sea")
    page.get_by_role("combobox").fill("ha")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert findings(page) == []


def test_untrusted_titles_are_text_in_suggestions(page: Page) -> None:
    wrong = '{"q": "a", "suggestions": [{"text": "<img src=x onerror=alert(1)>", "kind": "title"}]}'
    page.route("**/api/complete*", lambda route: route.fulfill(body=wrong, content_type="application/json"))
    open_first_page(page)
    page.keyboard.type("a")
    expect(page.get_by_role("option")).to_have_text(re.compile(re.escape("<img src=x onerror=alert(1)>")))
    assert page.locator("#suggestions img").count() == 0


def test_a_slash_leads_to_the_field_and_arrows_through_the_results(page: Page) -> None:
    page.goto("/?q=harbour")
    field, links = page.get_by_role("combobox"), page.locator(f"{TITLES} a")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    expect(field).to_have_value("harbour")
    page.keyboard.press("ArrowDown")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.type("/")  # in the field it is a sign like others
    expect(field).to_have_value(re.compile("/"))


# -- narrowing --------------------------------------------------------------------------------------------------


def test_results_are_narrowed_and_widened_again(page: Page) -> None:
    page.goto("/?q=sea+charts&rank=local")
    value = page.locator("#facets li", has_text="museum.harbour.test")
    count = int(value.locator(".n").inner_text())
    value.get_by_role("link").click()
    expect(page.get_by_role("status")).to_have_text(re.compile(f"^{count} pages found.*by links in this crawl"))
    expect(page.get_by_role("combobox")).to_have_value("sea charts host:museum.harbour.test")
    page.locator("#facets").get_by_role("link", name="Remove museum.harbour.test").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^20 pages found"))
    page.goto("/?q=sea+charts+lang:en")
    page.get_by_role("link", name="Remove lang:en").click()
    expect(page.get_by_role("combobox")).to_have_value("sea charts")


def test_the_first_page_leads_on(page: Page) -> None:
    page.goto("/")
    page.locator(".facets").get_by_role("link", name="library.harbour.test").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("11 pages found"))


def test_several_crawls_at_once(browser: Browser, small_crawl: Path, tmp_path: Path) -> None:
    library = make_library(tmp_path / "crawls", small_crawl)
    with served_library(library) as (client, _), browser.new_context(base_url=str(client.base_url)) as context:
        page = context.new_page()
        page.goto("/search")
        page.get_by_label(OTHER).check()
        page.get_by_role("combobox").fill("old s")
        expect(page.get_by_role("option").last).to_have_text(re.compile("^Old sea charts"))
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        first = page.locator(".results > li").first
        expect(first.locator("h2")).to_have_text("Old sea charts")
        expect(first.locator(".from")).to_have_text(f"in {OTHER}")
        expect(page.get_by_label(OTHER)).to_be_checked()
        assert findings(page) == []
