"""`kill -9` at any moment of a survey, and the same command again: in the end it is as if nothing had happened."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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

N_KILLS = 3


class SurveyProcess(ReadyPopen):
    """`orienteer survey` of a crawl folder."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "orienteer", "survey", str(folder), "--half-width", "0.05", "--json"]
        super().__init__(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self) -> dict[str, Any]:
        said, errors = self.communicate(timeout=TEST_TIMEOUT_S)
        assert (self.returncode, errors) == (0, ""), errors
        report: dict[str, Any] = json.loads(said)
        return report


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
        with SurveyProcess(whole) as process:
            expected = process.ended()
        n_kills, report = 0, None
        while report is None:
            n_wanted = len(web.requests) + fresh_rng.randint(1, 40)
            with SurveyProcess(folder) as process:
                if n_kills < N_KILLS and until(process, lambda n=n_wanted: len(web.requests) >= n):
                    process.kill()
                    process.communicate()
                    n_kills += 1
                else:
                    report = process.ended()
    assert n_kills > 0
    assert found(report) == found(expected)
    assert len(archived_urls(folder / "survey")) == len(set(archived_urls(folder / "survey")))


def test_killed_while_the_folder_is_made(tmp_path: Path, fresh_rng: random.Random) -> None:
    site = GraphSite(synthetic_web(1500, mean_degree=8.0, rng=5), page_bytes=500)
    folder = tmp_path / "crawl"
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, budget=300, policy="breadth-first")
        for wanted in (folder / "survey", folder / "survey" / "crawl.db"):
            with SurveyProcess(folder) as process:
                if until(process, wanted.exists):
                    process.kill()
                process.communicate()
        with SurveyProcess(folder) as process:
            report = process.ended()
    assert report["n_pages"] == 300
    assert report["goal_reached"]
