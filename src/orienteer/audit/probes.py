"""The policy of a survey: it fetches the pages that the walks need, and no others.

It follows no links by itself, and does nothing while the measured crawl is replayed. Then the walks begin: first the
earlier ones, into which the pages fetched since are replayed.

Pages are numbered as they are discovered, which depends on the order of responses. Walks must not depend on it: they
see a page's links in the order of their URLs. So the same seed gives the same walks, whatever the order of responses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, TrustedPages

UrlsOf = Callable[[Sequence[int]], list[str]]


class Probes(Policy):
    """Requests pages that walks need; those of walks that began earlier come first."""

    name: ClassVar[str] = "survey"
    follows_links: ClassVar[bool] = False

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = damping
        self.walks: FixedWalks | None = None
        self._crawl: Crawl | None = None
        self._urls_of: UrlsOf | None = None
        self._is_in_flight = False

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return NO_CHANGE

    def begin_walks(
        self, crawl: Crawl, urls_of: UrlsOf, seed: str, goal: SurveyGoal, width: int, entries: list[int]
    ) -> None:
        """Begin walks with the present state of the Crawl as the measured set; `entries` are those of earlier walks."""
        self._urls_of = urls_of
        links = LinkRows.of(crawl.web)
        fixed = crawl.coverage.rebuilt(crawl.trusted.vector(crawl.web.n_pages), links)
        fixed.grow_to(crawl.web.n_pages)
        self._crawl = crawl
        self.walks = FixedWalks(FixedSurvey(fixed, links, seed, goal.confidence), goal, width)
        self.walks.restart(entries, links)

    def start_requests(self) -> Priorities:
        """Request pages from now on, after the replay."""
        assert self._crawl is not None
        self._is_in_flight = True
        return self._needed_pages(self._crawl.web)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._record_page(page, True, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._record_page(page, False, web)

    def _record_page(self, page: int, is_fetched: bool, web: GrowingGraph) -> Priorities:
        if self.walks is None or self._crawl is None:
            return NO_CHANGE
        self._order_links(page, web)
        self.walks.survey.copy_page_state(page, self._crawl.coverage)
        self.walks.record_page(page, is_fetched, LinkRows.of(web))
        return self._needed_pages(web) if self._is_in_flight else NO_CHANGE

    def _order_links(self, page: int, web: GrowingGraph) -> None:
        """Sort the links of a page in place, by URL."""
        assert self._urls_of is not None
        row = web.links(page)
        urls = dict(zip(row.tolist(), self._urls_of(row.tolist()), strict=True))
        row[:] = sorted(urls, key=urls.__getitem__)

    def _needed_pages(self, web: GrowingGraph) -> Priorities:
        assert self.walks is not None
        needed = self.walks.advance(LinkRows.of(web))
        if not needed:
            return NO_CHANGE
        pages, lives = zip(*needed, strict=True)
        return Priorities(np.array(pages, np.uint32), 1.0 / (1.0 + np.array(lives, np.float64)))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> NoReturn:
        raise InputError("a survey of a known graph is made by orienteer.survey")
