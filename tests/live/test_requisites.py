"""Crawls that keep what pages are shown with: everything once, politely, and without any effect on the crawl itself."""

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
from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite, RequestHeaders, place_of
from orienteer.imports.import_crawl import import_crawl
from orienteer.inspect.folder_status import folder_status
from orienteer.inspect.status_in_words import parts_in_words
from orienteer.ledger.plan import CrawlPlan, CrawlSettings
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.figures import Figures
from orienteer.live.session import Report, opened, refresh
from orienteer.pages.stop_reason import StopReason
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.repair.repair import repair
from orienteer.settings import merged
from orienteer.store.folder_view import FolderView
from tests.live.live_crawls import Told, crawled
from tests.live.shown_pages import HOME, KEPT, OTHER, PAGES, REFUSED, bodies_of, css, parts_of, png, settings, site


class Kept(NamedTuple):
    folder: Path
    report: Report
    asked: Counter[tuple[str, str]]
    max_at_once: dict[str, int]


def asked_of(web: FakeWeb) -> Counter[tuple[str, str]]:
    return Counter((host, target) for _, host, target in web.requests)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("requisites") / "crawl"
    with FakeWeb(site()) as web:
        report = crawled(web, [HOME, OTHER], folder, settings=settings(), scope="host")
    return Kept(folder, report, asked_of(web), web.max_under_way_per_host)


def test_everything_is_kept_once(kept: Kept) -> None:
    rows = parts_of(kept.folder)
    assert len({row.url for row in rows}) == len(rows)
    assert {row.url for row in rows if row.archived is not None} == KEPT
    assert {row.url: row.outcome for row in rows if row.outcome in REFUSED.values()} == REFUSED
    assert [row.url for row in rows if not row.outcome] == []
    assert {kept.asked[place_of(row.url)] for row in rows if row.outcome != "robots.txt"} == {1}
    assert kept.asked[place_of("http://b.test/forbidden/x.png")] == 0
    bodies = bodies_of(kept.folder)
    for url in KEPT:
        body = site().answer(*place_of(url), RequestHeaders(b"")).body
        assert bodies[url] == (body.encode() if isinstance(body, str) else body), url


def test_only_what_was_asked_for_is_asked_for(kept: Kept) -> None:
    pages = {url for url in PAGES if url in Told(kept.folder).fetched_urls()}
    parts = {row.url for row in parts_of(kept.folder)}
    robots = {f"http://{host}.test/robots.txt" for host in ("a", "b", "f", "cdn")}
    assert set(kept.asked) == {place_of(url) for url in pages | parts | robots} - {("b.test", "/forbidden/x.png")}
    assert ("a.test", "/unseen.png") not in kept.asked  # of a page that asks not to be kept
    assert {kept.asked[place_of(url)] for url in robots} == {1}


def test_parts_are_no_pages_and_number_no_urls(kept: Kept) -> None:
    told = Told(kept.folder)
    assert told.fetched_urls() == {HOME, OTHER, "http://a.test/next", "http://a.test/quiet"}
    assert set(told.urls) == {*told.fetched_urls(), "http://f.test/frame"}  # a frame is a link


def test_the_same_bytes_are_archived_once(kept: Kept) -> None:
    rows = {row.url: row for row in parts_of(kept.folder)}
    first, second = rows["http://a.test/a.png"], rows["http://a.test/same.png"]
    assert first.digest == second.digest
    with FolderView.open(kept.folder) as view:
        assert first.archived is not None
        assert second.archived is not None
        assert not view.archive.read_part(first.archived)[1][1]
        assert view.archive.read_part(second.archived)[1][1]


def test_report_and_status_say_what_was_kept(kept: Kept) -> None:
    parts = folder_status(kept.folder).parts
    assert parts == kept.report.parts
    assert (parts.n_archived, parts.n_wanted) == (len(KEPT), 0)
    assert parts.n_failed == len(REFUSED) + 1  # and a 404
    assert f"{len(KEPT)} pictures, styles and the like in the archive" in parts_in_words(parts)
    assert kept.report.figures.n_parts == parts.n_parts
    events = [json.loads(line) for line in (kept.folder / "log.jsonl").read_text().splitlines()]
    assert {event["url"] for event in events if event["event"] == "part"} >= KEPT
    assert events[-1]["n_parts"] == parts.n_parts


def test_no_host_is_asked_twice_at_once(kept: Kept) -> None:
    assert set(kept.max_at_once.values()) == {1}
    assert set(kept.max_at_once) == {"a.test", "b.test", "f.test", "cdn.test"}


