"""Neighborhood and Compare in a browser."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import DESKTOP
from tests.browser.test_all_pages import expect_accessible_and_fitting
from tests.web.comparison_files import write_comparisons
from tests.web.live_server import served
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(small_crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The small crawl with comparisons in it."""
    folder = tmp_path_factory.mktemp("compared") / "harbour"
    shutil.copytree(small_crawl, folder)
    place = write_comparisons(folder)
    (place / "wrong.json").unlink()
    with served(folder) as where:
        yield where


def visible(page: Page) -> set[str]:
    """Return the names of the visible curves of the first chart."""
    found = page.locator("figure.chart").first.locator("g.series[data-style=line]:not([display=none])")
    return set(found.evaluate_all("all => all.map((one) => one.dataset.series)"))


def test_neighborhood_links_to_the_details_of_a_page(page: Page) -> None:
    page.goto("/neighborhood")
    more = page.get_by_role("region", name="Valued more by other sites")
    more.get_by_role("link").first.click()
    page.wait_for_url("**/page?url=*")


def test_referrers_link_to_the_web(page: Page) -> None:
    page.goto("/neighborhood")
    link = page.get_by_role("region", name="Top referrers").get_by_role("link").first
    assert "world.test" in str(link.get_attribute("href"))
    assert link.get_attribute("rel") == "noreferrer noopener nofollow"


def test_curves_are_chosen(page: Page) -> None:
    page.goto("/compare?name=policies")
    all_names = {"certified", "rankmass", "breadth-first", "random"}
    assert visible(page) == all_names
    page.get_by_label("random").uncheck()
    assert visible(page) == all_names - {"random"}
    page.reload()
    assert visible(page) == all_names - {"random"}, "the address names the curves"
    page.get_by_role("button", name="None").click()
    assert visible(page) == set()
    page.get_by_role("button", name="All").click()
    assert visible(page) == all_names
    assert "show=" not in page.url


def test_values_are_read_off_a_chart(page: Page) -> None:
    page.goto("/compare?name=policies", wait_until="networkidle")
    chart = page.locator("figure.chart svg").nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5)
    expect(page.locator("#at")).to_contain_text("pages fetched")
    expect(page.locator("li[data-series=certified] .value")).to_contain_text("%")
    page.mouse.move(0, 0)
    expect(page.locator("#at")).to_be_empty()


def test_hovering_highlights_a_curve(page: Page) -> None:
    page.goto("/compare?name=policies")
    page.locator("li[data-series=random]").hover()
    opacity = "all => all.map((one) => getComputedStyle(one).opacity)"
    assert set(page.locator("g.series[data-series=random]").evaluate_all(opacity)) == {"1"}
    assert set(page.locator("g.series[data-series=certified]").evaluate_all(opacity)) == {"0.18"}


def test_from_one_comparison_to_another(page: Page) -> None:
    page.goto("/compare")
    expect(page.locator("h2").first).to_have_text("harvest")
    page.get_by_role("navigation", name="Comparisons").get_by_role("link", name="seeds").click()
    expect(page.locator("h2").first).to_have_text("seeds")
    assert page.locator("figure.chart").count() == 2


@pytest.mark.parametrize("browser_options", [{"viewport": DESKTOP, "java_script_enabled": False}], ids=["no-script"])
def test_without_scripts_a_button_shows_what_is_chosen(page: Page) -> None:
    page.goto("/compare?name=policies")
    page.get_by_label("random").uncheck()
    page.get_by_role("button", name="Apply").click()
    assert page.locator("g.series[data-series=random]").first.get_attribute("display") == "none"
    assert page.locator("g.series[data-series=certified]").first.get_attribute("display") is None


@pytest.mark.parametrize(
    "target",
    ["/compare?name=policies", "/compare?name=seeds", "/compare?name=harvest", "/map/host?name=www.harbour.test"],
)
def test_a_page_is_accessible_and_fits(page: Page, target: str, fresh_rng: random.Random) -> None:
    page.goto(target)
    expect_accessible_and_fitting(page, fresh_rng)
