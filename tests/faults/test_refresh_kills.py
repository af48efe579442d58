"""`kill -9` at any moment of a refresh, and the same command again: in the end it is as if nothing had happened."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from orienteer.graph.synthetic import synthetic_web
from orienteer.store.visits import VisitKind
from tests.fake_web.changing import ChangingSite, next_epoch
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import host_and_target
from tests.faults.crawl_process import CrawlProcess, archived_records, outcomes
from tests.faults.kills import until
from tests.live.live_crawls import crawled, hub
from tests.live.refreshes import visits_of

pytestmark = pytest.mark.slow

N_KILLS = 2


@pytest.mark.parametrize(("policy", "workers"), [("certified", 1), ("fractional", 8)])
def test_a_refresh_that_is_killed_comes_to_the_same_end(
    policy: str, workers: int, tmp_path: Path, fresh_rng: random.Random
) -> None:
    site = ChangingSite(GraphSite(synthetic_web(150, mean_degree=8.0, rng=2), page_bytes=1500))
    folder, whole = tmp_path / "crawl", tmp_path / "whole"
    with FakeWeb(Faulty(site, 0, (0.002, 0.02))) as web:
        settings = {"crawl": {"commit_every_s": 0.05, "workers": workers}}
        crawled(web, hub(site.site), folder, policy=policy, settings=settings)
        next_epoch(np.random.default_rng(3), site, 0.05, 0.2, 0.05)
        shutil.copytree(folder, whole)
        with CrawlProcess([whole, "--quiet"], command="refresh") as process:
            assert process.ended()[0] == 0
        safe: dict[str, VisitKind] = {}
        n_kills = 0
        while True:
            n_before = len(web.requests)
            with CrawlProcess([folder, "--quiet"], command="refresh") as process:
                n_wanted = n_before + fresh_rng.randint(1, 50)
                if n_kills < N_KILLS and until(process, lambda n=n_wanted: len(web.requests) >= n):
                    process.kill()
                    n_kills += 1
                code, said = process.ended()
            now = visits_of(folder)
            assert {url: now.get(url) for url in safe} == safe, "what was acknowledged is lost or changed"
            requested = {(host, target) for _, host, target in web.requests[n_before:]}
            assert not [url for url in safe if host_and_target(url) in requested], (
                "a committed page was requested again"
            )
            safe = now
            if code == 0:
                break
            assert n_kills <= N_KILLS, said
    assert n_kills > 0
    assert visits_of(folder) == visits_of(whole)
    if workers == 1:
        assert list(visits_of(folder)) == list(visits_of(whole))
    assert outcomes(folder) == outcomes(whole)
    assert Counter(archived_records(folder)) == Counter(archived_records(whole))
    assert {VisitKind.NEW, VisitKind.CHANGED, VisitKind.NOT_MODIFIED, VisitKind.MISSING} <= set(safe.values())
