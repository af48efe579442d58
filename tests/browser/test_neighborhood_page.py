"""The Neighborhood, and the regions of a host, in a browser."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_all_pages import expect_accessible_and_fitting

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.long


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


def test_the_regions_of_a_host_are_accessible_and_fit(page: Page, fresh_rng: random.Random) -> None:
    page.goto("/map/host?name=www.harbour.test")
    expect_accessible_and_fitting(page, fresh_rng)
