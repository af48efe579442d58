"""Crawls that stop by measured coverage: the same walks as in a simulation, killed or not, on slow and fast hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from scipy.linalg import lu_factor, lu_solve

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.survey.crawl_survey import CrawlSurvey, SurveyStart
from orienteer.graph.synthetic import synthetic_web
from orienteer.ledger.event_replay import EventReplay
from orienteer.live.session import plan_of_folder, refresh
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.folder_view import FolderView
from orienteer.store.visit_tables import SurveyRow, WalksRow
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered

UNTIL = 0.9


@pytest.fixture(autouse=True)
def seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the same walks every time; normally the seed comes from the system."""
    monkeypatch.setattr("orienteer.ledger.setup.secrets.token_hex", lambda n_bytes: "5eed" * n_bytes)


def a_site() -> GraphSite:
    """A site with many links between hosts, on which a proof takes much longer than a measurement."""
    return GraphSite(synthetic_web(700, inter_host=0.3, rng=6))


def walks_of(folder: Path) -> tuple[SurveyRow, list[WalksRow]]:
    with Database.open(folder / "crawl.db", read_only=True) as database:
        found = database.surveys.last(0)
        assert found is not None
        return found[1], database.surveys.walks(found[0])


def simulated(graph: ori.LinkGraph, row: SurveyRow, policy: str = "certified") -> Crawl:
    """Run the same crawl on a known graph, with the random seed of the folder."""
    trusted = TrustedPages(np.array([0], np.uint32), np.array([1.0]))
    goal = Goal(UNTIL, confidence=0.999)
    crawl = Crawl(make_policy(policy), trusted, goal)
    crawl.begin_survey(SurveyStart(row.until, row.confidence, row.seed, width=row.width))
    while (page := crawl.next()) is not None:
        crawl.fetched(page, graph.links(page))
    return crawl


def rounds_of(crawl: Crawl) -> list[WalksRow]:
    """Return the walks of a Crawl as rows of a folder."""
    assert crawl.survey is not None
    return rounds_of_survey(crawl.survey)


def rounds_of_survey(survey: CrawlSurvey) -> list[WalksRow]:
    return [WalksRow(one.n_events, one.entries, one.allowed, one.free, one.stake) for one in survey.rounds]


@pytest.mark.parametrize("policy", ["certified", "breadth-first"])
def test_live_is_simulated(policy: str, tmp_path: Path) -> None:
    site = a_site()
    settings = {"crawl": {"stop_when": "measured", "workers": 1}, "politeness": {"connections": 1}}
    with FakeWeb(site) as web:
        report = crawled(web, hub(site), tmp_path / "c", until=UNTIL, policy=policy, settings=settings)
    assert report.stopped_because == StopReason.MEASURED
    assert report.goal_reached
    stored = StoredCrawl(tmp_path / "c")
    row, walks = walks_of(tmp_path / "c")
    graph = renumbered(stored, site)
    crawl = simulated(graph, row, policy)
    assert stored.order == list(crawl.order)
    assert crawl.survey is not None
    assert walks == rounds_of(crawl)
    truth = ori.pagerank(graph, [0])[stored.order].sum()
    assert truth >= UNTIL
    measured = report.figures.measured
    assert measured is not None
    assert (measured.lower, measured.n_walks) == (UNTIL, crawl.survey.n_walks)
    assert measured.upper >= truth


class SlowHosts(Site):
    """A site on which every third host responds slowly."""

    def __init__(self, site: GraphSite) -> None:
        self.site = site

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        response = self.site.response(host, target, headers)
        return replace(response, delay_s=0.08) if crc32(host.encode()) % 3 == 0 else response


