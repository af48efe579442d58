"""The map in a browser: select, zoom, search, and open a host's pages, by pointer and by keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.browser.conftest import DESKTOP, PHONE
from tests.web.live_server import served
from tests.web.wide_crawl import many_hosts, written_crawl
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[5, 2_000], ids=["5-hosts", "2000-hosts"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Instead of the small crawl: webs with few hosts and with many."""
    graph = many_hosts(np.random.default_rng(request.param), request.param)
    with served(written_crawl(tmp_path_factory.mktemp("wide") / "wide", graph)) as where:
        yield where


# Each kind of test needs one of the two; where circles are found among others, both are tried.
FEW = pytest.mark.parametrize("address", [5], ids=["5-hosts"], indirect=True)
MANY = pytest.mark.parametrize("address", [2_000], ids=["2000-hosts"], indirect=True)


def open_map(page: Page) -> Any:
    """The map, drawn; its data."""
    page.goto("/map")
    expect(page.locator("#map-state")).to_be_empty()
    return page.request.get("/api/map").json()


def middle_of(page: Page, data: Any, place: int) -> tuple[float, float]:
    """Return the center of a region's circle in the window, when the whole map is visible and centered."""
    regions = data["regions"]
    box = page.locator("#stage canvas").bounding_box()
    assert box is not None
    right = max(abs(region["x"]) + region["radius"] for region in regions)
    bottom = max(abs(region["y"]) + region["radius"] for region in regions)
    scale = min((box["width"] - 40) / 2 / right, (box["height"] - 56) / 2 / bottom, 96)
    region = regions[place]
    return box["x"] + box["width"] / 2 + scale * region["x"], box["y"] + box["height"] / 2 + scale * region["y"]


_NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def colours(page: Page) -> dict[str, float]:
    """The share of the map that each colour covers; what nothing is drawn on has none."""
    count = """() => {
      const { width, height } = document.querySelector("#stage canvas");
      const copy = Object.assign(document.createElement("canvas"), { width, height });
      const pen = copy.getContext("2d", { willReadFrequently: true });
      pen.drawImage(document.querySelector("#stage canvas"), 0, 0);
      const data = pen.getImageData(0, 0, width, height).data;
      const found = {};
      for (let k = 0; k < data.length; k += 4) {
        if (data[k + 3] === 0) continue;
        const colour = `${data[k]},${data[k + 1]},${data[k + 2]}`;
        found[colour] = (found[colour] ?? 0) + 1 / (width * height);
      }
      return found;
    }"""
    page.evaluate(_NEXT_FRAME)
    return dict(page.evaluate(count))


def coloured(page: Page) -> float:
    """The share of the map that something is drawn on."""
    return sum(colours(page).values())


def test_hovering_selects_a_circle_and_a_click_opens_its_pages(page: Page) -> None:
    data = open_map(page)
    largest = data["regions"][0]
    assert coloured(page) > 0.02
    page.mouse.move(*middle_of(page, data, 0))
    selected = page.locator("#selected")
    expect(selected.locator("a")).to_have_text(largest["name"])
    expect(selected).to_contain_text(f"{largest['n_pages']:,} page")
    expect(selected).to_contain_text("comes from")
    page.mouse.click(*middle_of(page, data, 0))
    page.wait_for_url("**/map/host?name=*")
    expect(page.locator("h1")).to_have_text(largest["name"])
    rows = page.locator("tbody tr")
    assert rows.count() == min(largest["n_pages"], 50)
    rows.first.locator("a").click()
    page.wait_for_url("**/page?url=*")


@MANY
def test_zoom_and_drag(page: Page) -> None:
    data = open_map(page)
    whole = coloured(page)
    x, y = middle_of(page, data, 0)
    page.get_by_role("button", name="Zoom out").click()
    smaller = coloured(page)
    assert smaller < whole
    page.get_by_role("button", name="Show all").click()
    assert coloured(page) == pytest.approx(whole, rel=0.01)
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    assert coloured(page) > whole
    page.mouse.down()
    page.mouse.move(x + 80, y + 40, steps=4)
    page.mouse.up()
    assert page.url.endswith("/map"), "a drag is no click"
    page.mouse.move(0, 0)
    page.mouse.move(x + 80, y + 40)
    expect(page.locator("#selected a")).to_have_text(data["regions"][0]["name"])


@MANY
def test_the_filter_finds_hosts(page: Page) -> None:
    data = open_map(page)
    before = coloured(page)
    page.get_by_label("Find a host").fill("river")
    expect(page.locator("#regions [role=status]")).to_contain_text("with “river”")
    n_found = sum("river" in region["name"] for region in data["regions"])
    expect(page.locator("#regions [role=status]")).to_contain_text(f"{n_found:,} of")
    names = page.locator("table.regions tbody th").all_inner_texts()
    assert names
    assert all("river" in name for name in names)
    assert coloured(page) == pytest.approx(before, abs=0.2)
    page.locator("table.regions tbody tr").first.hover()
    expect(page.locator("#selected a")).to_have_text(names[0])


def test_by_keys_alone(page: Page) -> None:
    data = open_map(page)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "stage":
            break
    else:
        raise AssertionError("the map cannot be reached")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#selected a")).to_have_text(data["regions"][0]["name"])
    selected = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "+", "-", "0"):
        page.keyboard.press(key)
        selected.add(page.locator("#selected a").inner_text())
    assert len(selected) > 1
    name = page.locator("#selected a").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/map/host?name=*")
    expect(page.locator("h1")).to_have_text(name)


@FEW
def test_a_row_of_the_table_shows_its_circle(page: Page) -> None:
    data = open_map(page)
    page.locator("table.regions a").nth(2).focus()
    expect(page.locator("#selected a")).to_have_text(data["regions"][2]["name"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/map/host?name=*")


@MANY
@pytest.mark.parametrize(
    "browser_options",
    [{"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}],
    ids=["phone"],
)
def test_on_a_phone_the_first_touch_shows_and_the_second_opens(page: Page) -> None:
    data = open_map(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.locator("#stage").scroll_into_view_if_needed()
    page.touchscreen.tap(*middle_of(page, data, 0))
    expect(page.locator("#selected a")).to_have_text(data["regions"][0]["name"])
    assert page.url.endswith("/map")
    page.touchscreen.tap(*middle_of(page, data, 0))
    page.wait_for_url("**/map/host?name=*")


@FEW
@pytest.mark.parametrize("browser_options", [{"viewport": DESKTOP, "java_script_enabled": False}], ids=["no-script"])
def test_without_scripts_the_table_does(page: Page) -> None:
    page.goto("/map")
    expect(page.locator("#map-state")).to_contain_text("the table has the same data")
    page.get_by_label("Find a host").fill("garden")
    page.get_by_role("button", name="Find").click()
    page.locator("table.regions a").first.click()
    assert "/map/host?name=garden" in page.url


@FEW
def test_the_colours_follow_the_system(page: Page) -> None:
    data = open_map(page)
    assert {region["n_others"] for region in data["regions"]} == {0}, "all known pages were fetched"
    circles = {"light": "38,58,143", "dark": "242,238,176"}
    for scheme, other in (("light", "dark"), ("dark", "light")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = colours(page)
        assert found[circles[scheme]] > 0.01
        assert found.get(circles[other], 0) < 0.001
