"""The components of the plug-in, without an engine."""

from __future__ import annotations

import sqlite3
from collections import deque
from contextlib import closing
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, InputError
from orienteer.graph.coverage import certificate as certificate_of
from orienteer.graph.proved import Certificate
from orienteer.pages.states import PageState
from orienteer.policies import all_policies
from orienteer.policies.focused import FocusedPolicy
from orienteer.store.request_folder import RequestFolder, RequestRow
from tests.conftest import random_web

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'orienteer[scrapy]'")

from scrapy import Request, Spider
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from orienteer.scrapy import Addon, Scheduler
from orienteer.scrapy.project import LinkNotes, PluginSettings, Slots
from orienteer.scrapy.request_ledger import RequestLedger
from orienteer.scrapy.spider_crawl import Boosts, SpiderCrawl
from tests.tables import over_rows

IN_MEMORY = PluginSettings()


# Settings -------------------------------------------------------------------------------------------------------------


def test_a_project_says_nothing_or_all() -> None:
    assert PluginSettings.of_project(Settings()) == PluginSettings("certified", None, None, 0.85)
    said = Settings(
        {"ORIENTEER_POLICY": "fractional:inter_host_weight=20", "JOBDIR": "job", "CLOSESPIDER_COVERAGE": "0.98"}
    )
    settings = PluginSettings.of_project(said)
    assert (settings.folder, settings.until) == (Path("job/orienteer"), 0.98)
    assert settings.new_policy().name == "fractional"
    assert PluginSettings.of_project(Settings({"ORIENTEER_DIR": "x", "JOBDIR": "job"})).folder == Path("x")
    assert PluginSettings.of_project(Settings({"CLOSESPIDER_COVERAGE": 0})).until is None


@over_rows(
    ("name", "value", "message"),
    [
        ("ORIENTEER_POLICY", "certifed", "ORIENTEER_POLICY: no policy named 'certifed'; did you mean 'certified'?"),
        ("ORIENTEER_POLICY", "optimal", "ORIENTEER_POLICY: optimal needs the true rank of the whole web"),
        ("ORIENTEER_POLICY", "scent", "ORIENTEER_POLICY: scent looks for pages of a topic"),
        ("CLOSESPIDER_COVERAGE", 98, "CLOSESPIDER_COVERAGE: until is 98.0; a coverage lies between 0 and 1"),
        ("CLOSESPIDER_COVERAGE", "most", "CLOSESPIDER_COVERAGE is 'most'; it must be a number"),
        ("ORIENTEER_DAMPING", 1, "ORIENTEER_DAMPING: damping is 1.0"),
        ("ORIENTEER_CONFIDENCE", 99.9, "ORIENTEER_CONFIDENCE: confidence is 99.9; it must be at least 0.5 and below 1"),
        ("ORIENTEER_CONFIDENCE", "very", "ORIENTEER_CONFIDENCE is 'very'; it must be a number"),
    ],
)
def test_a_problem_is_one_line_with_its_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        PluginSettings.of_project(Settings({name: value}))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


# The crawl ------------------------------------------------------------------------------------------------------------


class GraphSpider:
    """A crawl of a known graph, and all its events: some pages fail, some are blocked, some redirect."""

    def __init__(self, graph: ori.LinkGraph, settings: PluginSettings = IN_MEMORY) -> None:
        self.graph = graph
        self.crawl = SpiderCrawl(settings)
        self.starts: list[int] = []
        self.links: dict[int, list[int]] = {}
        self.aliases: list[int] = []
        self.blocked: list[int] = []
        for _ in range(graph.n_pages):
            self.crawl.add(host=0, priority=0)

    def start_from(self, page: int) -> None:
        self.crawl.start_from(page)
        self.starts.append(page)

    def fetch_one(self) -> int | None:
        page = self.crawl.next(0.0)
        if page is None:
            return None
        links = self.graph.links(page).tolist()
        if page % 11 == 3:
            self.blocked.append(page)
            self.crawl.finish(page, PageState.BLOCKED)
        elif page % 11 == 4:
            self.links[page] = []
            self.crawl.finish(page, PageState.FAILED)
        elif page % 11 == 5 and links and links[0] not in self.aliases:
            self.links[page] = links[:1]
            self.aliases.append(page)
            self.crawl.finish(page, PageState.FETCHED, redirect_to=links[0])
        else:
            self.links[page] = links
            self.crawl.finish(page, PageState.FETCHED, links=links)
        return page

    def certificate(self) -> Certificate:
        """By the definition, from scratch."""
        pairs = [(source, target) for source, targets in self.links.items() for target in targets]
        sources, targets = zip(*pairs, strict=True) if pairs else ((), ())
        graph = ori.LinkGraph.from_links(self.graph.n_pages, sources, targets)
        return certificate_of(graph, list(self.links), self.starts, blocked=self.blocked, aliases=self.aliases)


