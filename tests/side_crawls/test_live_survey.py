"""Surveys of crawls on fake webs, against the truth, and against themselves: however they are driven."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, InputError
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.synthetic import synthetic_web
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings
from orienteer.live.session import refresh
from orienteer.side_crawls.survey import live_survey, made_for, open_live_survey
from orienteer.side_crawls.survey_report import SurveyReport
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.faults.crawl_process import archived_urls
from tests.live.live_crawls import StoredCrawl, Tables, crawled, hub

pytestmark = pytest.mark.long

GOAL = SurveyGoal(half_width=0.07)


class Audited:
    """A web, and a crawl of a part of it that went breadth-first: a copy of `crawl`."""

    def __init__(self, site: GraphSite, web: FakeWeb, crawl: Path, folder: Path) -> None:
        self.site, self.web, self.folder = site, web, folder
        self.seed = hub(site)
        shutil.copytree(crawl, folder)

    def truth(self) -> float:
        rank = ori.pagerank(self.site.graph, [self.site.page_of(self.seed) or 0], tolerance=1e-10)
        return float(rank[[self.site.page_of(url) or 0 for url in StoredCrawl(self.folder).fetched_urls()]].sum())


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(1500, mean_degree=8.0, rng=5), page_bytes=500)


@pytest.fixture(scope="module")
def web(site: GraphSite) -> Iterator[FakeWeb]:
    with FakeWeb(site) as web:
        yield web


@pytest.fixture(scope="module")
def crawl(site: GraphSite, web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "crawl"
    crawled(web, hub(site), folder, budget=60, policy="breadth-first")
    return folder


@pytest.fixture
def audited(site: GraphSite, web: FakeWeb, crawl: Path, tmp_path: Path) -> Audited:
    return Audited(site, web, crawl, tmp_path / "crawl")


def found(report: SurveyReport) -> tuple[Any, ...]:
    """What must not depend on how a survey was driven: everything but numbers of pages, and what it took."""
    measured = report.measured
    gaps = [(gap.name, gap.share, gap.lower, gap.upper, gap.n_walks) for gap in (*report.hosts, *report.folders)]
    return measured.lower, measured.upper, measured.estimate, measured.n_walks, gaps, report.stopped_because


def begun(folder: Path, copy: Path) -> None:
    """The survey of a crawl has got its seed; the same in a copy of the folder."""
    with open_live_survey(folder, GOAL):
        pass
    shutil.copytree(folder, copy)


def files_of(folder: Path) -> dict[Path, bytes]:
    """All but those that SQLite needs to read."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("crawl.db-"))
    return {path: path.read_bytes() for path in files}


def test_the_truth_lies_between(audited: Audited) -> None:
    n_before = len(audited.web.requests)
    watched: list[int] = []
    report = live_survey(audited.folder, GOAL, watch=lambda walks: watched.append(walks.n_probes))
    measured = report.measured
    assert report.goal_reached
    assert measured.half_width <= GOAL.half_width
    assert measured.lower <= audited.truth() <= measured.upper
    assert report.proved.lower < measured.lower
    assert measured.upper - measured.lower < report.proved.upper - report.proved.lower
    assert report.n_pages == 60
    assert len(audited.web.requests) - n_before == measured.n_probes == sum(report.outcomes.values())
    assert watched == sorted(watched)
    assert json.loads((audited.folder / "survey" / "report.json").read_text()) == json.loads(
        json.dumps(report.as_dict())
    )


def test_the_crawl_itself_stays_as_it_is(audited: Audited) -> None:
    before = files_of(audited.folder)
    live_survey(audited.folder, GOAL)
    after = files_of(audited.folder)
    assert {path: after[path] for path in before} == before
    assert all((audited.folder / "survey") in path.parents for path in set(after) - set(before))


def test_what_was_fetched_can_be_added_to_the_crawl(audited: Audited, tmp_path: Path) -> None:
    report = live_survey(audited.folder, GOAL)
    probes = archived_urls(audited.folder / "survey")
    assert len(probes) == report.measured.n_probes
    merged = ori.import_crawl([audited.folder, audited.folder / "survey"], tmp_path / "merged", scope="web")
    stored = StoredCrawl(tmp_path / "merged")
    assert stored.fetched_urls() == StoredCrawl(audited.folder).fetched_urls() | set(probes)
    assert merged.seeds == (audited.seed,)
    assert merged.certificate is not None
    assert merged.certificate.lower > report.proved.lower


