"""Hosts that go away in the middle of a crawl: for a while, or for good, with kills in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from orienteer.crawl.crawl import PageState
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from tests.crawl.live_crawls import Told, crawled
from tests.faults.crawl_process import CrawlCommand, acknowledged, check_archive, outcomes
from tests.faults.kills import until
from tests.faults.webs import RoughWeb

N_PAGES = 40


def asked(web: FakeWeb, more: int) -> Callable[[], bool]:
    """Whether the web has been asked so many times more than until now."""
    n_requests = len(web.requests)
    return lambda: len(web.requests) >= n_requests + more


def asked_in_vain(folder: Path, times: int) -> Callable[[], bool]:
    """Whether so many more fetches have found nobody there, by the crawl's log."""

    def n_in_vain() -> int:
        log = folder / "log.jsonl"
        return log.read_text().count('"outcome":"no connection"') if log.exists() else 0

    before = n_in_vain()
    return lambda: n_in_vain() >= before + times


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_web_that_comes_back_is_crawled_to_its_end(is_killed: bool, tmp_path: Path) -> None:
    """Before any host is given up: then no page is lost for it."""
    site = RoughWeb(n_pages=200)
    with FakeWeb(site) as web:
        crawled(web, site.seeds, tmp_path / "whole", settings={"crawl": {"robots": True}})
    with ExitStack() as runs:
        with FakeWeb(site) as web:
            command = CrawlCommand(web.address, site.seeds, tmp_path / "crawl", retry={"back_off_s": 0.05})
            process = runs.enter_context(command.started())
            assert until(process, asked(web, 60))
        if is_killed:
            assert until(process, asked_in_vain(command.folder, 5))
            process.kill()
            process = runs.enter_context(command.started())
        assert until(process, asked_in_vain(command.folder, 30))
        if is_killed:
            process.kill()
            process = runs.enter_context(command.started())
        safe = acknowledged(command.folder)
        with FakeWeb(site, port=web.port) as web:
            assert process.ended()[0] == 0
            assert all(web.count(url) == 0 for url in safe)
    assert outcomes(command.folder) == outcomes(tmp_path / "whole")
    check_archive(command.folder)


def two_hosts(stays: FakeWeb, goes: FakeWeb) -> list[str]:
    """A page of either web links to the next two, and to the same page of the other one. The seeds."""
    homes = [f"http://{web.address}" for web in (stays, goes)]
    for web, own, other in ((stays, *homes), (goes, *reversed(homes))):
        web.site = MadeSite(
            {f"{own}/{k}": f"<a href={own}/{k + 1}><a href={own}/{k + 2}><a href={other}/{k}>" for k in range(N_PAGES)}
        )
    return [f"{home}/0" for home in homes]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_host_that_stays_away_is_given_up(is_killed: bool, tmp_path: Path) -> None:
    """Its pages are blocked and say why; the other host's are all fetched."""
    rng = random.Random()
    with ExitStack() as runs, FakeWeb(MadeSite({})) as stays:
        with FakeWeb(MadeSite({})) as goes:
            seeds = two_hosts(stays, goes)
            retry = {"give_up_after": 6, "back_off_s": 0.02}
            options = ("--allow-private", "--workers", 2, "--connections", 1, "--delay", 0.01)
            command = CrawlCommand(None, seeds, tmp_path / "crawl", *options, retry=retry)
            process = runs.enter_context(command.started())
            assert until(process, asked(goes, rng.randint(5, 20)))
        if is_killed:
            assert until(process, asked_in_vain(command.folder, 2))
            process.kill()
            process = runs.enter_context(command.started())
        assert process.ended()[0] == 0
    told = Told(command.folder)
    here, gone = stays.address, goes.address
    assert {f"http://{here}/{k}" for k in range(N_PAGES)} <= told.fetched_urls()
    lost = {url: row for url, row in told.rows.items() if gone in url and url not in told.fetched_urls()}
    assert lost
    for row in lost.values():
        assert row is not None
        assert row.state == PageState.BLOCKED
        assert row.outcome in ("host given up", "no connection", "broken answer")
    check_archive(command.folder)
    before = acknowledged(command.folder)
    with FakeWeb(goes.site, port=goes.port) as back:  # too late
        command.run()
        assert back.requests == []
    assert acknowledged(command.folder) == before
