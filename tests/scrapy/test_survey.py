"""Walks along the requests of a spider: their error, and when they begin again."""

from __future__ import annotations

from pathlib import Path

import pytest

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.pages.states import PageState

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'orienteer[scrapy]'")

from scrapy import Spider

from orienteer.scrapy.project import PluginSettings
from orienteer.scrapy.request_ledger import RequestLedger
from orienteer.scrapy.spider_crawl import SpiderCrawl

MEASURED = PluginSettings(until=0.8, confidence=0.999)


class Driven:
    """A crawl of a graph, whose pages become known as links to them are found."""

    def __init__(self, graph: LinkGraph, *starts: int) -> None:
        self.crawl, self.graph = SpiderCrawl(MEASURED), graph
        self.page_of: dict[int, int] = {}
        self.nodes: list[int] = []
        for start in starts:
            self.crawl.start_from(self._page(start))

    def _page(self, node: int) -> int:
        if node not in self.page_of:
            self.page_of[node] = self.crawl.add(host=0, priority=0)
            self.nodes.append(node)
        return self.page_of[node]

    def fetch(self, n_pages: int = 1_000_000) -> int:
        n_fetched = 0
        while n_fetched < n_pages and (page := self.crawl.next(0.0)) is not None:
            links = [self._page(node) for node in self.graph.links(self.nodes[page]).tolist()]
            self.crawl.finish(page, PageState.FETCHED, links=links)
            n_fetched += 1
        return n_fetched


def hub_of(graph: LinkGraph) -> int:
    return int(graph.out_degrees().argmax())


def test_it_stops_by_walks() -> None:
    graph = synthetic_web(5000, rng=5)
    driven = Driven(graph, hub_of(graph))
    assert driven.fetch(1) == 1
    assert driven.crawl.needs_survey
    driven.crawl.measure(0, width=1)
    assert not driven.crawl.needs_survey
    driven.fetch()
    assert driven.crawl.is_covered
    found = driven.crawl.measured()
    assert found is not None
    measured, evidence = found
    assert measured is not None
    assert (measured.lower, evidence) == (0.8, 1.0)
    assert driven.crawl.certificate().lower < 0.8


def test_with_a_new_start_page_it_begins_again_with_less_of_the_error() -> None:
    graph = synthetic_web(5000, rng=5)
    driven = Driven(graph, hub_of(graph))
    driven.fetch(1)
    driven.crawl.measure(0, width=1)
    driven.fetch(300)
    driven.crawl.start_from(driven._page(7))
    assert driven.crawl.next(1e9) is not None, "the new start page was added by now"
    assert driven.crawl.measured() is None
    assert driven.crawl.needs_survey
    driven.crawl.measure(1, width=1)
    survey = driven.crawl._known.survey
    assert survey is not None
    assert survey.start.error == pytest.approx(0.009 * 0.001)


def test_without_confidence_nothing_is_measured() -> None:
    crawl = SpiderCrawl(PluginSettings(until=0.8))
    crawl.start_from(crawl.add(host=0, priority=0))
    assert crawl.next(0.0) == 0
    assert not crawl.needs_survey


@pytest.mark.parametrize("has_folder", [False, True])
def test_surveys_are_counted_over_restarts(has_folder: bool, tmp_path: Path) -> None:
    settings = PluginSettings(folder=tmp_path / "requests" if has_folder else None, until=0.8, confidence=0.999)
    ledger = RequestLedger(settings, Spider("s"))
    assert [ledger.count_survey(), ledger.count_survey()] == [0, 1]
    ledger.commit()
    ledger.close()
    again = RequestLedger(settings, Spider("s"))
    assert again.count_survey() == (2 if has_folder else 0)
    again.close()