def test_the_end_does_not_depend_on_workers_and_slow_hosts(audited: Audited, tmp_path: Path) -> None:
    """The same seed, once page by page, once with many workers on hosts of which each page has its own delay."""
    begun(audited.folder, tmp_path / "copy")
    one = live_survey(audited.folder, GOAL, settings={"crawl": {"workers": 1}})
    with FakeWeb(Faulty(audited.site, 0, (0.0, 0.05), server_error=0.1, n_failures=1)) as slow:
        settings: Tables = {"crawl": {"workers": 32}, "fetch": {"connect_to": slow.address}}
        many = live_survey(tmp_path / "copy", GOAL, settings=settings)
    assert found(one) == found(many)
    assert one.seed == many.seed
    assert one.measured.lower <= audited.truth() <= one.measured.upper


def test_an_interrupted_survey_is_the_same_in_the_end(
    audited: Audited, tmp_path: Path, fresh_rng: random.Random
) -> None:
    begun(audited.folder, tmp_path / "copy")
    whole = live_survey(audited.folder, GOAL)
    n_before, n_runs = len(audited.web.requests), 0
    while True:
        n_runs += 1
        with open_live_survey(tmp_path / "copy", GOAL) as opened:
            live, n_wanted = opened.live, opened.setup.walks.n_probes + fresh_rng.randint(1, 20)
            walks = opened.setup.walks

            def stop(_: object, live: Any = live, walks: Any = walks, n: int = n_wanted) -> None:
                live.stop_level = int(walks.n_probes >= n)

            report = opened.run(stop)
        assert report.measured.lower <= audited.truth() <= report.measured.upper
        if report.stopped_because != "interrupted":
            break
    assert n_runs > 2
    assert found(report) == found(whole)
    asked = audited.web.requests[n_before:]
    assert len({target for _, _, target in asked}) <= len(asked) == report.measured.n_probes


def test_a_budget_is_respected_and_can_be_raised(audited: Audited) -> None:
    for budget, n_new in ((0, 0), (7, 7), (30, 23)):
        n_before = len(audited.web.requests)
        report = live_survey(audited.folder, SurveyGoal(half_width=0.001, budget=budget))
        assert (report.stopped_because, report.goal_reached) == ("budget", False)
        assert len(audited.web.requests) - n_before == n_new
        assert report.measured.n_probes == budget
        assert report.measured.lower <= audited.truth() <= report.measured.upper


def test_it_can_be_made_more_precise(audited: Audited) -> None:
    rough = live_survey(audited.folder, GOAL)
    fine = live_survey(audited.folder, SurveyGoal(half_width=0.05))
    assert fine.seed == rough.seed
    assert fine.measured.n_walks > rough.measured.n_walks
    assert rough.measured.lower <= fine.measured.lower <= audited.truth() <= fine.measured.upper <= rough.measured.upper


def test_an_end_is_an_end(audited: Audited) -> None:
    report = live_survey(audited.folder, GOAL)
    n_before = len(audited.web.requests)
    assert found(live_survey(audited.folder, GOAL)) == found(report)
    assert len(audited.web.requests) == n_before
    other = live_survey(audited.folder, GOAL, restart=True)
    assert other.seed != report.seed
    assert len(audited.web.requests) > n_before


def test_a_crawl_that_has_gone_on_needs_another_survey(audited: Audited) -> None:
    live_survey(audited.folder, GOAL)
    crawled(audited.web, audited.seed, audited.folder, budget=90, policy="breadth-first")
    with pytest.raises(InputError, match="has continued since its survey was begun; use --restart"):
        live_survey(audited.folder, GOAL)
    report = live_survey(audited.folder, GOAL, restart=True)
    assert report.n_pages == 90
    assert report.measured.lower <= audited.truth() <= report.measured.upper


def test_a_survey_in_another_folder_writes_nothing_in_the_crawl(audited: Audited, tmp_path: Path) -> None:
    before = files_of(audited.folder)
    live_survey(audited.folder, GOAL, output=tmp_path / "other")
    assert files_of(audited.folder) == before
    assert (tmp_path / "other" / "report.json").exists()


@pytest.mark.parametrize("again", [False, True])
def test_a_survey_takes_the_place_of_no_crawl(audited: Audited, tmp_path: Path, again: bool) -> None:
    shutil.copytree(audited.folder, tmp_path / "other")
    before = files_of(audited.folder) | files_of(tmp_path / "other")
    for place in (audited.folder, tmp_path / "other"):
        with pytest.raises(InputError, match="a crawl in this folder, and no survey"):
            live_survey(audited.folder, GOAL, output=place, restart=again)
    assert files_of(audited.folder) | files_of(tmp_path / "other") == before


@pytest.mark.parametrize("other", [{"seeds": ["http://h1.test/"]}, {"damping": 0.5}, {"policy": "random"}])
def test_what_the_crawl_is_cannot_be_changed(audited: Audited, other: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="this crawl was begun with"):
        live_survey(audited.folder, GOAL, settings={"crawl": other})
    assert not (audited.folder / "survey").exists()