class ExactLives:
    """The mean score of lives that leave a set of known pages, by linear algebra."""

    def __init__(self, graph: ori.LinkGraph, damping: float = 0.85) -> None:
        n, degrees = graph.n_pages, graph.out_degrees()
        self.damping = damping
        self.links = np.zeros((n, n))
        self.links[graph.sources(), graph.targets] = damping / degrees[graph.sources()]
        self.is_dangling = degrees == 0
        self.solved = lu_factor(np.eye(n) - self.links)

    def mean(self, known: np.ndarray, until: float) -> float:
        """Return the mean over the lives of a surfer who starts at page 0."""
        outside = ~known
        counted = (1 - self.damping) * outside + (1 - until) * self.damping * self.is_dangling
        inside = self.links[np.ix_(known, known)]
        start = np.zeros(len(known))
        start[0] = 1.0
        visits = np.linalg.solve(np.eye(int(known.sum())) - inside.T, start[known])
        leaves = start * outside
        leaves[outside] += visits @ self.links[np.ix_(known, outside)]
        # What is collected in K later belongs to the life; what is collected before it enters does not.
        return float(leaves @ lu_solve(self.solved, counted) / leaves.sum())


def test_slow_hosts_do_not_bias_it(tmp_path: Path) -> None:
    """With 16 workers, and hosts of very different speeds with different pages."""
    site = a_site()
    settings = {"crawl": {"stop_when": "measured", "workers": 16}}
    with FakeWeb(SlowHosts(site)) as web:
        report = crawled(web, hub(site), tmp_path / "c", until=UNTIL, settings=settings)
    assert report.stopped_because in (StopReason.MEASURED, StopReason.COVERAGE)  # a slow machine may prove it first
    stored = StoredCrawl(tmp_path / "c")
    graph = renumbered(stored, site)
    assert ori.pagerank(graph, [0])[stored.order].sum() >= UNTIL
    row, walks = walks_of(tmp_path / "c")
    with FolderView.open(tmp_path / "c") as folder:
        survey = EventReplay(folder, plan_of_folder(tmp_path / "c")).crawl.survey
    assert survey is not None
    assert row.width == 16
    assert rounds_of_survey(survey) == walks
    scores = survey._evidence.scores[: survey.n_walks]
    if report.stopped_because == StopReason.COVERAGE and len(scores) <= 5:
        pytest.skip("the proof came before there were enough walks")
    exact, means = ExactLives(graph), []
    for one in walks:
        known = np.zeros(graph.n_pages, np.bool_)
        known[stored.order[: one.n_events]] = True
        means += [exact.mean(known, UNTIL)] * len(one.entries)
    errors = scores - np.array(means[: len(scores)])
    z = errors.sum() / (scores.std() * np.sqrt(len(scores)))
    assert len(scores) > 5
    assert abs(z) < 4.5, f"seed {row.seed}"


def surveys_of(folder: Path) -> list[tuple[int, float]]:
    """Return the epoch and the target of every survey."""
    with Database.open(folder / "crawl.db", read_only=True) as database:
        return list(database.connection.rows("SELECT epoch, until FROM survey ORDER BY id"))


def test_a_finished_crawl_stays_finished_and_resumes_with_another_goal(tmp_path: Path) -> None:
    site, folder = a_site(), tmp_path / "c"
    settings = {"crawl": {"stop_when": "measured", "workers": 1}}  # several workers would make the order random
    with FakeWeb(site) as web:
        first = crawled(web, hub(site), folder, until=UNTIL, settings=settings)
        n_requests = len(web.requests)
        again = crawled(web, hub(site), folder, until=UNTIL, settings=settings)
        assert len(web.requests) == n_requests
        more = crawled(web, hub(site), folder, until=0.95, settings=settings)
        proved = crawled(web, hub(site), folder, until=0.95, settings={"crawl": {"stop_when": "proved"}})
    assert first.stopped_because == again.stopped_because == more.stopped_because == StopReason.MEASURED
    assert first.figures.measured == again.figures.measured
    assert proved.stopped_because == StopReason.COVERAGE
    assert proved.figures.measured is None
    assert proved.figures.certificate.lower >= 0.95 > more.figures.certificate.lower
    assert surveys_of(folder) == [(0, UNTIL), (0, 0.95)]


def test_a_refresh_is_measured_too(tmp_path: Path) -> None:
    site, folder = a_site(), tmp_path / "c"
    with FakeWeb(site) as web:
        crawled(web, hub(site), folder, until=UNTIL, settings={"crawl": {"stop_when": "measured"}})
        report = refresh(folder)
    assert report.figures.epoch == 1
    assert surveys_of(folder) == [(0, UNTIL), (1, UNTIL)]
    assert report.stopped_because in (StopReason.MEASURED, StopReason.COVERAGE)
    stored = StoredCrawl(folder)
    truth = ori.pagerank(renumbered(stored, site), [0])[stored.order].sum()
    assert truth >= UNTIL


