"""Crawls that archive assets: each one once, politely, and without any effect on the crawl itself."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.imports.import_crawl import import_crawl
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.inspect.status_text import describe_assets
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.revisiting import DAY_S
from orienteer.ledger.settings import CrawlSettings
from orienteer.live.session import open_crawl, refresh
from orienteer.pages.stop_reason import StopReason
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.repair.repair import repair
from orienteer.settings import merged
from orienteer.store.folder_view import FolderView
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, host_and_target
from tests.live.live_crawls import StoredCrawl, crawled
from tests.live.rendered_pages import (
    ARCHIVED,
    HOME,
    OTHER,
    PAGES,
    REDIRECTS,
    REFUSED,
    assets_of,
    bodies_of,
    css,
    png,
    settings,
    site,
)


class AssetCrawl(NamedTuple):
    folder: Path
    report: Report
    requests: Counter[tuple[str, str]]
    max_at_once: dict[str, int]


def requests_of(web: FakeWeb) -> Counter[tuple[str, str]]:
    return Counter((host, target) for _, host, target in web.requests)


@pytest.fixture(scope="module")
def asset_crawl(tmp_path_factory: pytest.TempPathFactory) -> AssetCrawl:
    folder = tmp_path_factory.mktemp("assets") / "crawl"
    with FakeWeb(site()) as web:
        report = crawled(web, [HOME, OTHER], folder, settings=settings(), scope="host")
    return AssetCrawl(folder, report, requests_of(web), web.max_in_flight_per_host)


def test_every_asset_is_archived_once(asset_crawl: AssetCrawl) -> None:
    rows = assets_of(asset_crawl.folder)
    assert len({row.url for row in rows}) == len(rows)
    assert {row.url for row in rows if row.archived is not None} == ARCHIVED
    assert {row.url: row.outcome for row in rows if row.outcome in REFUSED.values()} == REFUSED
    assert [row.url for row in rows if not row.outcome] == []
    assert {asset_crawl.requests[host_and_target(row.url)] for row in rows if row.outcome != "robots.txt"} == {1}
    assert asset_crawl.requests[host_and_target("http://b.test/forbidden/x.png")] == 0
    bodies = bodies_of(asset_crawl.folder)
    for url in ARCHIVED:
        body = site().response(*host_and_target(url), RequestHeaders(b"")).body
        assert bodies[url] == (body.encode() if isinstance(body, str) else body), url


def test_only_pages_and_their_assets_are_requested(asset_crawl: AssetCrawl) -> None:
    pages = {url for url in PAGES if url in StoredCrawl(asset_crawl.folder).fetched_urls()}
    assets = {row.url for row in assets_of(asset_crawl.folder)}
    robots = {f"http://{host}.test/robots.txt" for host in ("a", "b", "f", "cdn")}
    assert set(asset_crawl.requests) == {host_and_target(url) for url in pages | assets | robots} - {
        ("b.test", "/forbidden/x.png")
    }
    assert ("a.test", "/excluded.png") not in asset_crawl.requests  # its page forbids archiving
    assert {asset_crawl.requests[host_and_target(url)] for url in robots} == {1}


def test_assets_are_not_pages_and_add_no_urls(asset_crawl: AssetCrawl) -> None:
    stored = StoredCrawl(asset_crawl.folder)
    assert stored.fetched_urls() == {HOME, OTHER, "http://a.test/next", "http://a.test/quiet"}
    assert set(stored.urls) == {*stored.fetched_urls(), "http://f.test/frame"}  # a frame is a link


def test_the_same_bytes_are_archived_once(asset_crawl: AssetCrawl) -> None:
    rows = {row.url: row for row in assets_of(asset_crawl.folder)}
    first, second = rows["http://a.test/a.png"], rows["http://a.test/same.png"]
    assert first.digest == second.digest
    with FolderView.open(asset_crawl.folder) as view:
        assert first.archived is not None
        assert second.archived is not None
        assert not view.archive.read_asset(first.archived)[1][1]
        assert view.archive.read_asset(second.archived)[1][1]


def test_report_and_status_count_assets(asset_crawl: AssetCrawl) -> None:
    figures = crawl_status(asset_crawl.folder).assets
    assert figures == asset_crawl.report.assets
    assert (figures.n_archived, figures.n_pending) == (len(ARCHIVED) - len(REDIRECTS) - 1, 0)  # one answered 404
    assert figures.failures == {"http 404": 1, "robots.txt": 1, "too large": 1}
    assert figures.n_failed == 3
    words = describe_assets(figures)
    assert words.startswith(f"{figures.n_archived} pictures, styles and the like in the archive (")
    assert words.endswith("); 3 failed: http 404 (1), robots.txt (1), too large (1)")
    assert asset_crawl.report.figures.n_assets == figures.n_assets
    events = [json.loads(line) for line in (asset_crawl.folder / "log.jsonl").read_text().splitlines()]
    assert {event["url"] for event in events if event["event"] == "asset"} >= ARCHIVED
    assert events[-1]["n_assets"] == figures.n_assets


def test_a_host_has_one_request_in_flight(asset_crawl: AssetCrawl) -> None:
    assert set(asset_crawl.max_at_once.values()) == {1}
    assert set(asset_crawl.max_at_once) == {"a.test", "b.test", "f.test", "cdn.test"}


def picture_web(n_pages: int) -> MadeSite:
    """Pages on two hosts, with a common style sheet and an image each."""
    rng = random.Random(11)
    urls = [f"http://{'ab'[k % 2]}.test/{k}" for k in range(n_pages)]
    pages: dict[str, Any] = {"http://a.test/all.css": css("a { background: url(http://cdn.test/all.png) }")}
    for k, url in enumerate(urls):
        links = "".join(f"<a href={rng.choice(urls)}>x</a>" for _ in range(4))
        pages[url] = f"<link rel=stylesheet href=http://a.test/all.css><img src=/{k}.png>{links}"
        pages[f"{url}.png"] = png(url)
    return MadeSite(pages)


@pytest.mark.parametrize("policy", ["certified", "breadth-first", "opic"])
def test_the_crawl_is_the_same_without_assets(tmp_path: Path, policy: str) -> None:
    orders, proved = [], []
    for assets in (True, False):
        folder = tmp_path / str(assets)
        with FakeWeb(picture_web(30)) as web:
            report = crawled(web, "http://a.test/0", folder, settings=settings(assets=assets), policy=policy, budget=18)
        stored = StoredCrawl(folder)
        orders.append([stored.urls[page] for page in stored.order])
        proved.append(report.figures.certificate.as_dict())
        assert report.stopped_because is StopReason.BUDGET
        assert len(assets_of(folder)) == (20 if assets else 0)  # 18 images, the style sheet and its image
    assert orders[0] == orders[1]
    assert proved[0] == pytest.approx(proved[1], abs=1e-6)  # it is settled from time to time


@pytest.mark.usefixtures("ready_child_processes")
def test_two_processes_archive_the_same(tmp_path: Path) -> None:
    with FakeWeb(site()) as web:
        tables = settings(processes=2, workers=8)
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=tables, scope="host")
    assert bodies_of(tmp_path / "crawl").keys() == ARCHIVED
    assert set(web.max_in_flight_per_host.values()) == {1}


def test_a_killed_crawl_fetches_the_remaining_assets(tmp_path: Path) -> None:
    """A copy of the folder of a running crawl is what a kill would leave."""
    folder, copy = tmp_path / "crawl", tmp_path / "copy"
    requests_then: list[Counter[tuple[str, str]]] = []

    def copy_once(figures: CrawlFigures) -> None:
        if not requests_then and figures.n_assets >= 3:
            requests_then.append(requests_of(web))
            shutil.copytree(folder, copy)

    tables = settings(commit_every_s=0.001)
    slow = {"http://a.test/a2.png": png("/a2.png", delay_s=0.3)}  # long enough for figures
    with FakeWeb(site(**slow)) as web:
        crawled(web, [HOME, OTHER], folder, settings=tables, scope="host", watch=copy_once)
        n_before = len(web.requests)
        assert [row for row in assets_of(copy) if not row.outcome]
        report = crawled(web, [HOME, OTHER], copy, settings=tables, scope="host")
    bodies = bodies_of(copy).keys()
    assert bodies - {"http://f.test/deepest.png"} == ARCHIVED  # the depth of frames is not stored
    assert report.assets.n_pending == 0
    requests_later = Counter((host, target) for _, host, target in web.requests[n_before:] if target != "/robots.txt")
    twice = requests_then[0] & requests_later
    assert len(twice) <= 2, twice  # in flight, or not committed


def test_a_stopped_crawl_resumes_its_asset_requests(tmp_path: Path) -> None:
    with FakeWeb(site()) as web:
        tables = merged(plan_tables(web), settings())
        plan = CrawlPlan.of_tables(merged(tables, {"crawl": {"seeds": [HOME]}}), "test")
        with open_crawl(tmp_path / "crawl", plan) as live:
            n_ticks = count()

            def tick() -> None:
                live.stop_level = int(next(n_ticks) >= 5)

            assert live.run(tick) is StopReason.INTERRUPTED
            assert live.assets.n_waiting
        pending = [row.url for row in assets_of(tmp_path / "crawl") if not row.outcome]
        assert pending
        with open_crawl(tmp_path / "crawl", plan) as live:
            assert live.assets.n_waiting == len(pending)
            live.run()
    assert [row.url for row in assets_of(tmp_path / "crawl") if not row.outcome] == []


def test_a_refresh_requests_assets_again_and_archives_changes(tmp_path: Path) -> None:
    def tagged(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        tag = (("ETag", f'"{target}"'),)
        return FakeResponse(status=304, headers=tag) if headers.get("if-none-match") else png(target, headers=tag)

    def changing(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        n_asked[target] += 1
        return png(f"{target}{n_asked[target]}")

    n_asked: Counter[str] = Counter()
    pages: dict[str, Any] = {
        HOME: "<img src=/tagged.png><img src=/plain.png><img src=/changing.png><img src=/twin.png>",
        "http://a.test/tagged.png": tagged,
        "http://a.test/plain.png": png("plain"),
        "http://a.test/twin.png": png("plain"),
        "http://a.test/changing.png": changing,
    }
    folder = tmp_path / "crawl"
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, HOME, folder, settings=settings(robots=False))
        bodies = bodies_of(folder)
        for day in (1, 2):
            refresh(folder, now=time.time() + 100 * day * DAY_S)
    rows = assets_of(folder)
    assert [(row.epoch, row.status) for row in rows if "tagged" in row.url] == [(0, 200), (1, 304), (2, 304)]
    assert len(rows) == 12
    figures = crawl_status(folder).assets
    assert (figures.n_assets, figures.n_archived, figures.n_failed, figures.n_pending) == (4, 4, 0, 0)
    with FolderView.open(folder) as view:
        is_revisit = {
            (row.epoch, row.url.rpartition("/")[2]): view.archive.read_asset(row.archived)[1][1]
            for row in rows
            if row.archived is not None
        }
    assert {key for key, value in is_revisit.items() if not value} == {
        (0, "tagged.png"), (0, "plain.png"), (0, "changing.png"), (1, "changing.png"), (2, "changing.png")
    }  # fmt: skip
    after = bodies_of(folder)
    assert after == bodies | {"http://a.test/changing.png": png("/changing.png3").body}


def test_an_unmodified_page_has_its_earlier_assets(tmp_path: Path) -> None:
    def page(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if headers.get("if-none-match"):
            return FakeResponse(status=304)
        return FakeResponse("<img src=/a.png>", headers=(("ETag", '"1"'),))

    with FakeWeb(MadeSite({HOME: page, "http://a.test/a.png": png("a")})) as web:
        crawled(web, HOME, tmp_path / "crawl", settings=settings(robots=False))
        refresh(tmp_path / "crawl", now=time.time() + 100 * DAY_S)
    assert web.count("http://a.test/a.png") == 2


def test_an_import_of_the_archive_has_only_pages(asset_crawl: AssetCrawl, tmp_path: Path) -> None:
    archive = asset_crawl.folder / "archive"
    report = import_crawl(archive, tmp_path / "imported", seeds=[HOME, OTHER], scope="web", processes=1)
    stored, frame = StoredCrawl(tmp_path / "imported"), "http://f.test/frame"
    pages = StoredCrawl(asset_crawl.folder).fetched_urls() - {"http://a.test/quiet"}
    assert {url for url, row in stored.rows.items() if row is not None and row.outcome == "ok"} == pages
    with FolderView.open(tmp_path / "imported") as folder:  # a page links to it, and its links are unknown
        assert folder.database.details.unknown(stored.urls.index(frame)).n == UNKNOWN_COUNT
    assert report.n_unlinked == 0
    graph = ori.LinkGraph.load(sorted(archive.glob("*.warc.gz"))[0])
    assert "http://f.test/frame2" not in list(graph.urls or [])


def test_a_repair_queues_damaged_assets_again(asset_crawl: AssetCrawl, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    shutil.copytree(asset_crawl.folder, folder)
    rows = {row.url: row for row in assets_of(folder)}
    lost = rows["http://a.test/a.png"].archived
    assert lost is not None
    with (folder / "archive/orienteer-00000.warc.gz").open("r+b") as file:
        file.seek(lost.offset + 20)
        file.write(bytes(20))
    repair(folder)
    repaired = {row.url: row for row in assets_of(folder)}
    pending = {"http://a.test/a.png", "http://a.test/same.png"}  # the latter is a revisit of the former
    assert {url for url, row in repaired.items() if not row.outcome} == pending
    assert {url: row._replace(id=0) for url, row in repaired.items() if url not in pending} == {
        url: row._replace(id=0) for url, row in rows.items() if url not in pending
    }
    with FakeWeb(site()) as web:
        crawled(web, [HOME, OTHER], folder, settings=settings(), scope="host")
    assert bodies_of(folder) == bodies_of(asset_crawl.folder)


def test_a_repair_leaves_an_intact_folder_unchanged(asset_crawl: AssetCrawl, tmp_path: Path) -> None:
    shutil.copytree(asset_crawl.folder, tmp_path / "crawl")
    assert not repair(tmp_path / "crawl").was_damaged


def test_assets_of_earlier_pages_are_archived(tmp_path: Path, asset_crawl: AssetCrawl) -> None:
    with FakeWeb(site()) as web:
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(assets=False), scope="host", budget=2)
        report = crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(), scope="host", budget=3)
        assert web.count(HOME) == 1
        n_assets = len(assets_of(tmp_path / "crawl"))
        assert n_assets == report.assets.n_assets == len(assets_of(asset_crawl.folder))
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(), scope="host", budget=4)
    assert len(assets_of(tmp_path / "crawl")) == n_assets
    assert bodies_of(tmp_path / "crawl") == bodies_of(asset_crawl.folder)


def test_assets_need_an_archive() -> None:
    with pytest.raises(InputError, match="assets are stored in the archive"):
        CrawlSettings((HOME,), assets=True, archive=False)


def plan_tables(web: FakeWeb) -> dict[str, dict[str, Any]]:
    return {
        "crawl": {"guess_sitemap": False, "processes": 1},
        "politeness": {"delay_s": 0.0},
        "fetch": {"connect_to": web.address},
        "retry": {"back_off_s": 0.01},
    }
