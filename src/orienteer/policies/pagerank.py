"""PageRank of the known graph (Cho, Garcia-Molina & Page, WWW 1998), recomputed periodically."""

from __future__ import annotations

import heapq
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, Run, TrustedPages, checked_damping, policy

_TOLERANCE = 1e-6


@policy
class PageRank(Policy):
    """Fetch by PageRank in the known graph, with jumps to any known page.

    It is recomputed when the number of fetched pages has grown by `growth`, but by at least 100. Pages discovered since
    then have no rank: they come after those that have one, the lowest id first. An unfetched page counts as dangling.
    """

    name: ClassVar[str] = "pagerank"

    def __init__(self, growth: float = 0.1, damping: float = 0.85) -> None:
        if not 0 <= growth <= 10:
            raise InputError(f"growth is {growth}; it must be from 0 to 10 (0.1: recompute after 10 % more pages)")
        self.growth = growth
        self.damping = checked_damping(damping)

    def batch_size(self, n_fetched: int) -> int:
        return max(100, int(self.growth * n_fetched))

    def ranked(self, known: LinkGraph, is_known: NDArray[np.bool_], start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ranks of the known pages, 0 for others; `start` are the previous ranks."""
        first = np.where(is_known & (start == 0), 1.0 / max(int(is_known.sum()), 1), start)
        return pagerank(known, is_known, self.damping, _TOLERANCE, start=first)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._is_known = np.zeros(web.n_pages, np.bool_)
        self._is_known[trusted.pages] = True
        self._rank = np.zeros(web.n_pages)
        self._n_fetched = 0
        self._done = np.zeros(web.n_pages, np.bool_)
        return self._recompute(web)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._n_fetched += 1
        return self._mark_done(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._mark_done(page, web)

    def _mark_done(self, page: int, web: GrowingGraph) -> Priorities:
        self._is_known, self._done = grown(self._is_known, web.n_pages), grown(self._done, web.n_pages)
        self._is_known[web.links(page)] = True
        self._done[page] = True
        self._left_in_batch -= 1
        return self._recompute(web) if self._left_in_batch <= 0 else NO_CHANGE

    def _recompute(self, web: GrowingGraph) -> Priorities:
        n = web.n_pages
        self._rank = grown(self._rank, n)
        self._rank[:n] = self.ranked(web.freeze(), self._is_known[:n], self._rank[:n])
        frontier = np.flatnonzero(self._is_known[:n] & ~self._done[:n]).astype(np.uint32)
        self._left_in_batch = self.batch_size(self._n_fetched)
        return Priorities(frontier, self._rank[frontier])

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return _PageRankRun(graph, trusted, self)


class _PageRankRun(Run):
    def __init__(self, graph: LinkGraph, trusted: TrustedPages, owner: PageRank) -> None:
        super().__init__(graph)
        self._graph = graph
        self._owner = owner
        self._is_known = np.zeros(graph.n_pages, np.bool_)
        self._is_known[trusted.pages] = True
        self._is_fetched = np.zeros(graph.n_pages, np.bool_)
        self._rank = np.zeros(graph.n_pages)
        self._ranked: NDArray[np.uint32] = np.empty(0, np.uint32)  # best first
        self._unranked: list[int] = []  # a heap of pages discovered since the last ranking
        self._left_in_batch = 0

    def advance(self, limit: int, until: float) -> None:
        while self.n_fetched < limit and not self.is_empty:
            if self._left_in_batch == 0:
                self._rank_again()
            n_now = min(limit - self.n_fetched, self._left_in_batch)
            now = self._ranked[:n_now]
            self._ranked = self._ranked[len(now) :]
            self._take(now)
            for _ in range(n_now - len(now)):
                if not self._unranked:
                    self.is_empty = True
                    return
                self._take(np.array([heapq.heappop(self._unranked)], np.uint32))

    def _take(self, pages: NDArray[np.uint32]) -> None:
        """Fetch these pages; their newly discovered targets are queued without a rank."""
        self.order[self.n_fetched : self.n_fetched + len(pages)] = pages
        self.n_fetched += len(pages)
        self._left_in_batch -= len(pages)
        self._is_fetched[pages] = True
        for page in pages:
            links = self._graph.links(page)
            new = links[~self._is_known[links]]
            self._is_known[new] = True
            for target in new.tolist():
                heapq.heappush(self._unranked, target)

    def _rank_again(self) -> None:
        frontier = np.flatnonzero(self._is_known & ~self._is_fetched).astype(np.uint32)
        self._unranked = []
        self._left_in_batch = self._owner.batch_size(self.n_fetched)
        self._rank = self._owner.ranked(self._graph.only_links_of(self._is_fetched), self._is_known, self._rank)
        self._ranked = frontier[np.argsort(-self._rank[frontier], kind="stable")]
