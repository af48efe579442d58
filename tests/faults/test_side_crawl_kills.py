"""`kill -9` at any moment of an estimate or a survey, and the same command again: in the end it is as if nothing had
happened."""

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

from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.synthetic import synthetic_web
from orienteer.side_crawls.survey import open_live_survey
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import archived_urls
from tests.faults.kills import until
from tests.live.live_crawls import crawled, hub
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

pytestmark = pytest.mark.slow

N_KILLS = 2
ESTIMATE = ("estimate", "--budget", "120", "--rounds", "6", "--settle", "0")
SURVEY = ("survey", "--half-width", "0.05")


class SideCrawlProcess(ReadyPopen):
    """`orienteer estimate` or `orienteer survey` of a crawl folder, with a report in JSON."""

    def __init__(self, folder: Path, name: str, *options: str) -> None:
        command = [sys.executable, "-m", "orienteer", name, str(folder), *options, "--json"]
        super().__init__(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self) -> dict[str, Any]:
        output, errors = self.communicate(timeout=TEST_TIMEOUT_S)
        assert (self.returncode, errors) == (0, "")
        report: dict[str, Any] = json.loads(output)
        return report


def undisturbed(folder: Path, command: tuple[str, ...]) -> dict[str, Any]:
    with SideCrawlProcess(folder, *command) as process:
        return process.ended()


def killed(folder: Path, command: tuple[str, ...], web: FakeWeb, rng: random.Random) -> dict[str, Any]:
    """Run a command until it comes to its end, killed after some requests of the first runs."""
    n_kills = 0
    while True:
        n_wanted = len(web.requests) + rng.randint(1, 40)
        with SideCrawlProcess(folder, *command) as process:
            if n_kills == N_KILLS or not until(process, lambda n=n_wanted: len(web.requests) >= n):
                assert n_kills > 0
                return process.ended()
            process.kill()
            process.communicate()
            n_kills += 1


def test_an_estimate_that_is_killed_comes_to_the_same_end(tmp_path: Path, fresh_rng: random.Random) -> None:
    site = GraphSite(synthetic_web(600, mean_degree=8.0, rng=5), page_bytes=1000)
    hosts = site.graph.hosts
    assert hosts is not None
    pages = np.flatnonzero(hosts == np.argmax(np.bincount(hosts)))
    home = site.url_of(int(pages[np.argmax(site.graph.out_degrees()[pages])]))
    folder, whole = tmp_path / "crawl", tmp_path / "whole"
    with FakeWeb(Faulty(site, 0, (0.002, 0.02))) as web:
        settings = {"crawl": {"commit_every_s": 0.05, "workers": 4}}
        crawled(web, home, folder, scope="host", settings=settings)
        shutil.copytree(folder, whole)
        expected = undisturbed(whole, ESTIMATE)
        n_before = len(web.requests)
        report = killed(folder, ESTIMATE, web, fresh_rng)
        n_pages = len({(host, target) for _, host, target in web.requests[n_before:]})
    assert report["n_fetched"] == expected["n_fetched"] == n_pages
    assert [past["n_fetched"] for past in report["history"]] == [past["n_fetched"] for past in expected["history"]]
    for mine, theirs in zip(report["top"], expected["top"], strict=True):
        assert mine["url"] == theirs["url"]
        assert mine["outside"] == pytest.approx(theirs["outside"], abs=1e-6)
    ranks, other = (dict(np.load(path / "ranks.npz")) for path in (folder, whole))
    assert ranks["global"] == pytest.approx(other["global"], abs=1e-6)


def found(report: dict[str, Any]) -> list[Any]:
    """Return what must be equal: without page ids, and without the pages of unfinished walks."""
    measured = [report["measured"][key] for key in ("lower", "upper", "estimate", "n_walks")]
    names = ("name", "share", "lower", "upper", "n_walks", "url")
    gaps = [[gap[name] for name in names] for gap in (*report["hosts"], *report["folders"])]
    return [report["seed"], report["stopped_because"], *measured, *gaps]


def test_a_survey_that_is_killed_comes_to_the_same_end(tmp_path: Path, fresh_rng: random.Random) -> None:
    site = GraphSite(synthetic_web(1500, mean_degree=8.0, rng=5), page_bytes=500)
    folder, whole = tmp_path / "crawl", tmp_path / "whole"
    with FakeWeb(Faulty(site, 0, (0.002, 0.03), not_found=0.03, redirects=0.05)) as web:
        settings = {"crawl": {"commit_every_s": 0.05, "workers": 6}}
        crawled(web, hub(site), folder, budget=60, policy="breadth-first", settings=settings)
        with open_live_survey(folder, SurveyGoal()):
            pass  # it has its seed
        shutil.copytree(folder, whole)
        expected = undisturbed(whole, SURVEY)
        report = killed(folder, SURVEY, web, fresh_rng)
    assert found(report) == found(expected)
    assert len(archived_urls(folder / "survey")) == len(set(archived_urls(folder / "survey")))


def test_a_survey_that_is_killed_while_its_folder_is_made(tmp_path: Path) -> None:
    site = GraphSite(synthetic_web(1500, mean_degree=8.0, rng=5), page_bytes=500)
    folder = tmp_path / "crawl"
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, budget=300, policy="breadth-first")
        for wanted in (folder / "survey", folder / "survey" / "crawl.db"):
            with SideCrawlProcess(folder, *SURVEY) as process:
                if until(process, wanted.exists):
                    process.kill()
                process.communicate()
        report = undisturbed(folder, SURVEY)
    assert report["n_pages"] == 300
    assert report["goal_reached"]