def test_start_pages_that_come_late_count_as_if_they_had_been_there(rng: np.random.Generator) -> None:
    for _ in range(20):
        spider_run = GraphSpider(random_web(rng, 60))
        spider_run.start_from(0)
        while spider_run.fetch_one() is not None or len(spider_run.starts) < 6:
            if rng.random() < 0.2:
                spider_run.start_from(int(rng.integers(0, 60)))
        seen, expected = spider_run.crawl.certificate(), spider_run.certificate()
        assert seen.lower == pytest.approx(expected.lower, abs=1e-7)
        assert seen.upper == pytest.approx(expected.upper, abs=1e-7)
        assert seen.blocked == pytest.approx(expected.blocked, abs=1e-7)
        assert spider_run.crawl.counts()["blocked"] == len(spider_run.blocked)


SPIDERS_POLICIES = [
    name for name, kind in all_policies().items() if not kind.knows_truth and not issubclass(kind, FocusedPolicy)
]


@pytest.mark.parametrize("policy", SPIDERS_POLICIES)
def test_with_one_request_at_a_time_the_order_is_that_of_a_simulation(policy: str, rng: np.random.Generator) -> None:
    graph = random_web(rng, 80)
    crawl = SpiderCrawl(PluginSettings(policy))
    for _ in range(graph.n_pages):
        crawl.add(host=0, priority=0)
    for page in (3, 17):
        crawl.start_from(page)
    order = []
    while (page := crawl.next(0.0)) is not None:
        order.append(page)
        crawl.finish(page, PageState.FETCHED, links=graph.links(page).tolist())
    assert order == ori.simulate(graph, policy, trust=[3, 17]).order.tolist()


def test_it_is_covered_only_with_all_start_pages(rng: np.random.Generator) -> None:
    graph = ori.LinkGraph.from_links(6, [0, 0, 1, 3], [1, 2, 0, 4])
    spider_run = GraphSpider(graph, PluginSettings(until=0.9))
    spider_run.start_from(0)
    while spider_run.fetch_one() is not None:
        pass
    assert spider_run.crawl.is_covered
    spider_run.start_from(3)
    assert not spider_run.crawl.is_covered
    assert spider_run.fetch_one() == 3


def test_pages_that_wait_for_their_source_come_last_and_only_after_discover() -> None:
    crawl = SpiderCrawl(IN_MEMORY)
    start, early = crawl.add(host=0, priority=0), crawl.add(host=0, priority=0)
    crawl.start_from(start)
    assert (crawl.next(0.0), crawl.next(0.0)) == (start, None)
    assert crawl.discover()
    assert crawl.next(0.0) == early
    crawl.finish(early, PageState.FETCHED)
    crawl.finish(start, PageState.FETCHED, links=[early])
    assert crawl.n_waiting() == 0
    assert crawl.certificate().lower == pytest.approx(1.0)


def test_a_retried_page_has_the_priority_of_its_new_request() -> None:
    crawl = SpiderCrawl(IN_MEMORY)
    pages = [crawl.add(host=0, priority=0) for _ in range(4)]
    crawl.start_from(pages[0])
    crawl.next(0.0)
    crawl.finish(pages[0], PageState.FETCHED, links=pages[1:])
    assert crawl.next(0.0) == 1
    crawl.retry(1, priority=-1)
    assert [crawl.next(0.0) for _ in range(3)] == [2, 3, 1]


