"""Hosts that go away in the middle of a crawl: for a while, or for good, with kills in between."""

from __future__ import annotations

import random
from contextlib import ExitStack
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from orienteer.pages.states import PageState
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, Site
from tests.faults.crawl_process import CrawlCommand, CrawlProcess, acknowledged, check_archive, log_of, outcomes
from tests.faults.kills import until
from tests.faults.webs import RoughWeb
from tests.live.live_crawls import StoredCrawl, crawled

pytestmark = pytest.mark.long

N_PAGES = 80


def logged(folder: Path, part_of_url: str = "", outcome: str = "") -> list[dict[str, Any]]:
    """The fetches of that kind in the crawl's log."""
    fetches = [event for event in log_of(folder) if "outcome" in event]
    return [fetch for fetch in fetches if part_of_url in fetch["url"] and outcome in fetch["outcome"]]


def until_more(process: CrawlProcess, folder: Path, n: int, part_of_url: str = "", outcome: str = "") -> None:
    """Wait for so many more fetches of that kind."""
    before = len(logged(folder, part_of_url, outcome))
    has_more = until(process, lambda: len(logged(folder, part_of_url, outcome)) >= before + n, look_every_s=0.05)
    assert has_more, process.ended()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_web_that_comes_back_is_crawled_to_its_end(is_killed: bool, tmp_path: Path) -> None:
    """An outage shorter than the time after which hosts are abandoned: no page is lost."""
    site, folder = RoughWeb(n_pages=150, errors=0.0), tmp_path / "crawl"
    with FakeWeb(site) as web:
        crawled(web, site.seeds, tmp_path / "whole", settings={"crawl": {"robots": True}})
    with ExitStack() as runs:
        with FakeWeb(RoughWeb(n_pages=150, errors=0.0)) as server:
            command = CrawlCommand(server.address, site.seeds, folder, retry={"back_off_s": 0.05})
            process = runs.enter_context(command.started())
            until_more(process, folder, 60)
        for _ in range(2 * is_killed):
            until_more(process, folder, 15, outcome="no connection")
            process.kill()
            process = runs.enter_context(command.started())
        until_more(process, folder, 30, outcome="no connection")
        safe, n_before = acknowledged(folder), len(logged(folder))
        with FakeWeb(RoughWeb(n_pages=150, errors=0.0), port=server.port):
            assert process.ended()[0] == 0
    assert outcomes(folder) == outcomes(tmp_path / "whole")
    assert safe.keys().isdisjoint(fetch["url"] for fetch in logged(folder)[n_before:])
    check_archive(folder)


class Ladder(Site):
    """Each page links to the next two, and to the same page at the `other` address."""

    def __init__(self, other: str = "") -> None:
        self.other = other

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if not target[1:].isdecimal() or int(target[1:]) >= N_PAGES:
            return NOT_FOUND
        page = int(target[1:])
        return FakeResponse(f"<a href=/{page + 1}><a href=/{page + 2}><a href=http://{self.other}/{page}>")


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_host_that_stays_away_is_given_up(is_killed: bool, tmp_path: Path, fresh_rng: random.Random) -> None:
    """Its pages are blocked and say why; the other host's are all fetched. When it is back, it is too late."""
    folder, ladder = tmp_path / "crawl", Ladder()
    with ExitStack() as runs, FakeWeb(ladder) as stays:
        with FakeWeb(Ladder(stays.address)) as goes:
            here, gone = stays.address, goes.address
            ladder.other = gone
            options = ("--allow-private", "--workers", 2, "--connections", 1, "--delay", 0.03)
            seeds = [f"http://{here}/0", f"http://{gone}/0"]
            retry = {"give_up_after": 6, "back_off_s": 0.3, "max_back_off_s": 0.3}
            command = CrawlCommand(None, seeds, folder, *options, retry=retry)
            process = runs.enter_context(command.started())
            until_more(process, folder, fresh_rng.randint(5, 20), gone)
        if is_killed:
            until_more(process, folder, 2, gone, "no connection")
            process.kill()
            process = runs.enter_context(command.started())
        assert process.ended()[0] == 3, "every page was requested, and a host is missing"
        stored = StoredCrawl(folder)
        assert {f"http://{here}/{k}" for k in range(N_PAGES)} <= stored.fetched_urls()
        lost = [row for url, row in stored.rows.items() if gone in url and url not in stored.fetched_urls()]
        assert len(lost) > 2
        for row in lost:
            assert row is not None
            assert row.state == PageState.BLOCKED
            assert row.outcome in ("host given up", "no connection", "broken answer")
        check_archive(folder)
        before, n_before = acknowledged(folder), len(logged(folder))
        with FakeWeb(Ladder(here), port=goes.port):
            command.run(code=3)
    assert acknowledged(folder) == before
    assert len(logged(folder)) == n_before


@pytest.mark.parametrize("n_failures", [1, 2, 1000])
def test_a_sitemap_that_fails_is_asked_for_again(n_failures: int, tmp_path: Path) -> None:
    """As often as a page would be."""
    sitemap = FakeResponse("http://a.test/hidden", content_type="text/plain")
    responses = chain([FakeResponse(status=500)] * n_failures, repeat(sitemap))
    places = {"http://a.test/": "", "http://a.test/hidden": "", "http://a.test/map.txt": lambda *_: next(responses)}
    with FakeWeb(MadeSite(places, robots={"a.test": "Sitemap: http://a.test/map.txt"})) as web:
        crawled(web, "http://a.test/", tmp_path, settings={"crawl": {"robots": True}})
        assert web.count("http://a.test/map.txt") == min(n_failures + 1, 3)
    hidden = set() if n_failures > 2 else {"http://a.test/hidden"}
    assert StoredCrawl(tmp_path).fetched_urls() == {"http://a.test/"} | hidden


def test_sitemaps_that_all_fail_do_not_take_their_host_with_them(tmp_path: Path) -> None:
    places: dict[str, FakeResponse | str] = {f"http://a.test/map{k}.xml": FakeResponse(status=500) for k in range(6)}
    robots = "".join(f"Sitemap: {url}\n" for url in places)
    places |= {"http://a.test/": "<a href=/b>", "http://a.test/b": ""}
    with FakeWeb(MadeSite(places, robots={"a.test": robots})) as web:
        report = crawled(web, "http://a.test/", tmp_path, settings={"crawl": {"robots": True}})
    assert StoredCrawl(tmp_path).fetched_urls() == {"http://a.test/", "http://a.test/b"}
    assert report.figures.n_hosts_abandoned == 0
