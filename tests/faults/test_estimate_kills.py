"""`kill -9` at any moment of an estimate, and the same command again: in the end it is as if nothing had happened."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.kills import until
from tests.live.live_crawls import crawled
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

pytestmark = pytest.mark.slow

N_KILLS = 2


class EstimateProcess(ReadyPopen):
    """`orienteer estimate` of a crawl folder."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "orienteer", "estimate", folder, "--budget", "120", "--rounds", "6"]
        options = ["--settle", "0", "--json"]
        super().__init__([*map(str, command), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self) -> tuple[int, dict[str, Any] | None]:
        said, errors = self.communicate(timeout=TEST_TIMEOUT_S)
        assert "Traceback" not in errors, errors
        return self.returncode, json.loads(said) if self.returncode == 0 else None


def test_an_estimate_that_is_killed_comes_to_the_same_end(tmp_path: Path, fresh_rng: random.Random) -> None:
    site = GraphSite(synthetic_web(600, mean_degree=8.0, rng=5), page_bytes=1000)
    hosts = site.graph.hosts
    assert hosts is not None
    pages = np.flatnonzero(hosts == np.argmax(np.bincount(hosts)))
    home = site.url_of(int(pages[np.argmax(site.graph.out_degrees()[pages])]))
    folder, whole = tmp_path / "crawl", tmp_path / "whole"
    n_kills, n_pages = 0, 0
    with FakeWeb(Faulty(site, 0, (0.002, 0.02))) as web:
        settings = {"crawl": {"commit_every_s": 0.05, "workers": 4}}
        crawled(web, home, folder, scope="host", settings=settings)
        shutil.copytree(folder, whole)
        with EstimateProcess(whole) as process:
            code, expected = process.ended()
        assert code == 0
        n_before = len(web.requests)
        report = None
        while report is None:
            n_wanted = len(web.requests) + fresh_rng.randint(1, 40)
            with EstimateProcess(folder) as process:
                if n_kills < N_KILLS and until(process, lambda n=n_wanted: len(web.requests) >= n):
                    process.kill()
                    process.communicate()
                    n_kills += 1
                else:
                    _, report = process.ended()
        n_pages = len({(host, target) for _, host, target in web.requests[n_before:]})
    assert n_kills > 0
    assert expected is not None
    assert report["n_fetched"] == expected["n_fetched"] == n_pages
    assert [past["n_fetched"] for past in report["history"]] == [past["n_fetched"] for past in expected["history"]]
    for mine, theirs in zip(report["top"], expected["top"], strict=True):
        assert mine["url"] == theirs["url"]
        assert mine["outside"] == pytest.approx(theirs["outside"], abs=1e-6)
    ranks, other = (dict(np.load(path / "ranks.npz")) for path in (folder, whole))
    assert ranks["global"] == pytest.approx(other["global"], abs=1e-6)
