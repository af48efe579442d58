"""A crawl watched in a real browser: its band grows, it is stopped and resumed, and its frontier is explained."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orienteer.store.lock import holder_of
from tests.browser.conftest import DESKTOP, PHONE
from tests.cli.live_process import wait_until
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled
from tests.web.live_server import served
from tests.web.slow_crawl import SlowCrawl, slow_web, stop_holder
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ready_jobs")]


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with slow_web() as web:
        yield web


@pytest.fixture(scope="module")
def stopped(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has spent its budget of 30 pages."""
    folder = tmp_path_factory.mktemp("stopped") / "crawl"
    crawled(web, web.site.seeds, folder, budget=30)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "crawl"
    stop_holder(tmp_path / "crawl", os.kill, signal.SIGKILL)


@pytest.fixture
def crawl(web: FakeWeb, folder: Path) -> SlowCrawl:
    return SlowCrawl(web, folder, "--until", "0.9", "--budget", "1200")


@pytest.fixture(scope="module")
def stopped_address(stopped: Path) -> Iterator[str]:
    with served(stopped) as where:
        yield where


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the crawl of the test: a running one, or one that has stopped."""
    if "crawl" in request.fixturenames:
        with request.getfixturevalue("crawl").running(), served(request.getfixturevalue("folder")) as where:
            yield where
    else:
        yield request.getfixturevalue("stopped_address")


def n_drawn(page: Page) -> int:
    """The pages at the right end of the band."""
    return int(page.locator("svg.drawing").get_attribute("data-most") or 0)


def wait_for_more(page: Page, n_pages: int) -> None:
    """Wait until the band has more pages."""
    band = "n => Number(document.querySelector('svg.drawing')?.dataset.most) > n"
    page.wait_for_function(band, arg=n_pages, polling=200)


def phase(page: Page, text: str) -> None:
    expect(page.locator(".phase")).to_have_text(text)


def test_the_band_grows_and_the_crawl_is_stopped_and_gone_on_with(crawl: SlowCrawl, page: Page) -> None:
    page.goto("/crawl")
    phase(page, "Running")
    expect(page.locator("svg.drawing")).to_be_visible()
    expect(page.locator("#crawl-fetching li").first).to_be_visible()
    before = n_drawn(page)
    wait_for_more(page, before + 5)
    description = page.locator("svg.drawing").get_attribute("aria-label") or ""
    assert re.match(r"Coverage by pages fetched\. After [\d,]+ pages at least [\d.]+ %, at most", description)
    assert "the goal is 90 %" in description

    page.get_by_role("button", name="Stop").click()
    phase(page, "Stopped")
    expect(page.get_by_role("status")).to_contain_text("Stopped by you. Resume any time.")
    assert holder_of(crawl.folder) is None
    stopped_at = n_drawn(page)

    page.get_by_label("Pages at most").fill("1100")
    page.get_by_role("button", name="Resume").click()
    phase(page, "Running")
    wait_for_more(page, stopped_at)
    expect(page.locator(".cards")).to_contain_text("of 1,100")
    page.get_by_role("button", name="Stop").click()
    phase(page, "Stopped")


def test_from_the_frontier_one_comes_to_why_a_page_waits(crawl: SlowCrawl, page: Page) -> None:
    page.goto("/crawl")
    first = page.locator(".next li").first
    expect(first).to_be_visible()
    expect(first.locator(".why")).to_contain_text(re.compile("links? to it|a seed"))
    wait_for_more(page, 0)  # stopped before any page is stored, it has not begun
    page.get_by_role("button", name="Stop").click()
    phase(page, "Stopped")
    link = page.locator(".next .url a").first
    url = link.inner_text()
    link.click()
    expect(page).to_have_url(re.compile(r"/page\?url="))
    expect(page.locator("main")).to_contain_text(url)
    expect(page.locator("main")).to_contain_text("frontier")


def test_a_stop_from_another_process_is_displayed(crawl: SlowCrawl, page: Page) -> None:
    page.goto("/crawl")
    phase(page, "Running")
    wait_for_more(page, 0)
    process = holder_of(crawl.folder)
    assert process
    os.kill(process, signal.SIGINT)
    phase(page, "Stopped")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


def test_what_makes_no_sense_is_said_in_one_line(browser: Browser, address: str) -> None:
    """The browser rightly logs the error status in its console."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto("/crawl")
    expect(page.locator("#crawl-controls")).to_contain_text("The limit of 30 pages is reached; allow more to resume.")
    page.get_by_label("Coverage to reach").fill("very much")
    with page.expect_navigation():
        page.get_by_label("Coverage to reach").press("Enter")
    expect(page.get_by_role("alert")).to_have_text(
        "the coverage is 'very much'; it must be a number of per cent, such as 98"
    )
    context.close()


def test_a_drawing_is_read_with_the_pointer_and_with_keys(page: Page) -> None:
    updates: list[Route] = []
    page.route("**/crawl/now*", lambda route: updates.append(route))
    with page.expect_request("**/crawl/now*"):
        page.goto("/crawl")
    drawing, reading = page.locator("svg.drawing"), page.locator(".reading")
    drawing.hover()
    expect(reading).to_contain_text("pages: at least")
    drawing.focus()
    page.keyboard.press("Home")
    expect(reading).to_contain_text("After 0 pages: at least 0.00 %")
    with page.expect_response("**/crawl/now*"):
        updates[0].continue_()
    page.wait_for_function("document.querySelector('#crawl-chart .cursor').isConnected")
    expect(reading).to_contain_text("After 0 pages: at least 0.00 %")
    page.keyboard.press("End")
    expect(reading).to_contain_text("After 30 pages")
    page.keyboard.press("Tab")
    expect(reading).to_have_text("")


def test_all_can_be_reached_by_keyboard(page: Page) -> None:
    page.goto("/crawl")
    names = ["Coverage to reach, %", "Pages at most", "Resume"]
    for _ in range(20):
        page.keyboard.press("Tab")
        said = page.evaluate("document.activeElement.labels?.[0]?.innerText.trim() ?? document.activeElement.innerText")
        if names and said == names[0]:
            names.pop(0)
    assert names == []


def test_nothing_exceeds_the_page(page: Page) -> None:
    page.goto("/crawl")
    for viewport, scheme in itertools.product((DESKTOP, PHONE), ("light", "dark")):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator("svg.drawing")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_it_is_there_without_scripts(browser: Browser, stopped: Path, folder: Path) -> None:
    shutil.copytree(stopped, folder)
    with served(folder) as address, browser.new_context(base_url=address, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto("/crawl")
        expect(page.locator("svg.drawing")).to_be_visible()
        expect(page.locator(".next li").first).to_be_visible()
        page.get_by_label("Pages at most").fill("40")
        page.get_by_role("button", name="Resume").click()
        expect(page).to_have_url(re.compile(r"/crawl$"))
        wait_until(lambda: len(StoredCrawl(folder).order) >= 40 and holder_of(folder) is None)
        wait_until(lambda: page.reload() and "limit of 40 pages" in page.locator("#crawl-state").inner_text())
        expect(page.locator(".cards")).to_contain_text("of 40")
