"""The global rank of a crawled domain: its neighborhood on a fake web, against the same on the graph."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, InputError
from orienteer.graph.estimation.estimation import estimate_global_rank
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import EstimateSettings
from orienteer.side_crawls.estimate import EstimateReport, live_estimate, open_estimate
from orienteer.store.database import DatabaseView
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import estimate_of_folder
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, Tables, crawled
from tests.tables import over_rows

ONE: Tables = {"crawl": {"workers": 1}}


class Domain:
    """A web with several hosts, one of which has been crawled."""

    def __init__(self, site: GraphSite, web: FakeWeb, folder: Path, settings: Tables | None = None) -> None:
        hosts = site.graph.hosts
        assert hosts is not None
        sizes = np.bincount(hosts)
        pages = np.flatnonzero(hosts == int(np.argmax(sizes)))
        hub = int(pages[np.argmax(site.graph.out_degrees()[pages])])
        self.site, self.web, self.folder = site, web, folder
        crawled(web, site.url_of(hub), folder, scope="host", settings=settings)
        self.local = [site.page_of(url) for url in StoredCrawl(folder).fetched_urls()]


def web_of(rng: np.random.Generator, n_pages: int = 160) -> GraphSite:
    graph = random_web(rng, n_pages, 6.0, with_hosts=True)
    assert graph.hosts is not None
    return GraphSite(ori.LinkGraph(graph.offsets, graph.targets, (graph.hosts // 6).astype(np.int32)))


@pytest.fixture
def domain(tmp_path: Path, rng: np.random.Generator) -> Iterator[Domain]:
    site = web_of(rng)
    with FakeWeb(site) as web:
        yield Domain(site, web, tmp_path / "crawl", ONE)


def outside_ids(folder: Path, site: GraphSite) -> list[int]:
    """The graph's id of each known page of the neighborhood, in the order of their ids there."""
    found = [site.page_of(url) for url in StoredCrawl(folder / "outside").urls]
    assert None not in found
    return [page for page in found if page is not None]


def simulated(domain: Domain, settings: EstimateSettings) -> Any:
    """The same on the graph, its pages numbered as in the neighborhood."""
    graph, old = domain.site.graph, outside_ids(domain.folder, domain.site)
    old += sorted(set(range(graph.n_pages)) - set(old))
    new = np.empty(graph.n_pages, np.int64)
    new[old] = np.arange(graph.n_pages)
    renumbered = ori.LinkGraph.from_links(graph.n_pages, new[graph.sources()], new[graph.targets])
    budget = 2 * len(domain.local) if settings.budget is None else settings.budget
    return estimate_global_rank(
        renumbered,
        np.arange(len(domain.local)),
        budget,
        settings.rounds,
        settings.select,
        settings.method,
        settle=settings.settle,
    )


@pytest.mark.parametrize("method", ["paper", "frontier-return"])
@pytest.mark.parametrize("select", ["stochastic-complement", "pagerank-flow", "outlink-count"])
def test_the_live_estimate_is_the_simulated_one(domain: Domain, select: str, method: str) -> None:
    settings = EstimateSettings(rounds=5, select=select, method=method, settle=0.0)
    rounds: list[Any] = []
    report = live_estimate(domain.folder, settings, watch=rounds.append)
    expected = simulated(domain, settings)
    assert len(report.pages) == len(domain.local)
    assert report.n_fetched == len(expected.fetched)
    assert report.view.rank == pytest.approx(expected.rank, abs=1e-7)
    assert [past.n_fetched for past in report.history] == [past.n_fetched for past in expected.history]
    assert rounds == list(report.history)
    fetched = {domain.site.url_of(page) for page in outside_ids(domain.folder, domain.site)}
    assert {url for url, row in StoredCrawl(domain.folder / "outside").rows.items() if row is not None} <= fetched
    assert report.goal_reached
    assert report.stopped_because in ("budget", "no page left")


def interrupted(domain: Domain, settings: EstimateSettings, every: int) -> tuple[EstimateReport, int]:
    """The estimate, stopped again and again after some pages."""
    for n_runs in range(1, 100):
        with open_estimate(domain.folder, settings) as estimate:
            live = estimate.live
            goal = len(live.crawl.order) + every

            def tick(live: Any = live, goal: int = goal) -> None:
                live.stop_level = len(live.crawl.order) >= goal

            why = live.run(tick)
        if why != "interrupted":
            return live_estimate(domain.folder, settings), n_runs
    raise AssertionError("it never came to its end")


