"""Takes the pictures of the README anew, on the small crawl: `python -m tests.browser.screenshots docs`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import browser_path
from tests.web.live_server import served
from tests.web.small_crawl import make_small_crawl

PICTURES = {"search": "/?q=charts&rank=global&seen_from=local"}
SIZE = {"width": 1000, "height": 640}


def take(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        crawl = make_small_crawl(Path(place) / "harbour.test")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        with served(crawl) as address:
            page = browser.new_page(base_url=address, viewport=SIZE)  # type: ignore[arg-type]
            for name, target in PICTURES.items():
                page.goto(target)
                page.screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
