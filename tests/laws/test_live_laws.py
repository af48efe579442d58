"""Every policy fetches in the same order in a simulation, in a live crawl, and in one that was stopped and killed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.policies.policy_spec import PolicySpec
from tests.conftest import random_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlProcess
from tests.faults.gate import Gate
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered
from tests.live.topics import LIVE_POLICIES, simulated_topic, spec_for, topic_for

GOALS = [("certified", 0.8), ("fractional", 0.8), ("navigational", 0.8)]
KILLED = ("certified", "opic", "apprentice")  # of each kind: by the certificate, by cash, trained


@pytest.mark.parametrize(("policy", "until"), [*((policy, None) for policy in LIVE_POLICIES), *GOALS])
def test_one_worker_fetches_in_the_order_of_the_simulation(
    policy: str, until: float | None, tmp_path: Path, rng: np.random.Generator
) -> None:
    site = GraphSite(random_web(rng, 80, 4.0, with_hosts=True))
    seeds = [site.url_of(page) for page in (3, 30, 70)]
    topic = topic_for(policy, site, tmp_path, rng)
    spec = spec_for(policy, site, tmp_path)
    settings = {"crawl": {"workers": 1, "near_duplicates": "off"}}
    with FakeWeb(site) as web:
        report = crawled(web, seeds, tmp_path / "c", policy=spec, until=until, settings=settings, **topic)
    stored = StoredCrawl(tmp_path / "c")
    topic_arguments = simulated_topic(policy, site, stored, tmp_path)
    made = PolicySpec.parse(spec).make(damping=0.85)
    trace = ori.simulate(renumbered(stored, site), made, trust=[0, 1, 2], until=until, **topic_arguments)
    assert stored.order == trace.order.tolist()
    assert report.stopped_because == trace.stopped_because
    assert report.figures.certificate.lower == pytest.approx(trace.certificate.lower, abs=1e-8)
    assert [web.count(url) for url in stored.urls] == [stored.order.count(page) for page in range(len(stored.urls))]


@pytest.mark.parametrize("policy", LIVE_POLICIES)
def test_neither_interruptions_nor_a_kill_change_the_order(
    policy: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Also without checkpoints, which are only there to make it quick. With some policies a process goes on at last
    from the checkpoint of another, and is killed on its way with `kill -9`."""
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    gate = Gate(site)
    named = {
        "policy": spec_for(policy, site, tmp_path),
        "settings": {"crawl": {"workers": 1, "commit_every_s": 0.01}},
        **topic_for(policy, site, tmp_path, rng),
    }
    folder, checkpoint = tmp_path / "resumed", tmp_path / "resumed" / "checkpoints" / "latest.npz"
    with FakeWeb(gate) as web:
        crawled(web, hub(site), tmp_path / "whole", **named)
        order = StoredCrawl(tmp_path / "whole").order
        for budget in (10, 20):
            crawled(web, hub(site), folder, budget=budget, **named)
            assert StoredCrawl(folder).order == order[:budget]
            assert checkpoint.exists()
            if budget == 10:
                checkpoint.unlink()
        if policy in KILLED:
            gate.close_after(10)
            with CrawlProcess([folder, "--quiet", "--budget", 1000]) as process:
                gate.kill_at(process)
            gate.open()
            assert 20 <= len(StoredCrawl(folder).order) <= 30 < len(order)
        crawled(web, hub(site), folder, **named)
    assert StoredCrawl(folder).order == order