def test_an_estimate_has_the_folder_for_itself(tmp_path: Path, rng: np.random.Generator) -> None:
    site = web_of(rng)
    settings = EstimateSettings(budget=10, rounds=2, settle=0.0)
    with FakeWeb(site) as web:
        domain = Domain(site, web, tmp_path / "crawl")
        with open_estimate(domain.folder, settings), pytest.raises(CrawlFolderError, match="in use by process"):
            CrawlFolder.open(domain.folder)
        with CrawlFolder.open(domain.folder), pytest.raises(CrawlFolderError, match="in use by process"):
            live_estimate(domain.folder, settings)


@pytest.mark.parametrize("workers", [1, 8])
def test_an_interrupted_estimate_is_the_same_in_the_end(tmp_path: Path, rng: np.random.Generator, workers: int) -> None:
    site = web_of(rng)
    settings = EstimateSettings(budget=40, rounds=6, settle=0.0)
    with FakeWeb(site) as web:
        domain = Domain(site, web, tmp_path / "crawl", {"crawl": {"workers": workers}})
        shutil.copytree(domain.folder, tmp_path / "whole")
        whole = live_estimate(tmp_path / "whole", settings)
        n_before = len(web.requests)
        report, n_runs = interrupted(domain, settings, every=7)
        asked = [target for _, host, target in web.requests[n_before:]]
    assert n_runs > 3
    assert sorted(report.view.rank) == pytest.approx(sorted(whole.view.rank), abs=1e-7)
    if workers == 1:
        assert report.view.rank == pytest.approx(whole.view.rank, abs=1e-9)
        assert [past.n_fetched for past in report.history] == [past.n_fetched for past in whole.history]
    assert report.n_fetched == whole.n_fetched == len(asked)


def test_a_larger_budget_goes_on(domain: Domain) -> None:
    small = live_estimate(domain.folder, EstimateSettings(budget=6, rounds=3, settle=0.0))
    assert (small.n_fetched, small.stopped_because) == (6, "budget")
    n_before = len(domain.web.requests)
    larger = live_estimate(domain.folder, EstimateSettings(budget=20, rounds=5, settle=0.0))
    assert larger.n_fetched == 20
    assert len(domain.web.requests) - n_before == 14
    assert [past.n_fetched for past in larger.history][:4] == [0, 2, 4, 6]


def test_the_ranks_are_written_for_every_local_page(domain: Domain) -> None:
    report = live_estimate(domain.folder, EstimateSettings(budget=10, rounds=2))
    with np.load(domain.folder / "ranks.npz") as ranks:
        assert ranks["pages"].tolist() == report.pages.tolist()
        assert ranks["global"].sum() == pytest.approx(1)
        assert ranks["local"].sum() == pytest.approx(1)
    crawl = StoredCrawl(domain.folder)
    assert {crawl.urls[page] for page in report.pages} == {domain.site.url_of(page) for page in domain.local}
    facts = report.as_dict(n=3)
    assert len(facts["top"]) == 3
    assert facts["top"][0]["outside"] == pytest.approx(max(report.view.rank))


def test_what_came_of_it_stays_in_the_folder(domain: Domain) -> None:
    report = live_estimate(domain.folder, EstimateSettings(budget=10, rounds=2))
    stored = estimate_of_folder(domain.folder)
    with DatabaseView(domain.folder / "crawl.db") as database:
        assert stored["position"] == database.history.next_position()
    output = json.loads(json.dumps(report.as_dict(100)))
    assert stored["forecast"] == output["forecast"]
    assert stored["top"] == output["top"]
    assert [(page["url"], page["n_into"]) for page in stored["outside"]] == [
        (report.urls[page.page], len(page.links)) for page in report.view.referrers
    ]
    assert [page["links"] for page in stored["outside"]] == [page["links"][:10] for page in output["outside"]]


def test_without_an_estimate_nothing_is_there(tmp_path: Path) -> None:
    assert estimate_of_folder(tmp_path) is None
    (tmp_path / "estimate.json").write_text("{")
    with pytest.raises(CrawlFolderError, match="estimate.json.*damaged.*run `orienteer estimate` again"):
        estimate_of_folder(tmp_path)


def test_the_local_crawl_stays_as_it_is(domain: Domain) -> None:
    before = StoredCrawl(domain.folder)
    archive = {path: path.read_bytes() for path in (domain.folder / "archive").iterdir()}
    live_estimate(domain.folder, EstimateSettings(budget=10, rounds=2))
    after = StoredCrawl(domain.folder)
    assert (after.urls, after.order) == (before.urls, before.order)
    assert {path: path.read_bytes() for path in (domain.folder / "archive").iterdir()} == archive
    assert not (domain.folder / "outside" / "archive").exists()