def test_what_is_known_of_sessions_comes_along(tmp_path: Path) -> None:
    """Two sessions were seen to get the same page; a third is not asked for."""
    sessions = [f"http://a.test/p?PHPSESSID={letter * 32}" for letter in "abc"]
    pages = {
        "http://a.test/": "".join(f"<a href='{url}'>p</a>" for url in sessions[:2]) + "<a href=/x>x</a>",
        "http://a.test/x": f"<a href=/>home</a><a href='{sessions[2]}'>p</a>",
    } | dict.fromkeys(sessions, "<a href=/>the same</a>")
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path / "c", budget=3, policy="breadth-first", scope="host")
        assert StoredCrawl(tmp_path / "c").fetched_urls() == {"http://a.test/", *sessions[:2]}
        report = live_survey(tmp_path / "c", SurveyGoal(half_width=0.01))
        assert (web.count("http://a.test/x"), web.count(sessions[2])) == (1, 0)
    step = 0.85 * np.array([[0, 2 / 3, 1 / 3], [1, 0, 0], [1 / 2, 1 / 2, 0]])  # home, the page, x
    time = 0.15 * np.linalg.solve(np.eye(3) - step.T, np.eye(3)[0])
    assert report.measured.lower <= time[0] + time[1] <= report.measured.upper
    assert report.measured.n_probes == 1


def test_two_surveys_at_a_time_are_one_too_many(audited: Audited) -> None:
    with open_live_survey(audited.folder, GOAL), pytest.raises(CrawlFolderError, match="in use by process"):
        live_survey(audited.folder, GOAL)


def test_an_untrusted_survey_is_refused(audited: Audited) -> None:
    """The author of a folder could have chosen the walks."""
    live_survey(audited.folder, GOAL)
    with Database.open(audited.folder / "survey" / "crawl.db") as database:
        row = database.meta.get("survey")
        database.meta.set("survey", row | {"seed": "00" * 16})
        database.commit()
        with pytest.raises(InputError, match="not known to be yours; use --restart"):
            made_for(database)
        database.meta.set("survey", {"seed": 1})  # not committed
        with pytest.raises(CrawlFolderError, match="lacks the description of its survey"):
            made_for(database)
    with pytest.raises(InputError, match="not known to be yours"):
        live_survey(audited.folder, GOAL)


def test_an_empty_crawl_has_nothing_to_measure(tmp_path: Path) -> None:
    CrawlFolder.create(tmp_path / "crawl", CrawlPlan(CrawlSettings(seeds=("http://a.test/",))).to_toml()).close()
    with pytest.raises(InputError, match="nothing to measure"):
        live_survey(tmp_path / "crawl")


# -- a small web, drawn --------------------------------------------------------------------------------------------

PAGES = {
    "http://home.test/": "<a href=/a>a</a> <a href=/old>old</a> <a href=/none>none</a> <a href=/closed/1>c</a>"
    "<a href=/far>far</a>",
    "http://home.test/a": "<a href=/>home</a> <a href=/b>b</a>",
    "http://home.test/b": "<a href=/c>c</a> <a href=/old>old</a> <a href=/denied>denied</a>",
    "http://home.test/c": "<a href=/>home</a>",
    "http://home.test/old": redirect_to("http://home.test/a"),
    "http://home.test/far": redirect_to("http://home.test/c"),
    "http://home.test/denied": FakeResponse("no", 403),
    "http://home.test/closed/1": "never asked for",
}
ROBOTS = {"home.test": "User-agent: *\nDisallow: /closed/"}
# Of home, a, b, c, and the blocked ones as x: home -> a, a (old), none, x, c (far); a -> home, b; b -> c, a (old), x.
LINKS = [(0, 1), (0, 1), (0, 4), (0, 5), (0, 3), (1, 0), (1, 2), (2, 3), (2, 1), (2, 5), (3, 0)]


def dense(fetched: list[int], returns: bool) -> float:
    """The time on these pages, where what is blocked leads there at once, for the rest of a life, or nowhere."""
    step = np.zeros((6, 6))
    for source, target in LINKS:
        step[source, target] += 0.85 / sum(link[0] == source for link in LINKS)
    visits = np.linalg.solve(np.eye(6) - step.T, np.eye(6)[0])
    time = 0.15 * visits / (1.0 - 0.85 * visits[4])
    stuck = 0.85 * visits[5] / (1.0 - 0.85 * visits[4])
    return float(time[fetched].sum() + (time[5] + stuck if returns else 0.0))


