"""The whole story in a real browser: from an empty library to search, a refresh, an estimate, a shared certificate and
an export, over a restart of the server in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from tests.browser.conftest import DESKTOP
from tests.browser.test_all_pages import findings
from tests.cli.live_process import wait_until
from tests.cli.run import orienteer
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.ready_jobs import place
from tests.ready_process import ReadyPopen
from tests.window import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


class Cellar(Site):
    """An endless tree of pages on any host; all link to one page of another host."""

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt":
            return FakeResponse("User-agent: *\nDisallow: /private/\n", content_type="text/plain")
        shelf = target.strip("/") or "1"
        links = "".join(f'<li><a href="/{shelf}.{n}">Shelf {shelf}.{n}</a></li>' for n in range(1, 5))
        port = (headers.get("Host") or host).partition(":")[2]
        links += f'<li><a href="http://localhost:{port}/other">Another cellar</a></li>'
        text = f"Barrels of cider lie on shelf {shelf} of the cellar."
        return FakeResponse(
            f"<!DOCTYPE html><title>Shelf {shelf}</title><h1>Shelf {shelf}</h1><p>{text}</p><ul>{links}</ul>"
        )


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(Cellar()) as web:
        yield web


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Path]:
    """The folder of the library; jobs that still run at the end are stopped."""
    path = tmp_path / "crawls"
    yield path
    jobs = Jobs(Library(path))
    for _ in range(2):  # as Ctrl-C, and then at once
        for job in jobs.all():
            if job.is_alive:
                jobs.stop(job.id)
    wait_until(lambda: not any(job.is_alive for job in jobs.all()))


@contextmanager
def serving(library: Path) -> Iterator[str]:
    """`orienteer serve` as a process, killed at the end: it holds no state that could be lost."""
    command = [sys.executable, "-m", "tests.ready_jobs", place(), "serve", "--library", str(library), "--json"]
    process = ReadyPopen(
        [*command, "--allow-private", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        output = ""
        while not output.rstrip().endswith("}"):
            output += process.stdout.readline()
        yield json.loads(output)["address"].rstrip("/")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@contextmanager
def window(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(base_url=address, viewport=DESKTOP)  # type: ignore[arg-type]
    try:
        yield context.new_page()
    finally:
        context.close()


def n_found(page: Page, crawl: str) -> int:
    """How many pages a search finds."""
    return int(
        page.evaluate(f"fetch('/crawls/{crawl}/api/search?q=cider').then(a => a.json()).then(r => r.total ?? 0)")
    )


def wait_for_more(page: Page, crawl: str, n_before: int) -> None:
    """Wait until a search finds more pages than before. It polls slowly, since each search costs as much as a job."""
    wait_until(lambda: n_found(page, crawl) > n_before or page.wait_for_timeout(500))


def test_from_an_empty_library_to_search(browser: Browser, web: FakeWeb, library: Path, tmp_path: Path) -> None:
    with serving(library) as address, window(browser, address) as page:
        begin(page, web)
        watch_and_search(page)
    # Browser and server are gone; the crawl is not.
    with serving(library) as address, window(browser, address) as page:
        page.goto("/")
        card = page.locator(".one-crawl")
        expect(card.locator(".badge")).to_have_text("Running")
        stop_and_resume(page)
        refresh(page)
        estimate(page, web)
        share(page, library, tmp_path / "shared.html")
        export_and_delete(page, library)


def begin(page: Page, web: FakeWeb) -> None:
    """Paste a URL, read the preview, start the crawl."""
    page.goto("/")
    expect(page.locator("main")).to_contain_text("Paste a URL")
    assert findings(page) == []
    page.get_by_label("Start a new crawl").fill(f"http://127.0.0.1:{web.port}/")
    page.get_by_role("button", name="Next").click()
    page.wait_for_load_state()  # scripts miss what is typed before they are loaded
    preview = page.locator("#preview")
    expect(preview).to_contain_text("at most one request in one second to 127.0.0.1")
    page.get_by_label("Seconds between two requests").fill("0.1")  # what will happen follows
    expect(preview).to_contain_text("at most 10 requests a second")
    page.get_by_label("Name").fill("cellar")
    expect(preview).to_contain_text("/crawls/cellar, on this machine only")
    assert findings(page) == []
    assert web.requests == []  # nothing has happened yet
    page.get_by_role("button", name="Start the crawl").click()
    expect(page).to_have_url(re.compile("/crawls/cellar/crawl$"))


def watch_and_search(page: Page) -> None:
    """The page of a crawl that is about to start updates itself; the crawl can be searched while it runs."""
    expect(page.locator(".phase")).to_have_text("Running")
    expect(page.locator("svg.drawing")).to_be_visible()
    wait_for_more(page, "cellar", 0)
    page.goto("/crawls/cellar/?q=cider")
    expect(page.locator(".results")).to_contain_text("Shelf 1")
    page.goto("/jobs")
    expect(page.locator("#jobs-alive")).to_contain_text("cellar")
    assert findings(page) == []


def stop_and_resume(page: Page) -> None:
    page.locator(".one-crawl").get_by_role("button", name="Stop").click()
    expect(page.locator(".one-crawl .badge")).to_have_text("Stopped")  # without loading the page again
    page.get_by_role("link", name="Manage").click()
    expect(page.locator(".jobs")).to_contain_text("Stopped")
    assert findings(page) == []
    page.locator("form[action$='/start/crawl']").get_by_label("Pages at most").fill("lots")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("alert")).to_contain_text("the limit is 'lots'")
    page.locator("form[action$='/start/crawl']").get_by_label("Pages at most").fill("10000")
    page.get_by_role("button", name="Resume").click()
    expect(page).to_have_url(re.compile("/crawls/cellar/crawl$"))
    expect(page.locator(".phase")).to_have_text("Running")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".phase")).to_have_text("Stopped")


def refresh(page: Page) -> None:
    page.goto("/crawls/cellar/manage")
    page.get_by_role("button", name="Refresh").click()
    expect(page).to_have_url(re.compile("/crawls/cellar/crawl$"))
    expect(page.locator(".phase")).to_have_text("Running")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".phase")).to_have_text("Stopped")


def estimate(page: Page, web: FakeWeb) -> None:
    """It runs to its end: pages of the neighborhood are fetched, the most linked one among them, on the other host."""
    page.goto("/crawls/cellar/manage")
    expect(page.locator("#manage-state .job")).to_have_count(0)
    n_before = len(web.requests)
    page.locator("form[action$='/start/estimate']").get_by_label("Pages at most").fill("3")
    page.get_by_role("button", name="Estimate").click()
    row = page.locator(".jobs tbody tr").filter(has_text="Estimate")
    expect(row).to_contain_text("Done")
    asked = [host for _, host, target in web.requests[n_before:] if target != "/robots.txt"]
    assert len(asked) == 3
    assert f"localhost:{web.port}" in asked


def share(page: Page, library: Path, file: Path) -> None:
    """The certificate, as a file that others check."""
    page.goto("/crawls/cellar/certificate")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download the certificate").click()
    saved.value.save_as(file)
    assert saved.value.suggested_filename == "cellar.certificate.html"
    assert orienteer("verify", file, library / "cellar").stdout.startswith("The certificate holds")


def export_and_delete(page: Page, library: Path) -> None:
    page.goto("/crawls/cellar/manage")
    expect(page.locator("#manage-state .job")).to_have_count(0)
    before = n_found(page, "cellar")
    page.get_by_role("button", name="Update the index").click()
    wait_for_more(page, "cellar", before)
    page.get_by_label("Format").select_option("jsonl")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    lines = saved.value.path().read_text().splitlines()
    assert saved.value.suggested_filename == "cellar.jsonl"
    assert "cider" in json.loads(lines[0])["text"]
    page.get_by_label("New name").fill("old cellar")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator("h1")).to_have_text("Manage old cellar")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("main")).to_contain_text("Paste a URL")
    assert Library(library).names() == []
    assert [name for name in os.listdir(library) if not name.startswith(".")] == []
