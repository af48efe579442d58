"""Live crawls by several processes: the same crawl as by one, even if processes are killed."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.store.database import Database
from orienteer.workers import worker_pool
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.faults.crawl_process import check_archive
from tests.live.live_crawls import StoredCrawl, crawled, hub
from tests.processes.jobs import is_alive
from tests.workers.crashing_workers import CrashingBackend

pytestmark = pytest.mark.usefixtures("ready_child_processes")

N_PAGES = 150


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(N_PAGES, rng=5))


def by_processes(n: int, workers: int = 8, **more: Any) -> dict[str, dict[str, Any]]:
    return {"crawl": {"processes": n, "workers": workers, "commit_every_s": 0.05, **more}}


def results(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the results of a crawl, independent of the order."""
    stored = StoredCrawl(folder)
    return {
        url: (row.state, row.outcome, row.status, row.digest, sorted(stored.urls[link] for link in row.links))
        for url, row in stored.rows.items()
        if row is not None
    }


def certified(report: Report) -> tuple[float, float]:
    return report.figures.certificate.lower, report.figures.certificate.upper


@pytest.mark.parametrize("policy", ["certified", "fractional", "breadth-first"])
def test_the_order_is_that_of_one_process(site: GraphSite, tmp_path: Path, policy: str) -> None:
    """With one request in flight at a time."""
    with FakeWeb(site) as web:
        for n in (1, 2):
            settings = by_processes(n, workers=1)
            crawled(web, hub(site), tmp_path / str(n), policy=policy, budget=40, settings=settings)
    assert StoredCrawl(tmp_path / "1").order == StoredCrawl(tmp_path / "2").order


def test_the_pages_are_those_of_one_process(site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(site) as web:
        reports = [crawled(web, hub(site), tmp_path / str(n), settings=by_processes(n, workers=32)) for n in (1, 3)]
    assert results(tmp_path / "1") == results(tmp_path / "3")
    np.testing.assert_allclose(certified(reports[0]), certified(reports[1]), atol=1e-9)
    assert len(reports[1].figures.workers) == 3
    assert sum(worker.n_responses for worker in reports[1].figures.workers) == reports[1].figures.n_done
    check_archive(tmp_path / "3")


def test_hooks_and_topics_receive_all_pages(site: GraphSite, tmp_path: Path) -> None:
    topic = tmp_path / "topic.toml"
    topic.write_text('[topic]\nkind = "keywords"\nwords = ["the"]\n')

    def hook(page: ori.HookPage) -> ori.Added:
        return ori.Added(fields={"length": str(len(page.html)), "words": str(len(page.text.split()))})

    with FakeWeb(site) as web:
        for n in (1, 2):
            crawled(
                web, hub(site), tmp_path / str(n), topic=topic, hooks=[hook], budget=40,
                settings=by_processes(n, workers=1), policy="scent",
            )  # fmt: skip
    stored = [StoredCrawl(tmp_path / str(n)) for n in (1, 2)]
    assert stored[0].order == stored[1].order
    relevance = [{url: row.relevance for url, row in one.rows.items() if row is not None} for one in stored]
    assert relevance[0] == relevance[1]
    assert len(set(relevance[0].values())) > 1
    with Database.open(tmp_path / "1" / "crawl.db") as one, Database.open(tmp_path / "2" / "crawl.db") as other:
        for page in stored[0].order:
            assert one.details.added(page) == other.details.added(page)
            assert one.details.words(page) == other.details.words(page)


class Killer(Site):
    """Serves a site, and sometimes kills one of the workers that send requests."""

    def __init__(self, site: GraphSite, rng: random.Random, n_kills: int) -> None:
        self.site, self.rng, self.n_left = site, rng, n_kills
        self.workers: list[int] = []
        self.seen: set[int] = set()

    def watch(self, figures: CrawlFigures) -> None:
        self.workers = [worker.process for worker in figures.workers if worker.process]
        self.seen.update(self.workers)

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if self.n_left and self.workers and self.rng.random() < 0.05:
            with suppress(ProcessLookupError):
                os.kill(self.rng.choice(self.workers), signal.SIGKILL)
                self.n_left -= 1
        return self.site.response(host, target, headers)


def test_killed_workers_cost_nothing_but_time(site: GraphSite, tmp_path: Path, fresh_rng: random.Random) -> None:
    with FakeWeb(site) as web:
        one = crawled(web, hub(site), tmp_path / "one")
    killer = Killer(site, fresh_rng, 4)
    with FakeWeb(killer) as web:
        report = crawled(web, hub(site), tmp_path / "killed", settings=by_processes(3), watch=killer.watch)
        n_requests = len(web.requests)
    n_crashed = report.figures.n_workers_crashed
    assert n_crashed >= 1
    assert results(tmp_path / "one") == results(tmp_path / "killed")
    np.testing.assert_allclose(certified(one), certified(report), atol=1e-9)
    assert n_requests <= one.figures.n_done + 8 * n_crashed  # only requests in flight are repeated
    assert not any(map(is_alive, killer.seen))
    check_archive(tmp_path / "killed")


class SomePages(Site):
    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        links = "".join(f"<a href='/{k}'>{k}</a>" for k in range(20))
        return FakeResponse(f"<title>{target}</title>{links}<a href='/deadly'>do not go there</a>")


def test_a_page_that_kills_workers_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "ProcessBackend", CrashingBackend)
    with FakeWeb(SomePages()) as web:
        report = crawled(web, "http://a.example/0", tmp_path / "crawl", settings=by_processes(2))
    assert StoredCrawl(tmp_path / "crawl").outcome("http://a.example/deadly") == "unreadable"
    assert report.figures.n_fetched == 20
    assert report.figures.certificate.blocked > 0
    assert report.figures.n_workers_crashed == 5
