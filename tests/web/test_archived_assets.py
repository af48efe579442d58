"""Assets that failed are not counted as archived: in the bar above an archived page, as JSON, and in reports."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.run_report import Report
from orienteer.store.folder import CrawlFolder
from orienteer.web.app import create_app
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.live.rendered_pages import MAX_ASSET_BYTES, css, moved, png, settings
from tests.web.live_server import client_of, served

A = "http://a.test"
HOME, EMPTY, STYLED = f"{A}/", f"{A}/unstyled", f"{A}/styled"
GONE = [f"{A}/style{k}.css" for k in range(3)]
PAGES = {
    HOME: "<title>Home</title><img src=/good.png><img src=/huge.png><img src=/moved.png><img src=/lost.png>"
    "<img src=http://b.test/x.png><img src=/cut.png><img src=/shy.png><img src=/slow.png>"
    "<img src=/astray.png><img src=/same.png><img src=/empty.png>"
    f"<a href={EMPTY}>unstyled</a> <a href={STYLED}>styled</a>",
    EMPTY: "<title>Unstyled</title>" + "".join(f"<link rel=stylesheet href={url}>" for url in GONE),
    STYLED: "<title>Styled</title><link rel=stylesheet href=/good.css>",
    f"{A}/good.css": css("@import url(more.css); p { background: url(/good.png) }"),
    f"{A}/more.css": FakeResponse(status=503, content_type="text/css"),
    f"{A}/good.png": png("good"),
    f"{A}/slow.png": FakeResponse(reset=True),
    f"{A}/moved.png": moved("/good.png"),
    f"{A}/lost.png": moved("/nowhere.png"),
    f"{A}/astray.png": moved("http://b.test/y.png"),
    f"{A}/same.png": FakeResponse(status=304),
    f"{A}/empty.png": FakeResponse(status=204, content_type=None),
    f"{A}/huge.png": png("x" * (MAX_ASSET_BYTES + 1)),
    f"{A}/cut.png": FakeResponse(reset=True),
    f"{A}/shy.png": png("shy", headers=(("X-Robots-Tag", "noarchive"),)),
}
REASONS = {
    f"{A}/huge.png": "too large",
    f"{A}/lost.png": "http 404",
    "http://b.test/x.png": "robots.txt",
    f"{A}/cut.png": "broken answer",
    f"{A}/shy.png": "its server asks not to archive it",
    f"{A}/slow.png": "timed out",
    f"{A}/astray.png": "robots.txt",
    f"{A}/same.png": "not modified",
}


class ServedPages(NamedTuple):
    folder: Path
    report: Report
    client: httpx.Client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPages]:
    folder = tmp_path_factory.mktemp("assets") / "crawl"
    with FakeWeb(MadeSite(PAGES, {"b.test": "User-agent: *\nDisallow: /"})) as web:
        report = crawled(web, HOME, folder, settings=settings(), scope="host")
    with CrawlFolder.open(folder) as crawl:  # a real timeout is slow, and others might time out on a busy machine
        row = crawl.database.assets.last_finished(f"{A}/slow.png")
        assert row is not None
        crawl.database.assets.finish(row._replace(outcome="timed out"))
        crawl.acknowledge()
    with served(Path(), app=create_app(folder)) as address, client_of(address) as client:
        yield ServedPages(folder, report, client)


def bar_of(site: ServedPages, page: str) -> str:
    """The bar above a page after a browser has asked for all assets of the page."""
    text = site.client.get("/archived", params={"url": page}).text
    found = re.search(r'<iframe id="archived" src="([^"]+)"', text)
    assert found is not None
    frame = html.unescape(found[1])
    origin = "/".join(frame.split("/")[:3])
    waiting = re.findall(r'(?:src|href)="(/[\w-]+/asset/[^"]+)"', site.client.get(frame).text)
    while waiting:
        response = site.client.get(origin + html.unescape(waiting.pop()), follow_redirects=True)
        if response.headers["content-type"].startswith("text/css"):
            waiting += re.findall(r'"(/[\w-]+/asset/[^"]+)"', response.text)
    return site.client.get("/archived/bar", params={"view": urlsplit(frame).path.split("/")[1]}).text


def listed_in(bar: str) -> dict[str, str]:
    return dict(re.findall(r'<li>(\S+) <span class="quiet">\(([^)]+)\)', bar))


def test_styles_that_answered_404_are_not_in_the_archive(site: ServedPages) -> None:
    bar = bar_of(site, EMPTY)
    assert "3 of 3 assets are not in the archive" in bar
    assert listed_in(bar) == dict.fromkeys(GONE, "http 404")


def test_the_bar_says_why_each_asset_is_missing(site: ServedPages) -> None:
    bar = bar_of(site, HOME)
    targets = {f"{A}/lost.png": f"{A}/nowhere.png", f"{A}/astray.png": "http://b.test/y.png"}
    reasons = {targets.get(url, url): why for url, why in REASONS.items()}  # a redirect is no asset itself
    assert listed_in(bar) == reasons
    assert "8 of 11 assets are not in the archive" in bar


def test_assets_of_styles_count(site: ServedPages) -> None:
    bar = bar_of(site, STYLED)
    assert listed_in(bar) == {f"{A}/more.css": "http 503"}
    assert "1 of 3 assets is not in the archive" in bar


def test_json_has_the_same_reasons(site: ServedPages) -> None:
    found = site.client.get("/api/archived/assets", params={"url": HOME}).json()
    assert {asset["url"]: asset["reason"] for asset in found["assets"] if asset["reason"]} == REASONS
    assert (found["n_archived"], found["n_missing"]) == (3, 8)
    found = site.client.get("/api/archived/assets", params={"url": STYLED}).json()
    assert [(asset["url"], asset["status"], asset["reason"]) for asset in found["assets"]] == [
        (f"{A}/good.css", 200, ""), (f"{A}/more.css", 503, "http 503"), (f"{A}/good.png", 200, "")
    ]  # fmt: skip
    assert site.client.get("/api/archived/assets", params={"url": f"{A}/unknown"}).status_code == 404


def test_an_unrequested_asset(site: ServedPages) -> None:
    text = site.client.get("/archived", params={"url": HOME}).text
    frame = re.search(r'<iframe id="archived" src="([^"]+)"', text)
    assert frame is not None
    view = urlsplit(html.unescape(frame[1]))
    _, number, _, time, *_ = view.path.split("/")
    site.client.get(html.unescape(frame[1]))
    site.client.get(f"{view.scheme}://{view.netloc}/{number}/asset/{time}/{A}/made-by-a-script.png")
    bar = site.client.get("/archived/bar", params={"view": number}).text
    assert listed_in(bar) == {f"{A}/made-by-a-script.png": "not fetched"}


def test_figures_count_responses_of_2xx(site: ServedPages) -> None:
    assets = crawl_status(site.folder).assets
    assert assets.n_archived == site.report.assets.n_archived == 3
    failures = {
        "http 404": 4, "broken answer": 1, "http 503": 1, "not modified": 1, "robots.txt": 2, "timed out": 1,
        "too large": 1,
    }  # fmt: skip
    assert assets.failures == failures
    assert next(iter(assets.failures)) == "http 404"  # the most frequent one comes first
    assert assets.n_failed == site.report.assets.n_failed == site.report.figures.n_assets_failed == 11
    del failures["timed out"]
    assert site.report.as_dict()["assets"]["failures"] == {**failures, "broken answer": 2}
