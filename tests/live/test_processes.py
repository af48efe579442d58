"""Live crawls by several processes: the same crawl as by one, whatever happens to them."""

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
from orienteer.fake_web.answers import Answer
from orienteer.fake_web.graph_site import GraphSite
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import RequestHeaders, Site
from orienteer.graph.synthetic import synthetic_web
from orienteer.live.figures import Figures
from orienteer.live.session import Report
from orienteer.store.database import Database
from orienteer.workers import crew
from tests.faults.crawl_process import check_archive
from tests.live.live_crawls import Told, crawled, hub
from tests.processes.readings import is_alive
from tests.workers.deadly import DeadlyProcesses

pytestmark = pytest.mark.usefixtures("ready_child_processes")

N_PAGES = 150


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(N_PAGES, rng=5))


def by_processes(n: int, workers: int = 8, **more: Any) -> dict[str, dict[str, Any]]:
    return {"crawl": {"processes": n, "workers": workers, "commit_every_s": 0.05, **more}}


def said(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What a crawl found out, whatever the order."""
    told = Told(folder)
    return {
        url: (row.state, row.outcome, row.status, row.digest, sorted(told.urls[link] for link in row.links))
        for url, row in told.rows.items()
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
    assert Told(tmp_path / "1").order == Told(tmp_path / "2").order


def test_the_pages_are_those_of_one_process(site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(site) as web:
        reports = [crawled(web, hub(site), tmp_path / str(n), settings=by_processes(n, workers=32)) for n in (1, 3)]
    assert said(tmp_path / "1") == said(tmp_path / "3")
    np.testing.assert_allclose(certified(reports[0]), certified(reports[1]), atol=1e-9)
    assert len(reports[1].figures.workers) == 3
    assert sum(worker.n_answers for worker in reports[1].figures.workers) == reports[1].figures.n_done
    check_archive(tmp_path / "3")


def test_hooks_and_topics_get_what_they_want(site: GraphSite, tmp_path: Path) -> None:
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
    told = [Told(tmp_path / str(n)) for n in (1, 2)]
    assert told[0].order == told[1].order
    relevance = [{url: row.relevance for url, row in one.rows.items() if row is not None} for one in told]
    assert relevance[0] == relevance[1]
    assert len(set(relevance[0].values())) > 1
    with Database.open(tmp_path / "1" / "crawl.db") as one, Database.open(tmp_path / "2" / "crawl.db") as other:
        for page in told[0].order:
            assert one.added(page) == other.added(page)
            assert one.words(page) == other.words(page)


class Killer(Site):
    """Serves a site; now and then it kills one of the workers that ask."""

    def __init__(self, site: GraphSite, rng: random.Random, n_kills: int) -> None:
        self.site, self.rng, self.n_left = site, rng, n_kills
        self.workers: list[int] = []
        self.seen: set[int] = set()

    def watch(self, figures: Figures) -> None:
        self.workers = [worker.process for worker in figures.workers]
        self.seen.update(self.workers)

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        if self.n_left and self.workers and self.rng.random() < 0.05:
            with suppress(ProcessLookupError):
                os.kill(self.rng.choice(self.workers), signal.SIGKILL)
                self.n_left -= 1
        return self.site.answer(host, target, headers)


def test_killed_workers_cost_nothing_but_time(site: GraphSite, tmp_path: Path, fresh_rng: random.Random) -> None:
    with FakeWeb(site) as web:
        one = crawled(web, hub(site), tmp_path / "one")
    killer = Killer(site, fresh_rng, 4)
    with FakeWeb(killer) as web:
        report = crawled(web, hub(site), tmp_path / "killed", settings=by_processes(3), watch=killer.watch)
        n_asked = len(web.requests)
    n_died = report.figures.n_workers_died
    assert n_died >= 1
    assert said(tmp_path / "one") == said(tmp_path / "killed")
    np.testing.assert_allclose(certified(one), certified(report), atol=1e-9)
    assert n_asked <= one.figures.n_done + 8 * n_died  # no more than what was in hand is asked for again
    assert not any(map(is_alive, killer.seen))
    check_archive(tmp_path / "killed")


class SomePages(Site):
    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        links = "".join(f"<a href='/{k}'>{k}</a>" for k in range(20))
        return Answer(f"<title>{target}</title>{links}<a href='/deadly'>do not go there</a>")


def test_a_page_that_kills_workers_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "Processes", DeadlyProcesses)
    with FakeWeb(SomePages()) as web:
        report = crawled(web, "http://a.example/0", tmp_path / "crawl", settings=by_processes(2))
    assert Told(tmp_path / "crawl").outcome("http://a.example/deadly") == "unreadable"
    assert report.figures.n_fetched == 20
    assert report.figures.certificate.blocked > 0
    assert report.figures.n_workers_died == 5
