"""Crawls that stop by measured coverage: the same walks as in a simulation, killed or not, on slow and fast hosts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl, Goal
from orienteer.fake_web.graph_site import GraphSite
from orienteer.fake_web.server import FakeWeb
from orienteer.graph.survey.crawl_survey import SurveyStart
from orienteer.graph.synthetic import synthetic_web
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.survey_tables import SurveyRow, WalksRow
from tests.live.live_crawls import Told, crawled, hub, renumbered

UNTIL = 0.9


def a_site() -> GraphSite:
    return GraphSite(synthetic_web(1500, rng=5))


def walks_of(folder: Path) -> tuple[SurveyRow, list[WalksRow]]:
    with Database.open(folder / "crawl.db", read_only=True) as database:
        found = database.last_survey(0)
        assert found is not None
        return found[1], database.walks(found[0])


def simulated(graph: ori.LinkGraph, row: SurveyRow, policy: str = "certified") -> Crawl:
    """The same crawl of a known graph, with the randomness that the folder has kept."""
    trusted = TrustedPages(np.array([0], np.uint32), np.array([1.0]))
    goal = Goal(UNTIL, confidence=0.999)
    crawl = Crawl(make_policy(policy), trusted, goal)
    crawl.begin_survey(SurveyStart(row.until, row.confidence, row.seed, width=row.width))
    while (page := crawl.next()) is not None:
        crawl.fetched(page, graph.links(page))
    return crawl


def rounds_of(crawl: Crawl) -> list[WalksRow]:
    """The walks of a Crawl, as a folder has them."""
    assert crawl.survey is not None
    return [WalksRow(one.n_told, one.entries, one.allowed, one.free, one.stake) for one in crawl.survey.rounds]


@pytest.mark.parametrize("policy", ["certified", "breadth-first"])
def test_live_is_simulated(policy: str, tmp_path: Path) -> None:
    site = a_site()
    settings = {"crawl": {"proof": False, "workers": 1}, "politeness": {"connections": 1}}
    with FakeWeb(site) as web:
        report = crawled(web, hub(site), tmp_path / "c", until=UNTIL, policy=policy, settings=settings)
    assert report.stopped_because == StopReason.MEASURED
    assert report.goal_reached
    told = Told(tmp_path / "c")
    row, walks = walks_of(tmp_path / "c")
    graph = renumbered(told, site)
    crawl = simulated(graph, row, policy)
    assert told.order == list(crawl.order)
    assert crawl.survey is not None
    assert walks == rounds_of(crawl)
    truth = ori.pagerank(graph, [0])[told.order].sum()
    assert truth >= UNTIL
    measured = report.figures.measured
    assert measured is not None
    assert (measured.lower, measured.n_walks) == (UNTIL, crawl.survey.n_walks)
    assert measured.upper >= truth
