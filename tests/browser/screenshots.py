"""Takes the pictures of the README anew, on the town of the demo: `python -m tests.browser.screenshots docs`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import orienteer as ori
from orienteer.around.estimate import live_estimate
from orienteer.around.rounds import EstimateSettings
from orienteer.fake_web.community.addresses import HOME
from orienteer.fake_web.community.site import CommunitySite, seen_at
from orienteer.fake_web.server import FakeWeb
from orienteer.live.session import live_crawl
from tests.web.live_server import served
from tests.window import browser_path

PICTURES = {
    "search": ("/?q=bridge&rank=global", 700),
    "crawl": ("/crawl", 660),
    "map": ("/map", 660),
}
WIDTH, PORT = 1000, 8642


def take(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        crawl = _town(Path(place) / "quillhaven")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        with served(crawl) as address:
            for name, (target, height) in PICTURES.items():
                page = browser.new_page(base_url=address, viewport={"width": WIDTH, "height": height})
                page.goto(target)
                page.wait_for_timeout(2_000)  # the map is drawn
                page.screenshot(path=folder / f"{name}.png")
        browser.close()


def _town(folder: Path) -> Path:
    """Crawled slowly enough for a smooth curve, seen from outside, and indexed."""
    with FakeWeb(CommunitySite(), PORT) as web:
        settings = {"politeness": {"delay_s": 0.08}, "fetch": {"connect_to": web.address}}
        live_crawl(seen_at(HOME, PORT), folder, until=0.98, scope="site", settings=settings)
        live_estimate(folder, EstimateSettings(budget=700, rounds=20))
    ori.update_index(folder)
    return folder


if __name__ == "__main__":
    take(Path(sys.argv[1]))
