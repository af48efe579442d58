"""The cost of rendering a page in a browser: four single-page applications (React, Vue, Svelte, Lit), 13 pages each.

All drive the same browser (Chromium's headless shell), one page after the other, and answers its requests from memory;
pictures are refused. A page counts where its links or its text came out. CPU time is that of the driver, the browser
and all their processes, once they have started; memory is the proportional set size (PSS) of all of them in the end.
Playwright waits until the page has loaded and its network is idle; "same tab" leaves cookies, storage and scripts'
workers of one page to the next. crawl4ai has its own way: it is measured if CRAWL4AI_PYTHON names a Python that has it.

The second table is about which pages `--render auto` renders: the WCXB development pages, of which nearly every one is
the only one of its host, and so the first of its kind. A page needs a browser if less than half of the words of its
true main text were sent. They come without their assets; only the choice is counted.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import select
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.process_costs import Cost, Meter
from benchmarks.render_suspects import choice_table
from benchmarks.sizes import DATA, sized
from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob, RenderSettings
from orienteer.browser.process import find_browser
from orienteer.browser.renderer import Renderer
from orienteer.files.compressed import zstd
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import PageRequest, Response

ARCHIVE = DATA / "spas.tar.zst"
NAMES = sized(("react", "vue", "svelte", "lit"), ("react",))
N_PAGES = sized(13, 2)  # of each application
N_WARM = sized(4, 1)
ROUNDS = sized(2, 1)
AGENT = "Mozilla/5.0 (compatible; Orienteer/benchmark)"
ITEMS = [{"id": i, "name": f"Thing {i}", "text": f"The words of number {i} are here"} for i in range(1, 13)]


class Web:
    """The applications, in memory."""

    def __init__(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(zstd.decompress(ARCHIVE.read_bytes()))) as files:
            members = [(member.name, files.extractfile(member)) for member in files if member.isfile()]
            self.files = {
                name.rpartition("dist/")[2]: file.read() for name, file in members if file and "dist/" in name
            }
        self.urls = [
            f"https://{name}.test/" + (f"item/{i}" if i else "") for i in range(sized(13, 2)) for name in NAMES
        ]

    def response(self, url: str) -> tuple[int, str, bytes]:
        name, _, path = url.removeprefix("https://").partition(".test/")
        if path == "api/items.json":
            return 200, "application/json", json.dumps(ITEMS).encode()
        if path == "app.js":
            return 200, "text/javascript", self.files[f"{name}/app.js"]
        if path == "" or path.startswith("item/"):
            return 200, "text/html", self.files[f"{name}/index.html"]
        return 404, "text/plain", b""

    def is_right(self, url: str, dom: str, links: Any) -> bool:
        item = url.rpartition("/")[2]
        if item:
            return f"The words of number {item} are here" in dom
        return {f"{url}item/{i}" for i in range(1, 13)} <= set(links)


# -- who is measured ------------------------------------------------------------------------------------------------


def orienteer(tabs: int) -> Callable[[], Cost]:
    def run() -> Cost:
        web = Web()
        renderer = Renderer(str(find_browser()), tabs=tabs)
        _render(renderer, web, web.urls[:N_WARM])
        meter = Meter()
        n_right = _render(renderer, web, web.urls)
        cost = meter.cost(n_right, len(web.urls))
        renderer.close()
        return cost

    return run


def _render(renderer: Renderer, web: Web, urls: list[str]) -> int:
    for i, url in enumerate(urls):
        renderer.start(RenderJob(i, _response(i, url, web.response(url)), RenderSettings(scrolls=0, time_s=5.0), AGENT))
    n_right = 0
    while renderer.n_in_flight:
        select.select([renderer.descriptor], [], [])
        for event in renderer.events():
            if isinstance(event, BrowserRequest):
                found = _response(event.page, event.url, web.response(event.url))
                renderer.fulfill(BrowserResponse(event.page, event.number, found))
            else:
                job, rendered = event
                n_right += web.is_right(job.url, rendered.document.decode(), rendered.links)
    return n_right


def _response(page: int, url: str, found: tuple[int, str, bytes]) -> Response:
    status, kind, content = found
    headers = Headers([("content-type", kind)])
    return Response(PageRequest(url, page), Outcome.OK, status, headers=headers, content=content)


_LINKS = """() => { const links = [], walk = (root) => { for (const e of root.querySelectorAll('*')) {
  if (e.localName === 'a' && e.href) links.push(e.href); if (e.shadowRoot) walk(e.shadowRoot); } };
  walk(document); const roots = [], find = (root) => { for (const e of root.querySelectorAll('*'))
  if (e.shadowRoot) { roots.push(e.shadowRoot); find(e.shadowRoot); } }; find(document);
  return [document.documentElement.getHTML({shadowRoots: roots}), links]; }"""


def playwright(same_tab: bool) -> Callable[[], Cost]:
    return lambda: asyncio.run(_by_playwright(same_tab))


async def _by_playwright(same_tab: bool) -> Cost:
    from playwright.async_api import Route, async_playwright

    web = Web()

    async def response(route: Route) -> None:
        if route.request.resource_type in ("image", "font", "media"):
            await route.abort()
            return
        status, kind, content = web.response(route.request.url)
        await route.fulfill(status=status, content_type=kind, body=content)

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=str(find_browser()), args=["--no-sandbox"])

        async def opened() -> Any:
            context = await browser.new_context(service_workers="block")
            await context.route("**/*", response)
            return await context.new_page()

        async def rendered(urls: list[str]) -> int:
            n_right, page = 0, None
            for url in urls:
                page = page or await opened()
                await page.goto(url, wait_until="networkidle")
                dom, links = await page.evaluate(_LINKS)
                n_right += web.is_right(url, dom, links)
                if not same_tab:
                    await page.context.close()
                    page = None
            return n_right

        await rendered(web.urls[:N_WARM])
        meter = Meter()
        cost = meter.cost(await rendered(web.urls), len(web.urls))
        await browser.close()
        return cost


def crawl4ai() -> Cost | None:
    """By another Python, which has it; what it needs goes through a pipe."""
    python = os.environ.get("CRAWL4AI_PYTHON")
    if not python:
        return None
    web = Web()
    files = {name: file.decode() for name, file in web.files.items() if name.endswith((".js", ".html"))}
    settings = json.dumps({"files": files, "items": ITEMS, "names": NAMES, "browser": str(find_browser())})
    command = [python, "-m", "benchmarks.crawlers.crawl4ai_rendering"]
    done = subprocess.run(
        command, input=settings, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


CONTENDERS: list[tuple[str, Callable[..., Callable[[], Cost]], Any]] = [
    ("Orienteer, a context a page", orienteer, 1),
    ("Orienteer, two pages at once", orienteer, 2),
    ("Playwright, a context a page", playwright, False),
    ("Playwright, same tab", playwright, True),
]


def run() -> str:
    """The contenders take turns; of the rounds of each the cheapest counts."""
    best: dict[str, Cost] = {}
    for _ in range(ROUNDS):
        for label, prepare, argument in CONTENDERS:
            cost = measured(prepare, argument, rounds=1).result
            best[label] = min(best.get(label, cost), cost)
    other = crawl4ai()
    if other is not None:
        best["crawl4ai, a context a page"] = other
    theirs = best["Playwright, a context a page"].cpu_ms
    rows = [
        [label, f"{cost.cpu_ms:.0f}", f"{cost.cpu_ms / theirs:.2f}", f"{cost.driver_ms:.0f}", f"{cost.wall_ms:.0f}",
         f"{cost.pss_mb:.0f}", f"{cost.n_right} of {cost.n_pages}"]
        for label, cost in best.items()
    ]  # fmt: skip
    headings = ["", "CPU ms a page", "of Playwright's", "of it in Python", "wall ms a page", "PSS, MB", "right"]
    browser = subprocess.run([str(find_browser()), "--version"], capture_output=True, text=True).stdout.strip()
    costs = f"{machine('playwright')}, {browser}\n\n" + table(headings, rows)
    return f"{costs}\n{choice_table()}"