def test_a_continued_crawl_needs_another_neighborhood(tmp_path: Path, rng: np.random.Generator) -> None:
    site = web_of(rng)
    with FakeWeb(site) as web:
        domain = Domain(site, web, tmp_path / "crawl", {"crawl": {"budget": 5}})
        live_estimate(domain.folder, EstimateSettings(budget=4, rounds=2))
        seed = StoredCrawl(domain.folder).urls[0]
        crawled(web, seed, domain.folder, scope="host", budget=9)
        with pytest.raises(InputError, match="has continued since its neighborhood was fetched; use --restart"):
            live_estimate(domain.folder, EstimateSettings(budget=4, rounds=2))
        report = live_estimate(domain.folder, EstimateSettings(budget=4, rounds=2), restart=True)
    assert len(report.pages) == 9


PAGES = {
    "http://home.test/": "<a href=/a>a</a> <a href=/old>old</a> <a href=/none>none</a> <a href=http://x.test/>x</a>"
    "<a href=http://closed.test/>closed</a> <a href=http://gone.test/>gone</a> <a href=http://moved.test/>m</a>",
    "http://home.test/a": "<a href=/>home</a>",
    "http://home.test/old": redirect_to("http://home.test/a"),
    "http://x.test/": "<a href=http://home.test/old>old name</a> <a href=http://y.test/>y</a>",
    "http://y.test/": "<a href=http://home.test/>home</a>",
    "http://closed.test/": FakeResponse("no", 403),
    "http://moved.test/": redirect_to("http://y.test/"),
}


def test_redirects_dead_links_and_closed_pages(tmp_path: Path) -> None:
    """Another name of a local page counts for that page; what is no page does not count at all."""
    with FakeWeb(MadeSite(PAGES, robots={"closed.test": "User-agent: *\nDisallow: /"})) as web:
        crawled(web, "http://home.test/", tmp_path / "crawl", scope="host", settings={"crawl": {"robots": True}})
        report = live_estimate(tmp_path / "crawl", EstimateSettings(budget=10, rounds=5, method="paper"))
    assert len(report.pages) == 2
    assert (report.n_fetched, report.n_failed) == (3, 1)  # x, y, moved; gone
    # home: a, x, moved, [closed]; a: home; x: a, y; y: home; moved: y
    links = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 1), (2, 3), (3, 0), (4, 3)]
    web_known = ori.LinkGraph.from_links(5, *zip(*links, strict=True))
    expected = ori.pagerank(web_known, tolerance=1e-10)[:2]
    crawl = StoredCrawl(tmp_path / "crawl")
    found = {crawl.urls[page]: rank for page, rank in zip(report.pages, report.view.rank, strict=True)}
    assert [found["http://home.test/"], found["http://home.test/a"]] == pytest.approx(
        expected / expected.sum(), abs=1e-6
    )
    influential = {
        report.urls[page.page]: [report.urls[t] for t in page.links.tolist()] for page in report.view.referrers
    }
    assert influential["http://x.test/"] == ["http://home.test/a"]


def test_a_domain_without_a_way_out(tmp_path: Path) -> None:
    pages = {"http://home.test/": "<a href=/a>a</a>", "http://home.test/a": "<a href=/>home</a>"}
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://home.test/", tmp_path / "crawl", scope="host")
        report = live_estimate(tmp_path / "crawl")
    assert (report.n_fetched, report.stopped_because) == (0, "no page left")
    assert report.view.rank.tolist() == pytest.approx([0.5, 0.5])


def test_it_settles(domain: Domain) -> None:
    settings = EstimateSettings(budget=60, rounds=30, settle=1.0)
    report = live_estimate(domain.folder, settings)
    assert report.stopped_because == "settled"
    expected = simulated(domain, settings)
    assert len(report.history) == len(expected.history) < 31
    assert report.view.rank == pytest.approx(expected.rank, abs=1e-7)
    assert "experience, no bound" in str(report.forecast)


@over_rows(
    "bad",
    [{"budget": -1}, {"rounds": 0}, {"settle": -0.1}, {"settle": 2.0}, {"select": "rndom"}, {"method": "papr"}],
)
def test_nonsense_is_refused_in_one_line(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        EstimateSettings(**bad)
    assert "\n" not in str(error.value)


def test_an_empty_crawl_has_no_domain(tmp_path: Path) -> None:
    from orienteer.ledger.settings import CrawlSettings

    CrawlFolder.create(tmp_path / "crawl", CrawlPlan(CrawlSettings(seeds=("http://a.test/",))).to_toml()).close()
    with pytest.raises(InputError, match="nothing to estimate"):
        live_estimate(tmp_path / "crawl")
