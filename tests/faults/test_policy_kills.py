"""A policy in one file, with dicts as its state: the same order simulated, live, and resumed after `kill -9`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.ledger.ledger import Ledger
from orienteer.live.session import plan_of_folder
from orienteer.policies.policy import POLICIES
from orienteer.store.folder import CrawlFolder
from tests.conftest import random_web
from tests.docs.how_to_policy import NAME, clone, policy_file
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlProcess
from tests.faults.gate import Gate
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered

pytestmark = pytest.mark.slow

N_BEFORE = 30  # pages in the checkpoint
N_KILLS = 1
MODULE = "orienteer.policies.near_and_linked"


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The policy of the how-to in a copy of the package, which the processes import, and in this process."""
    source = clone(tmp_path / "clone", policy_file()[1])
    monkeypatch.setenv("PYTHONPATH", str(source))
    spec = importlib.util.spec_from_file_location(MODULE, tmp_path / "clone" / policy_file()[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    yield POLICIES.find(NAME)
    del sys.modules[MODULE], POLICIES._things[NAME]


def resumed(folder: Path, scratch: Path, kind: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, int]:
    """Return the policy of a crawl reopened from a copy of its folder, and the number of pages replayed to it."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(folder, scratch)
    replayed: list[int] = []

    def fetched(self: Any, page: int, web: Any) -> Any:
        replayed.append(page)
        return original(self, page, web)

    original = kind.fetched
    with monkeypatch.context() as patched, CrawlFolder.open(scratch) as crawl:
        patched.setattr(kind, "fetched", fetched)
        ledger = Ledger(crawl, plan_of_folder(scratch))
    return ledger.crawl.policy, len(replayed)


def test_a_policy_in_one_file_survives_kills(
    kind: Any, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = GraphSite(random_web(rng, 200, 5.0, with_hosts=True))
    gate = Gate(site)
    folder, scratch = tmp_path / "crawl", tmp_path / "scratch"
    named: dict[str, Any] = {"policy": NAME, "settings": {"crawl": {"workers": 1, "commit_every_s": 0.01}}}
    with FakeWeb(gate) as web:
        crawled(web, hub(site), tmp_path / "whole", **named)
        crawled(web, hub(site), folder, budget=N_BEFORE, **named)
        policy, n_replayed = resumed(folder, scratch, kind, monkeypatch)
        assert n_replayed == 0, "all of it came from the checkpoint"
        assert len(policy._distance) > N_BEFORE
        for _ in range(N_KILLS):
            n_before = len(StoredCrawl(folder).order)
            gate.close_after(25)
            with CrawlProcess([folder, "--quiet", "--budget", 100_000]) as process:
                gate.kill_at(process)
            gate.open()
            n_done = len(StoredCrawl(folder).order)
            assert n_before <= n_done <= n_before + 25
            policy, n_replayed = resumed(folder, scratch, kind, monkeypatch)
            assert n_replayed == n_done - N_BEFORE, "later pages are replayed, earlier ones come from the checkpoint"
        assert len(StoredCrawl(folder).order) > N_BEFORE
        with CrawlProcess([folder, "--quiet", "--budget", 100_000]) as process:
            assert process.ended() == (0, "")
    stored = StoredCrawl(folder)
    assert len(stored.order) > N_BEFORE + 25
    assert stored.order == StoredCrawl(tmp_path / "whole").order
    for step_by_step in (False, True):
        simulated = ori.simulate(renumbered(stored, site), NAME, trust=[0], step_by_step=step_by_step)
        assert stored.order == simulated.order.tolist()