def test_boosts_are_ten_for_a_point_and_more_is_sooner_for_negative_priorities_too() -> None:
    boosts = Boosts()
    boosts.set(1, 2)
    boosts.set(2, -1)
    boosts.set(3, 10**9)
    assert boosts.of(np.array([0, 1, 2], np.uint32)).tolist() == pytest.approx([1, 100, 0.1])
    assert np.isfinite(boosts.of(np.array([3], np.uint32))).all()


# Slots ----------------------------------------------------------------------------------------------------------------


def test_a_slot_says_how_long_a_request_would_wait() -> None:
    slot = SimpleNamespace(concurrency=2, delay=0.0, jitter=0.5, transferring=set(), lastseen=100.0, queue=deque())
    own = {"b.test": {"concurrency": 1, "delay": 3.0}}
    downloader: Any = SimpleNamespace(
        slots={"a.test": slot}, per_slot_settings=own, domain_concurrency=8, settings=Settings({"DOWNLOAD_DELAY": 1})
    )
    slots = Slots(downloader)
    assert slots.wait("a.test", 100.0) == (0, 0)
    slots.enter("a.test")
    slots.enter("a.test")
    assert slots.wait("a.test", 100.0) == (inf, inf)
    slots.leave("a.test")
    slot.delay = 2.0
    assert slots.wait("a.test", 101.0) == (1.0, 3.0), "one is there that is not sent yet"
    slot.transferring.add("it")
    assert slots.wait("a.test", 101.0) == (0.0, 2.0)
    assert slots.wait("new.test", 0.0).max_s <= 0
    slots.enter("b.test")
    assert slots.wait("b.test", 0.0) == (inf, inf)


# The folder -----------------------------------------------------------------------------------------------------------


def test_a_folder_restores_what_was_committed(tmp_path: Path) -> None:
    folder = RequestFolder(tmp_path / "requests", "spider")
    rows = [RequestRow(k, f"http://a.test/{k}", bytes([k] * 20), k != 1, 0, k - 1, k == 0) for k in range(3)]
    folder.tables.add_host(0, "a.test")
    for row in rows:
        folder.tables.add(row)
        folder.tables.set_request(row.page, b"request %d" % row.page)
    folder.tables.finish(0, int(PageState.FETCHED), None, [1, 2])
    folder.tables.commit()
    folder.tables.finish(1, int(PageState.FAILED), None, [])
    with pytest.raises(CrawlFolderError, match="in use by process"):
        RequestFolder(tmp_path / "requests", "spider")
    folder.close()
    with pytest.raises(CrawlFolderError, match="holds the requests of spider 'spider', not of 'other'"):
        RequestFolder(tmp_path / "requests", "other")
    again = RequestFolder(tmp_path / "requests", "spider")
    assert list(again.tables.rows()) == rows
    assert again.tables.host_names() == ["a.test"]
    assert again.tables.pages_with_request() == {1, 2}
    assert (again.tables.request(0), again.tables.request(1)) == (None, b"request 1")
    (done,) = again.tables.history()
    assert (done.pages.tolist(), done.links.tolist()) == ([0], [1, 2])
    again.close()


def test_a_file_in_place_of_the_folder_is_one_error_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CrawlFolderError, match="file"):
        RequestFolder(tmp_path / "file", "spider")
    (tmp_path / "requests.db").write_text("not a database, but a text of some length")
    with pytest.raises(CrawlFolderError, match="requests.db"):
        RequestFolder(tmp_path, "spider")


class OldSpider(Spider):
    name = "spider"

    def parse_item(self, response: Any) -> None: ...


class NewSpider(Spider):
    """The same after some work on it: a callback has another name."""

    name = "spider"

    def parse_thing(self, response: Any) -> None: ...