def picture_web(n_pages: int) -> MadeSite:
    """Pages in two hosts, each with a style that all have and pictures of its own."""
    rng = random.Random(11)
    urls = [f"http://{'ab'[k % 2]}.test/{k}" for k in range(n_pages)]
    pages: dict[str, Any] = {"http://a.test/all.css": css("a { background: url(http://cdn.test/all.png) }")}
    for k, url in enumerate(urls):
        links = "".join(f"<a href={rng.choice(urls)}>x</a>" for _ in range(4))
        pages[url] = f"<link rel=stylesheet href=http://a.test/all.css><img src=/{k}.png>{links}"
        pages[f"{url}.png"] = png(url)
    return MadeSite(pages)


@pytest.mark.parametrize("policy", ["certified", "breadth-first", "opic"])
def test_the_crawl_is_the_same_without_them(tmp_path: Path, policy: str) -> None:
    orders, proved = [], []
    for requisites in (True, False):
        folder = tmp_path / str(requisites)
        with FakeWeb(picture_web(30)) as web:
            report = crawled(
                web, "http://a.test/0", folder, settings=settings(requisites=requisites), policy=policy, budget=18
            )
        told = Told(folder)
        orders.append([told.urls[page] for page in told.order])
        proved.append(report.figures.certificate.as_dict())
        assert report.stopped_because is StopReason.BUDGET
        assert len(parts_of(folder)) == (20 if requisites else 0)  # 18 pictures, the style and what that is shown with
    assert orders[0] == orders[1]
    assert proved[0] == pytest.approx(proved[1], abs=1e-6)  # it is settled now and then, whenever that is


@pytest.mark.usefixtures("ready_child_processes")
def test_two_processes_keep_the_same(tmp_path: Path) -> None:
    with FakeWeb(site()) as web:
        tables = settings(processes=2, workers=8)
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=tables, scope="host")
    assert bodies_of(tmp_path / "crawl").keys() == KEPT
    assert set(web.max_under_way_per_host.values()) == {1}


def test_a_crawl_that_was_killed_fetches_the_rest(tmp_path: Path) -> None:
    """What a kill leaves is the folder as it is at that moment: here, a copy of it."""
    folder, copy = tmp_path / "crawl", tmp_path / "copy"
    asked_then: list[Counter[tuple[str, str]]] = []

    def copy_once(figures: Figures) -> None:
        if not asked_then and figures.n_parts >= 3:
            asked_then.append(asked_of(web))
            shutil.copytree(folder, copy)

    tables = settings(commit_every_s=0.001)
    slow = {"http://a.test/a2.png": png("/a2.png", delay_s=0.3)}  # long enough for figures
    with FakeWeb(site(**slow)) as web:
        crawled(web, [HOME, OTHER], folder, settings=tables, scope="host", watch=copy_once)
        n_before = len(web.requests)
        assert [row for row in parts_of(copy) if not row.outcome]
        report = crawled(web, [HOME, OTHER], copy, settings=tables, scope="host")
    bodies = bodies_of(copy).keys()
    assert bodies - {"http://f.test/deepest.png"} == KEPT  # how deep a frame stood is not known any more
    assert report.parts.n_wanted == 0
    asked_later = Counter((host, target) for _, host, target in web.requests[n_before:] if target != "/robots.txt")
    twice = asked_then[0] & asked_later
    assert len(twice) <= 2, twice  # what was in hand, or not acknowledged


def test_a_crawl_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    with FakeWeb(site()) as web:
        tables = merged(plan_tables(web), settings())
        plan = CrawlPlan.of_tables(merged(tables, {"crawl": {"seeds": [HOME]}}), "test")
        with opened(tmp_path / "crawl", plan) as live:
            n_ticks = count()

            def tick() -> None:
                live.stop_wanted = int(next(n_ticks) >= 5)

            assert live.run(tick) is StopReason.INTERRUPTED
            assert live.parts.n_waiting
        wanted = [row.url for row in parts_of(tmp_path / "crawl") if not row.outcome]
        assert wanted
        with opened(tmp_path / "crawl", plan) as live:
            assert live.parts.n_waiting == len(wanted)
            live.run()
    assert [row.url for row in parts_of(tmp_path / "crawl") if not row.outcome] == []


