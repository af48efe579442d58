"""What a survey fetches: the pages that its walks need, and no others.

A policy like any other to the Crawl, but one that follows no links by itself. While the crawl that is measured is told,
nothing happens. Then the walks begin: first those of before, which are told all that came of pages since.

Pages are numbered as they become known, and that depends on who answers first. Walks must not: where they go, a page's
links stand in the order of their URLs. So the same seed gives the same walks, whatever happens on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import Links
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, TrustedPages

UrlsOf = Callable[[Sequence[int]], list[str]]


class Probes(Policy):
    """Pages that walks need; those of walks that began earlier come first."""

    name: ClassVar[str] = "survey"
    follows_links: ClassVar[bool] = False

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = damping
        self.walks: FixedWalks | None = None
        self._crawl: Crawl | None = None
        self._urls_of: UrlsOf | None = None
        self._is_under_way = False

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return NO_CHANGE

    def begin_walks(
        self, crawl: Crawl, urls_of: UrlsOf, seed: str, goal: SurveyGoal, width: int, entries: list[int]
    ) -> None:
        """All that the Crawl knows now is the set that is measured; `entries` are those of the walks so far."""
        self._urls_of = urls_of
        links = Links.of(crawl.web)
        fixed = crawl.coverage.over_again(crawl.trusted.vector(crawl.web.n_pages), links)
        fixed.know(crawl.web.n_pages)
        self._crawl = crawl
        self.walks = FixedWalks(FixedSurvey(fixed, links, seed, goal.confidence), goal, width)
        self.walks.begin_again(entries, links)

    def go_on(self) -> Priorities:
        """All is told that had happened: from now on pages are asked for."""
        assert self._crawl is not None
        self._is_under_way = True
        return self._wanted(self._crawl.web)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._told(page, True, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._told(page, False, web)

    def _told(self, page: int, is_fetched: bool, web: GrowingGraph) -> Priorities:
        if self.walks is None or self._crawl is None:
            return NO_CHANGE
        self._order_links(page, web)
        self.walks.survey.take_row(page, self._crawl.coverage)
        self.walks.told(page, is_fetched, Links.of(web))
        return self._wanted(web) if self._is_under_way else NO_CHANGE

    def _order_links(self, page: int, web: GrowingGraph) -> None:
        """In place, by URL."""
        assert self._urls_of is not None
        row = web.links(page)
        urls = dict(zip(row.tolist(), self._urls_of(row.tolist()), strict=True))
        row[:] = sorted(urls, key=urls.__getitem__)

    def _wanted(self, web: GrowingGraph) -> Priorities:
        assert self.walks is not None
        wanted = self.walks.go_on(Links.of(web))
        if not wanted:
            return NO_CHANGE
        pages, lives = zip(*wanted, strict=True)
        return Priorities(np.array(pages, np.uint32), 1.0 / (1.0 + np.array(lives, np.float64)))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> NoReturn:
        raise InputError("a survey of a known graph is made by orienteer.survey")
