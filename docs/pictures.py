"""Take pictures of every page, wide and narrow, light and dark, on the demo town: `python docs/pictures.py FOLDER`.

The town is served and crawled on this machine; nothing leaves it. With `--docs` only the pictures in the
documentation are taken, and replace the old ones. A new page is one line in PAGES.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import NamedTuple

from fastapi import FastAPI
from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from orienteer.fake_web.server import TownServer
from orienteer.fake_web.site import HOME, TownSite, url_at_port
from orienteer.ledger.settings import EstimateSettings
from orienteer.live.session import live_crawl
from orienteer.search.indexing import update_index
from orienteer.side_crawls.estimate import live_estimate
from orienteer.web.app import create_app, create_library_app
from orienteer.web.server import PageServer, listening, next_listener

DOCS = Path(__file__).parent
PORT = 8642
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=800)
N_COLOURS = 256  # of a picture: a page has few, and so the file is small


class Picture(NamedTuple):
    """A page of a crawl: the `finished` one, the `bare` one without index and estimate, or of the `library`
    with both. `shows` is a selector that exists once the page is complete."""

    target: str
    crawl: str = "finished"
    shows: str = "main"


PAGES = {
    "search": Picture("/?q=bridge&rank=global"),
    "search-empty": Picture("/"),
    "status": Picture("/crawl"),
    "map": Picture("/map"),
    "map-host": Picture(f"/map/host?name=www.quillhaven.localhost:{PORT}"),
    "report": Picture("/report", shows=".report-headline"),
    "changes": Picture("/changes"),
    "certificate": Picture("/certificate", shows="text=Download the certificate"),
    "neighborhood": Picture("/neighborhood"),
    "details": Picture(f"/page?url={url_at_port(HOME, PORT)}"),
    "archived": Picture(f"/archived?url={url_at_port(HOME, PORT)}"),
    "archived-dates": Picture(f"/archived/dates?url={url_at_port(HOME, PORT)}"),
    "api": Picture("/api/docs"),
    "refused": Picture("/nothing"),
    "search-bare": Picture("/", "bare"),
    "neighborhood-bare": Picture("/neighborhood", "bare"),
    "library": Picture("/", "library"),
    "library-search": Picture("/search?q=bridge", "library"),
    "library-new": Picture("/new?url=https://example.org/", "library"),
    "library-jobs": Picture("/jobs", "library"),
    "library-manage": Picture("/crawls/quillhaven/manage", "library"),
    "library-schedule": Picture("/crawls/quillhaven/schedule", "library"),
    "library-status": Picture("/crawls/quillhaven/crawl", "library"),
}
KINDS = {f"{size}-{scheme}": (viewport, scheme) for size, viewport in (("wide", WIDE), ("narrow", NARROW))
         for scheme in ("light", "dark")}  # fmt: skip
# What the documentation shows: its file, the page, and the kind of picture.
IN_DOCS = {
    "search.png": ("search", "wide-light"),
    "crawl.png": ("status", "wide-light"),
    "map.png": ("map", "wide-light"),
    "neighborhood.png": ("neighborhood", "wide-light"),
    "library.png": ("library", "wide-light"),
    "report.png": ("report", "wide-light"),
    "certificate.png": ("certificate", "wide-light"),
    "crawl-phone.png": ("status", "narrow-dark"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the pictures go")
    parser.add_argument("--docs", action="store_true", help="those of the documentation instead")
    parser.add_argument("--only", nargs="*", choices=sorted(PAGES), help="some pages")
    given = parser.parse_args()
    if (given.folder is None) == (not given.docs):
        parser.error("name a folder, or --docs")
    requested = (
        {DOCS / file: picture for file, picture in IN_DOCS.items()}
        if given.docs
        else {given.folder / f"{page}-{kind}.png": (page, kind) for page in given.only or PAGES for kind in KINDS}
    )
    with tempfile.TemporaryDirectory() as place:
        take(requested, Path(place))


def take(requested: dict[Path, tuple[str, str]], place: Path) -> None:
    finished, bare = _town(place / "quillhaven"), _bare(place / "quillhaven-begun")
    crawls = {"finished": create_app(finished), "bare": create_app(bare), "library": create_library_app(place)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=["--no-sandbox"])
        for crawl, app in crawls.items():
            with _served(app) as address:
                for path, (page, kind) in requested.items():
                    if PAGES[page].crawl == crawl:
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_bytes(_picture(browser, address, PAGES[page], kind))
                        print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
        browser.close()


def _picture(browser: Browser, address: str, picture: Picture, kind: str) -> bytes:
    viewport, scheme = KINDS[kind]
    with browser.new_context(base_url=address, viewport=viewport, color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(picture.target)
        page.locator(picture.shows).first.wait_for()
        if page.locator("#map-state").count():
            page.wait_for_function("document.getElementById('map-state').textContent === ''")
        page.wait_for_timeout(300)  # what is drawn is drawn with the next frame
        return _small(page.screenshot())


def _small(png: bytes) -> bytes:
    """Return the same picture with fewer colours."""
    found = io.BytesIO()
    few = (
        Image.open(io.BytesIO(png))
        .convert("RGB")
        .quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(found, "PNG", optimize=True)
    return found.getvalue()


def _town(folder: Path) -> Path:
    """Crawl slowly enough for a smooth curve; then estimate and index."""
    with TownServer(TownSite(), PORT) as web:
        settings = {"politeness": {"delay_s": 0.08}, "fetch": {"connect_to": web.address}}
        live_crawl(url_at_port(HOME, PORT), folder, until=0.98, scope="site", settings=settings)
        live_estimate(folder, EstimateSettings(budget=700, rounds=20))
    update_index(folder)
    return folder


def _bare(folder: Path) -> Path:
    """Crawl up to a budget, without index and estimate."""
    with TownServer(TownSite(), PORT) as web:
        settings = {"politeness": {"delay_s": 0.0}, "fetch": {"connect_to": web.address}}
        live_crawl(url_at_port(HOME, PORT), folder, budget=60, scope="site", settings=settings)
    return folder


@contextmanager
def _served(app: FastAPI) -> Iterator[str]:
    """Serve an application, and yield the address of its pages."""
    server = PageServer(app)
    with listening("127.0.0.1", 0) as listener, next_listener(listener) as archive_listener:
        thread = threading.Thread(target=server.serve_on, args=(listener, archive_listener), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            app.state.served.end()
            server.should_exit = True
            thread.join()
            app.state.served.close()


def _browser() -> str:
    found = next(filter(None, map(which, BROWSERS)), None)
    if found is None:
        sys.exit(f"a browser is needed: {', '.join(BROWSERS)}")
    return found


if __name__ == "__main__":
    main()
