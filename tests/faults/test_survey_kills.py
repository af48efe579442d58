"""Killed again and again while it measures its coverage, a crawl has the same walks and comes to the same result."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from orienteer.pages.stop_reason import StopReason
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, acknowledged
from tests.faults.kills import Killer, until
from tests.live.live_crawls import StoredCrawl, hub, renumbered
from tests.live.test_survey import UNTIL, a_site, rounds_of, simulated, walks_of

pytestmark = pytest.mark.long

N_KILLS = 5
FIRST_WALK = 140  # pages that are fetched before it begins to measure, or fewer


def test_the_same_walks_and_the_same_result(tmp_path: Path, fresh_rng: random.Random) -> None:
    """With one worker the same as in an uninterrupted simulation."""
    site, folder = a_site(), tmp_path / "crawl"
    with FakeWeb(site) as web:
        tables = {"crawl": {"workers": 1, "robots": False}, "politeness": {"delay_s": 0.0, "connections": 1}}
        command = CrawlCommand(web.address, [hub(site)], folder, "--until", UNTIL, **tables)
        n_before = FIRST_WALK
        for _ in range(N_KILLS):
            n_before += fresh_rng.randint(1, 30)
            with command.started() as process:
                until(process, lambda n=n_before: folder.exists() and len(web.requests) >= n, look_every_s=0.001)
                process.kill()
            n_before = max(n_before, len(web.requests))
        command.run()
    stored = StoredCrawl(folder)
    row, walks = walks_of(folder)
    crawl = simulated(renumbered(stored, site), row)
    assert crawl.survey is not None
    assert crawl.stopped_because == StopReason.MEASURED
    assert stored.order == list(crawl.order)
    assert walks == rounds_of(crawl)
    assert len({one.n_events for one in walks}) > 3, "it was killed while it measured"


def test_with_many_workers_nothing_is_lost(tmp_path: Path, fresh_rng: random.Random) -> None:
    """Walks that are acknowledged stay; the survey goes on with them."""
    site, folder = a_site(), tmp_path / "crawl"
    with FakeWeb(site) as web:
        command = CrawlCommand(web.address, [hub(site)], folder, "--until", UNTIL, crawl={"robots": False})
        killer = Killer(command, web, 2.0, fresh_rng)
        before: list[object] = []
        for _ in range(3):
            n_wanted = len(web.requests) + 60
            with command.started() as process:
                until(process, lambda n=n_wanted: len(web.requests) >= n, look_every_s=0.001)
                process.kill()
            if acknowledged(folder):
                walks = walks_of(folder)[1]
                assert walks[: len(before)] == before
                before = list(walks)
        ordeal = killer.run(0)
    assert not ordeal.lost
    assert walks_of(folder)[1][: len(before)] == before