def test_blocked_pages_make_it_a_survey_of_what_is_reachable(tmp_path: Path) -> None:
    """The walks restart, and the crawl does not reach its goal."""
    site, folder = a_site(), tmp_path / "c"
    rank = np.bincount(site.graph.hosts, ori.pagerank(site.graph))
    home = hub(site).split("/")[2]
    worthy = [site.hosts[host] for host in np.argsort(-rank).tolist() if site.hosts[host] != home]
    site.robots = dict.fromkeys(worthy[:2], "User-agent: *\nDisallow: /")
    with FakeWeb(site) as web:
        report = crawled(
            web, hub(site), folder, until=0.95, settings={"crawl": {"stop_when": "measured", "robots": True}}
        )
    assert report.stopped_because == StopReason.REACHABLE
    assert not report.goal_reached
    row, _ = walks_of(folder)
    assert row.of_reachable
    assert row.error < 0.1 * (1 - row.confidence)


def test_a_survey_stopped_by_a_budget_resumes_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It continues like an uninterrupted one."""
    site, folder = a_site(), tmp_path / "c"
    recorded_pages: list[int] = []
    record_page = CrawlSurvey.record_page

    def counted(self: CrawlSurvey, page: int, *rest: Any) -> Any:
        recorded_pages.append(page)
        return record_page(self, page, *rest)

    with FakeWeb(site) as web:
        for budget in (90, 180, 195, 196, None):
            goal = {} if budget is None else {"budget": budget}
            settings = {"crawl": {"stop_when": "measured", "workers": 1, **goal}, "politeness": {"connections": 1}}
            monkeypatch.setattr(CrawlSurvey, "record_page", counted)
            recorded_pages.clear()
            n_before = len(web.requests)
            report = crawled(web, hub(site), folder, until=UNTIL, settings=settings)
            assert len(recorded_pages) == len(web.requests) - n_before, "nothing is replayed"
            monkeypatch.undo()
    assert report.stopped_because == StopReason.MEASURED
    row, walks = walks_of(folder)
    crawl = simulated(renumbered(StoredCrawl(folder), site), row)
    assert StoredCrawl(folder).order == list(crawl.order)
    assert walks == rounds_of(crawl)
    assert walks[0].n_events < 180 < walks[-1].n_events, "it was stopped while it measured"


class Refusing(Site):
    """A site on which one page in thirty always responds with 429."""

    def __init__(self, site: GraphSite) -> None:
        self.site = site

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        is_refused = crc32(f"{host}{target}".encode()) % 30 == 0
        return (
            FakeResponse(status=429)
            if is_refused and target != "/robots.txt"
            else self.site.response(host, target, headers)
        )


def test_walks_do_not_wait_for_pages_that_never_respond(tmp_path: Path) -> None:
    """They are blocked in the end, and the walk stops there: in the worst case the surfer never returns.

    Without back-off, walks request such pages again before any other page of the host, as on a busy machine.
    """
    site = a_site()
    start = next(site.url_of(page) for page in np.argsort(-site.graph.out_degrees()).tolist()
                 if crc32(site.url_of(page).removeprefix("http://").encode()) % 30)  # fmt: skip
    with FakeWeb(Refusing(site)) as web:
        settings = {
            "crawl": {"stop_when": "measured", "workers": 1},
            "retry": {"back_off_s": 0.0, "max_back_off_s": 0.0},
        }
        report = crawled(web, start, tmp_path / "c", until=0.8, settings=settings)
    assert report.stopped_because in (StopReason.MEASURED, StopReason.COVERAGE)
    assert "host given up" not in {row.outcome for row in StoredCrawl(tmp_path / "c").rows.values() if row is not None}
    assert report.figures.n_blocked > 3
    row, walks = walks_of(tmp_path / "c")
    assert walks, f"seed {row.seed}"
    assert report.figures.measured is not None
