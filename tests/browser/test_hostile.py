"""The content of hostile pages is displayed as text: no script runs, no markup is inserted, no link runs a script."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import settings

from tests.browser.conftest import PHONE
from tests.web.hostile_crawl import HOST, PATHS, PAYLOADS, UNFETCHABLE, make_hostile_crawl
from tests.web.live_server import served
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Elements that templates use; all others come from crawled pages.
OUR_ELEMENTS = {
    "A", "ASIDE", "BDI", "BUTTON", "CODE", "DD", "DETAILS", "DIV", "DL", "DT", "FORM", "H1", "H2", "H3", "IMG", "INPUT",
    "KBD", "LABEL", "LI", "MARK", "NAV", "OL", "P", "Q", "SECTION", "SPAN", "SUMMARY", "TABLE", "TBODY", "TD", "TH",
    "THEAD", "TR", "UL",
}  # fmt: skip
OUR_ATTRIBUTES = {
    "action", "alt", "aria-activedescendant", "aria-autocomplete", "aria-controls", "aria-current", "aria-describedby",
    "aria-expanded", "aria-hidden", "aria-keyshortcuts", "aria-label", "aria-labelledby", "autocomplete", "autofocus",
    "class", "data-complete", "for", "height", "hidden", "href", "hx-get", "hx-push-url", "hx-target", "id", "loading",
    "maxlength", "method", "name", "open", "placeholder", "rel", "role", "scope", "spellcheck", "src", "start",
    "tabindex", "title", "type", "value", "width",
}  # fmt: skip
LOOK = """document => {
  const all = [...document.querySelectorAll("main *")];
  return {
    elements: [...new Set(all.map(e => e.tagName))],
    attributes: [...new Set(all.flatMap(e => e.getAttributeNames()))],
    protocols: [...new Set([...document.querySelectorAll("a[href]")].map(a => a.protocol))],
    forms: [...document.forms].map(f => f.action),
    scripts: [...document.scripts].map(s => s.src),
    bases: document.querySelectorAll(
      "base, link:not([href^='/static/']):not([href='/opensearch.xml']), meta[http-equiv], style").length,
    images: [...document.images].map(i => i.src),
    title: document.title,
    text: document.querySelector("main").textContent,
    typed: document.querySelector("input[name=q]")?.value,
  };
}"""
LOOK_AT_ALL = f"""targets => Promise.all(targets.map(async target => {{
  const text = await (await fetch(target, {{headers: {{Accept: "text/html"}}}})).text();
  return ({LOOK})(new DOMParser().parseFromString(text, "text/html"));
}}))"""
RUN_OR_WIDE = """[window.caught === undefined, document.documentElement.scrollWidth <= window.innerWidth]"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(make_hostile_crawl(tmp_path_factory.mktemp("hostile") / "<script>alert(1)<")) as where:
        yield where


@pytest.fixture
def browser_options() -> dict[str, object]:
    return {"viewport": PHONE}


def assert_harmless(page: Page, address: str) -> None:
    """Check that no script has run, the page fits the window, and all elements are from templates."""
    assert page.evaluate(RUN_OR_WIDE) == [True, True]
    assert_ours(page.evaluate(f"({LOOK})(document)"), address)


def assert_ours(seen: dict[str, Any], address: str) -> None:
    assert seen["elements"]
    assert set(seen["elements"]) <= OUR_ELEMENTS
    assert set(seen["attributes"]) <= OUR_ATTRIBUTES
    assert set(seen["protocols"]) <= {"http:", "https:"}
    assert all(action.startswith(address) for action in seen["forms"])
    assert all(script.startswith(address + "/static/") for script in seen["scripts"])
    assert seen["bases"] == 0
    assert all(image.startswith(f"{address}/icon?host=") for image in seen["images"])


def inspect_pages(page: Page, address: str, targets: list[str], rng: random.Random) -> list[dict[str, Any]]:
    """Parse each page in the browser. Some of them are also displayed; the thorough profile displays all."""
    page.goto("/")
    found: list[dict[str, Any]] = page.evaluate(LOOK_AT_ALL, targets)
    for seen in found:
        assert_ours(seen, address)
    is_thorough = settings.get_current_profile_name() == "thorough"
    for target in targets if is_thorough else rng.sample(targets, 6):
        page.goto(target)
        assert_harmless(page, address)
    return found


def test_all_results_in_all_orders(page: Page, address: str) -> None:
    n_seen, texts = 0, ""
    for number in range(1, 5):
        page.goto(f"/?q=trap&page={number}")
        n_seen += page.locator(".results > li").count()
        texts += page.locator("#found").inner_text()
        assert_harmless(page, address)
    assert n_seen > len(PAYLOADS)
    expect_payloads(texts)
    page.goto("/?q=trap")
    page.get_by_role("link", name="Most linked", exact=True).click()
    expect(page.get_by_role("link", name="Most linked", exact=True)).to_have_attribute("aria-current", "true")
    assert_harmless(page, address)
    for place in page.locator(".moved, mark").all()[:20]:
        place.hover()
    assert_harmless(page, address)


def expect_payloads(texts: str) -> None:
    """The payloads are in the pages as text, so that these tests are not empty."""
    assert "<script>window.caught=1" in texts
    assert "<img src=x onerror=" in texts
    assert "{{ 7*7 }}" in texts
    assert not {"\u202e", "\u2066", "\u0000"} & set(texts)


def test_the_details_of_every_page(page: Page, address: str, fresh_rng: random.Random) -> None:
    paths = ("/", *(f"/{number}" for number in range(len(PAYLOADS))), *PATHS)
    targets = ["/page?url=" + quote(HOST + path, safe="") for path in paths]
    for seen in inspect_pages(page, address, targets, fresh_rng):
        assert "fetched as number" in seen["text"]


def test_what_is_asked_for_is_text_too(page: Page, address: str, fresh_rng: random.Random) -> None:
    asked = (*PAYLOADS[:14], *UNFETCHABLE)
    targets = ["/?q=" + quote(words) for words in asked]
    for words, seen in zip(asked, inspect_pages(page, address, targets, fresh_rng), strict=True):
        assert seen["typed"] == words.replace("\x01", "\ufffd").replace("\t", "\ufffd")
        assert "49" not in seen["title"]
