"""Exports replayed by other tools: each request of a page is answered from the archive."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.replay_tools.conftest import Exported
from tests.replay_tools.sites import HOME, N_REAL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Frame, Request, Response

pytestmark = pytest.mark.slow

_TIMEOUT_MS = 300_000
_TRIES, _A_TRY_MS = 6, 40_000  # for ReplayWeb.page to begin
_OF_BROWSER = re.compile(r"(?:[\w-]+\.)*(?:google|googleapis|gstatic|gvt1)\.com:443")  # whom Chromium itself asks
# What of a page was loaded, once all is: pictures that have a size, and styles that have rules. Not at once: what
# plays a page may load it a second time.
_LOADED = """() => {
  const images = [...document.images], isRendered = images.length && images.every(image => image.naturalWidth);
  const styles = [...document.styleSheets].filter(sheet => sheet.cssRules.length).length;
  const isLoaded = document.readyState === "complete" && styles && isRendered;
  return isLoaded && {title: document.title, pictures: images.length, styles};
}"""


def is_of_page(request: Request) -> bool:
    """Return whether an archived page sends a request, and not the replay tool."""
    if request.service_worker is not None:
        return False
    return "/http" in request.url or "/http" in request.frame.url


class Watched:
    """A browser that can only reach this machine; `wrong` are its failed requests.

    A page that is left may not have got its icon yet: what was `cut_off` so is asked for again in the end.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.wrong: list[str] = []
        self.cut_off: list[tuple[Frame, str]] = []
        self.context = context
        context.set_default_timeout(_TIMEOUT_MS)
        context.on("response", self._came)
        context.on("requestfailed", self._failed)

    def _failed(self, request: Request) -> None:
        if not is_of_page(request):
            return
        if request.failure == "net::ERR_ABORTED":
            self.cut_off.append((request.frame, request.url))
        else:
            self.wrong.append(f"{request.failure} {request.url}")

    def _came(self, response: Response) -> None:
        if response.status >= 400 and is_of_page(response.request):
            self.wrong.append(f"{response.status} {response.url}")

    def ask_again(self) -> None:
        for frame, url in self.cut_off:
            status = frame.evaluate("url => fetch(url).then(answer => answer.status, String)", url)
            if status != 200:
                self.wrong.append(f"{status} {url}")

    def loaded(self, frame: Frame, address: str) -> dict[str, Any]:
        frame.goto(address, wait_until="networkidle")
        found: dict[str, Any] = frame.wait_for_function(_LOADED).json_value()
        return found


@pytest.fixture(scope="module")
def window(browser: Browser, outside: tuple[str, list[str]]) -> Iterator[Watched]:
    """One browser for all tests: the replay tools take long to load."""
    with browser.new_context(proxy={"server": outside[0], "bypass": "127.0.0.1"}) as context:
        yield Watched(context)


@pytest.fixture
def watched(window: Watched, outside: tuple[str, list[str]]) -> Iterator[Watched]:
    yield window
    window.ask_again()
    wrong = window.wrong + [host for host in outside[1] if not _OF_BROWSER.fullmatch(host)]
    window.wrong.clear()
    window.cut_off.clear()
    outside[1].clear()
    assert wrong == []


@pytest.fixture(scope="module")
def tab(window: Watched) -> Frame:
    """The tab in which pywb replays pages."""
    return window.context.new_page().main_frame


def expect_made_page(watched: Watched, frame: Frame, prefix: str) -> None:
    """Check that the scripts, styles, images and the frame of a page are loaded; `prefix` precedes its URL."""
    assert watched.loaded(frame, f"{prefix}{HOME}")["pictures"] == 3
    frame.wait_for_function("document.getElementById('said').textContent === 'bulrush and sedge'")
    assert frame.title() == "Made by scripts"
    assert frame.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    inner = frame.frame_locator("iframe").locator("p")
    assert inner.inner_text() == "In a frame."
    assert inner.evaluate("element => getComputedStyle(element).color") == "rgb(0, 128, 0)"


def expect_real_pages(exported: Exported, watched: Watched, frame: Frame, prefix: str) -> None:
    """Check every page with images and styles."""
    if len(exported.real) < N_REAL:
        pytest.skip("the documents of Debian cannot be fetched here: that takes apt-get")
    found = [watched.loaded(frame, f"{prefix}{url}") for url in exported.real]
    assert len({one["title"] for one in found}) == N_REAL


@pytest.mark.parametrize("collection", ["warc", "wacz", "folder"])
def test_pywb_replays_a_page_with_scripts(pywb: str, watched: Watched, tab: Frame, collection: str) -> None:
    expect_made_page(watched, tab, f"{pywb}/{collection}/mp_/")


def test_pywb_replays_real_pages(pywb: str, exported: Exported, watched: Watched, tab: Frame) -> None:
    expect_real_pages(exported, watched, tab, f"{pywb}/wacz/mp_/")


def test_pywb_has_the_document_and_the_screenshot(pywb: str) -> None:
    for collection in ("warc", "wacz", "folder"):
        for kind, mime in (("dom", "text/html"), ("view", "image/jpeg")):
            with urllib.request.urlopen(f"{pywb}/{collection}/cdx?url=urn:{kind}:{HOME}&output=json") as answer:
                (line,) = map(json.loads, answer.read().splitlines())
            assert line["mime"] == mime


def shows_home(frame: Frame) -> bool:
    return frame.url.endswith(f"mp_/{HOME}")


@pytest.fixture(scope="module")
def replayed(replaywebpage: str, window: Watched) -> tuple[Frame, str]:
    """The frame in which ReplayWeb.page displays the loaded archive, and its prefix of URLs."""
    from playwright.sync_api import TimeoutError

    for _ in range(_TRIES):
        page = window.context.new_page()
        try:
            with page.expect_event("framenavigated", shows_home, timeout=_A_TRY_MS) as seen:
                page.goto(f"{replaywebpage}/")
        except TimeoutError:  # its service worker does not always begin: a person would load the page again
            page.close()
            window.cut_off.clear()
            continue
        frame = seen.value
        frame.wait_for_load_state()
        return frame, frame.url.removesuffix(HOME)
    raise AssertionError(f"ReplayWeb.page showed nothing in {_TRIES} tries")


def test_replaywebpage_replays_a_page_with_scripts(watched: Watched, replayed: tuple[Frame, str]) -> None:
    expect_made_page(watched, *replayed)


def test_replaywebpage_replays_real_pages(exported: Exported, watched: Watched, replayed: tuple[Frame, str]) -> None:
    expect_real_pages(exported, watched, *replayed)