def test_redirects_dead_links_and_closed_pages(tmp_path: Path) -> None:
    named: dict[str, Any] = {"scope": "host", "policy": "breadth-first", "settings": {"crawl": {"robots": True}}}
    with FakeWeb(MadeSite(PAGES, robots=ROBOTS)) as web:
        crawled(web, "http://home.test/", tmp_path / "crawl", budget=2, **named)
        assert StoredCrawl(tmp_path / "crawl").fetched_urls() == {"http://home.test/", "http://home.test/a"}
        report = live_survey(tmp_path / "crawl", SurveyGoal(half_width=0.02))
        assert not web.count("http://home.test/closed/1")
    measured = report.measured
    assert report.stopped_because == "settled"  # too much is blocked
    worst, best = dense([0, 1], returns=False), dense([0, 1], returns=True)
    assert measured.lower <= worst < best <= measured.upper
    assert measured.upper - measured.lower < best - worst + 0.03
    stored = StoredCrawl(tmp_path / "crawl" / "survey")
    assert stored.outcome("http://home.test/old") == "redirect"
    assert stored.outcome("http://home.test/none") == "http 404"
    assert stored.outcome("http://home.test/closed/1") == "robots.txt"
    assert {gap.name for gap in report.hosts} == {"home.test"}
    assert "home.test/" in {gap.name for gap in report.folders}


def test_what_the_crawl_found_blocked_stays_blocked(tmp_path: Path) -> None:
    pages = {
        "http://a.test/": "<a href=/1>1</a><a href=/denied>d</a>",
        "http://a.test/1": "<a href=/>home</a><a href=/2>2</a>",
        "http://a.test/2": "<a href=/>home</a><a href=/denied>d</a>",
        "http://a.test/denied": FakeResponse("no", 403),
    }
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path / "c", budget=3, policy="breadth-first", scope="host")
        assert web.count("http://a.test/denied") == 1
        assert "http://a.test/2" not in StoredCrawl(tmp_path / "c").fetched_urls()
        report = live_survey(tmp_path / "c", GOAL)
        assert (web.count("http://a.test/denied"), web.count("http://a.test/2")) == (1, 1)
    assert report.proved.blocked > 0
    assert report.least_half_width > GOAL.half_width


def test_the_scope_is_that_of_the_crawl(tmp_path: Path) -> None:
    """Also where a seed outside redirects to another host: the measured web does not grow."""
    pages = {
        "http://a.test/": "<a href=/1>1</a><a href=http://other.test/>other</a>",
        "http://a.test/1": "<a href=/>home</a>",
        "http://b.test/": redirect_to("http://moved.test/"),
        "http://moved.test/": "<a href=http://moved.test/deep>deep</a>",
    }
    with FakeWeb(MadeSite(pages)) as web:
        seeds = ["http://a.test/", "http://b.test/"]
        crawled(web, seeds, tmp_path / "c", budget=1, policy="breadth-first", scope="host")
        report = live_survey(tmp_path / "c", GOAL)
        assert live_survey(tmp_path / "c", GOAL).measured == report.measured
        hosts = {host for _, host, _ in web.requests}
    assert hosts == {"a.test", "b.test"}
    assert StoredCrawl(tmp_path / "c" / "survey").outcome("http://b.test/") == "redirect leaves the scope"
    assert report.measured.lower <= 0.5 <= report.measured.upper


def test_a_crawl_that_was_refreshed(audited: Audited) -> None:
    refresh(audited.folder)
    report = live_survey(audited.folder, GOAL)
    assert report.n_pages == len(StoredCrawl(audited.folder).order)
    assert report.measured.lower <= audited.truth() <= report.measured.upper


def test_for_a_surfer_from_the_pages_on_topic(site: GraphSite, web: FakeWeb, crawl: Path, tmp_path: Path) -> None:
    """In a folder of its own; a crawl without a topic has no such surfer."""
    folder, topic = tmp_path / "crawl", tmp_path / "topic.toml"
    topic.write_text('[topic]\nkind = "url-pattern"\npatterns = ["[13579]$"]\n')
    crawled(web, hub(site), folder, budget=60, policy="breadth-first", topic=topic)
    plain = live_survey(folder, GOAL)
    report = live_survey(folder, GOAL, on_topic=True)
    assert found(live_survey(folder, GOAL, on_topic=True)) == found(report)
    with pytest.raises(InputError, match="this survey is of a surfer from the pages on topic"):
        live_survey(folder, GOAL, output=folder / "survey-on-topic")
    with pytest.raises(InputError, match="this crawl has no topic"):
        live_survey(crawl, GOAL, on_topic=True)
    fetched = [site.page_of(url) or 0 for url in StoredCrawl(folder).fetched_urls()]
    starts = [page for page in fetched if site.url_of(page)[-1] in "13579"]
    truth = ori.pagerank(site.graph, starts, tolerance=1e-10)[fetched].sum()
    assert report.measured.lower <= truth <= report.measured.upper
    assert found(plain) != found(report)