def test_a_refresh_asks_again_and_archives_what_has_changed(tmp_path: Path) -> None:
    def tagged(host: str, target: str, headers: RequestHeaders) -> Answer:
        tag = (("ETag", f'"{target}"'),)
        return Answer(status=304, headers=tag) if headers.get("if-none-match") else png(target, headers=tag)

    def changing(host: str, target: str, headers: RequestHeaders) -> Answer:
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
    rows = parts_of(folder)
    assert [(row.epoch, row.status) for row in rows if "tagged" in row.url] == [(0, 200), (1, 304), (2, 304)]
    assert len(rows) == 12
    with FolderView.open(folder) as view:
        is_revisit = {
            (row.epoch, row.url.rpartition("/")[2]): view.archive.read_part(row.archived)[1][1]
            for row in rows
            if row.archived is not None
        }
    assert {key for key, value in is_revisit.items() if not value} == {
        (0, "tagged.png"), (0, "plain.png"), (0, "changing.png"), (1, "changing.png"), (2, "changing.png")
    }  # fmt: skip
    after = bodies_of(folder)
    assert after == bodies | {"http://a.test/changing.png": png("/changing.png3").body}


def test_a_page_that_is_not_modified_is_shown_with_what_it_was(tmp_path: Path) -> None:
    def page(host: str, target: str, headers: RequestHeaders) -> Answer:
        if headers.get("if-none-match"):
            return Answer(status=304)
        return Answer("<img src=/a.png>", headers=(("ETag", '"1"'),))

    with FakeWeb(MadeSite({HOME: page, "http://a.test/a.png": png("a")})) as web:
        crawled(web, HOME, tmp_path / "crawl", settings=settings(robots=False))
        refresh(tmp_path / "crawl", now=time.time() + 100 * DAY_S)
    assert web.count("http://a.test/a.png") == 2


def test_who_imports_the_archive_finds_pages_alone(kept: Kept, tmp_path: Path) -> None:
    archive = kept.folder / "archive"
    report = import_crawl(archive, tmp_path / "imported", seeds=[HOME, OTHER], scope="web", processes=1)
    told, frame = Told(tmp_path / "imported"), "http://f.test/frame"
    pages = Told(kept.folder).fetched_urls() - {"http://a.test/quiet"}
    assert {url for url, row in told.rows.items() if row is not None and row.outcome == "ok"} == pages
    with FolderView.open(tmp_path / "imported") as folder:  # a page links to it, and nobody knows its links
        assert folder.database.unknown(told.urls.index(frame)).n == NOBODY_KNOWS
    assert report.n_unlinked == 0
    graph = ori.LinkGraph.load(sorted(archive.glob("*.warc.gz"))[0])
    assert "http://f.test/frame2" not in list(graph.urls or [])


def test_a_damaged_folder_wants_again_what_is_lost(kept: Kept, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    shutil.copytree(kept.folder, folder)
    rows = {row.url: row for row in parts_of(folder)}
    lost = rows["http://a.test/a.png"].archived
    assert lost is not None
    with (folder / "archive/orienteer-00000.warc.gz").open("r+b") as file:
        file.seek(lost.offset + 20)
        file.write(bytes(20))
    repair(folder)
    repaired = {row.url: row for row in parts_of(folder)}
    wanted = {"http://a.test/a.png", "http://a.test/same.png"}  # the latter is a revisit of the former
    assert {url for url, row in repaired.items() if not row.outcome} == wanted
    assert {url: row._replace(id=0) for url, row in repaired.items() if url not in wanted} == {
        url: row._replace(id=0) for url, row in rows.items() if url not in wanted
    }
    with FakeWeb(site()) as web:
        crawled(web, [HOME, OTHER], folder, settings=settings(), scope="host")
    assert bodies_of(folder) == bodies_of(kept.folder)


def test_a_folder_that_is_whole_stays_as_it_is(kept: Kept, tmp_path: Path) -> None:
    shutil.copytree(kept.folder, tmp_path / "crawl")
    assert not repair(tmp_path / "crawl").was_damaged


def test_pages_that_were_there_before_are_kept_with_all(tmp_path: Path, kept: Kept) -> None:
    with FakeWeb(site()) as web:
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(requisites=False), scope="host", budget=2)
        report = crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(), scope="host", budget=3)
        assert web.count(HOME) == 1
        n_parts = len(parts_of(tmp_path / "crawl"))
        assert n_parts == report.parts.n_parts == len(parts_of(kept.folder))
        crawled(web, [HOME, OTHER], tmp_path / "crawl", settings=settings(), scope="host", budget=4)
    assert len(parts_of(tmp_path / "crawl")) == n_parts
    assert bodies_of(tmp_path / "crawl") == bodies_of(kept.folder)


def test_they_need_an_archive() -> None:
    with pytest.raises(InputError, match="requisites are kept in the archive"):
        CrawlSettings((HOME,), requisites=True, archive=False)


def plan_tables(web: FakeWeb) -> dict[str, dict[str, Any]]:
    return {
        "crawl": {"guess_sitemap": False, "processes": 1},
        "politeness": {"delay_s": 0.0},
        "fetch": {"connect_to": web.address},
        "retry": {"back_off_s": 0.01},
    }