def test_a_request_that_the_spider_cannot_make_any_more_is_not_lost(tmp_path: Path) -> None:
    settings = PluginSettings(folder=tmp_path / "requests")
    spider = OldSpider()
    before = RequestLedger(settings, spider)
    request = Request("http://a.test/", spider.parse_item, priority=3)
    page = before.add(request, b"fingerprint", "a.test", is_start=True)
    before.commit()
    before.close()
    meanwhile = RequestLedger(settings, NewSpider())
    with pytest.raises(InputError, match="cannot be restored .*parse_item"):
        meanwhile.request(page)
    meanwhile.close()
    after = RequestLedger(settings, spider)
    stored = after.request(page)
    assert (stored.url, stored.callback, stored.priority) == (request.url, spider.parse_item, 3)
    assert after.find(b"fingerprint") == page
    assert (after.was_started_before(b"fingerprint"), after.was_started_before(b"fingerprint")) == (True, False)
    assert after.crawl.n_waiting() == 1
    after.close()


def test_an_untrusted_request_is_not_loaded(tmp_path: Path) -> None:
    """To load a pickle is to run what it says."""
    settings = PluginSettings(folder=tmp_path / "requests")
    before = RequestLedger(settings, OldSpider())
    page = before.add(Request("http://a.test/"), b"fingerprint", "a.test", is_start=True)
    before.commit()
    before.close()
    trap = f"cposix\nsystem\n(S'touch {tmp_path / 'run'}'\ntR.".encode()
    with closing(sqlite3.connect(tmp_path / "requests" / "requests.db", isolation_level=None)) as database:
        ((stored,),) = database.execute("SELECT request FROM request")
        for content in (trap, bytes(32) + trap, stored[:32] + trap, stored[:-1] + b"\0"):
            database.execute("UPDATE request SET request = ?", (content,))
            database.commit()
            after = RequestLedger(settings, OldSpider())
            with pytest.raises(InputError, match="was not written by you"):
                after.request(page)
            after.close()
    database.close()
    assert not (tmp_path / "run").exists()


def test_links_to_pages_that_there_are_not_are_refused(tmp_path: Path) -> None:
    settings = PluginSettings(folder=tmp_path / "requests")
    before = RequestLedger(settings, OldSpider())
    page = before.add(Request("http://a.test/"), b"fingerprint", "a.test", is_start=True)
    before.commit()
    before.close()
    with closing(sqlite3.connect(tmp_path / "requests" / "requests.db", isolation_level=None)) as database:
        row = (page, int(PageState.FETCHED), b"\xff" * 4)
        database.execute("INSERT INTO done (page, state, links) VALUES (?, ?, ?)", row)
    database.close()
    with pytest.raises(CrawlFolderError, match="damaged"):
        RequestLedger(settings, OldSpider())


def test_a_request_that_was_only_in_memory_is_lost_but_its_like_may_come_again(tmp_path: Path) -> None:
    settings = PluginSettings(folder=tmp_path / "requests")
    spider = OldSpider()
    before = RequestLedger(settings, spider)
    before.add(Request("http://a.test/", lambda response: None), b"one", "a.test", is_start=True)
    before.add(Request("http://a.test/2"), b"two", "a.test", is_start=True)
    assert before.n_unwritten == 1
    before.commit()
    before.close()
    after = RequestLedger(settings, spider)
    assert (after.find(b"one"), after.find(b"two")) == (None, 1)
    assert not after.was_started_before(b"one")
    assert after.crawl.counts()["blocked"] == 1
    assert after.crawl.certificate().blocked == pytest.approx(0.5)
    after.close()


def test_the_add_on_leaves_a_scheduler_alone_that_the_project_names() -> None:
    settings = Settings()
    Addon().update_settings(settings)
    assert settings["SCHEDULER"] is Scheduler
    assert LinkNotes in settings["SPIDER_MIDDLEWARES"]
    own = Settings({"SCHEDULER": "scrapy.core.scheduler.Scheduler"})
    with pytest.raises(NotConfigured, match="SCHEDULER is set to scrapy.core.scheduler.Scheduler"):
        Addon().update_settings(own)
    Addon().update_settings(Settings({"SCHEDULER": "orienteer.scrapy.Scheduler"}))
