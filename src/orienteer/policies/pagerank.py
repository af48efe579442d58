"""PageRank of what is known (Cho, Garcia-Molina & Page, WWW 1998), recomputed now and then."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, Run, TrustedPages, checked_damping, policy

_TOLERANCE = 1e-6


@policy
class PageRank(Policy):
    """Fetch by PageRank in the known graph, with jumps to any known page.

    It is recomputed when the number of fetched pages has grown by `growth`, but not before 100 more; until then new pages
    wait. A page not fetched yet counts as dangling.
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
        """Ranks of the known pages, 0 for others. `start` are the ranks before."""
        new = is_known & (start[: len(is_known)] == 0)
        first = np.where(new, 1.0 / max(int(is_known.sum()), 1), start[: len(is_known)])
        return pagerank(known, is_known, self.damping, _TOLERANCE, start=first)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._is_known = np.zeros(web.n_pages, np.bool_)
        self._is_known[trusted.pages] = True
        self._rank = np.zeros(web.n_pages)
        self._n_fetched = 0
        self._done = np.zeros(web.n_pages, np.bool_)
        return self._recomputed(web)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._n_fetched += 1
        return self._counted(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._counted(page, web)

    def _counted(self, page: int, web: GrowingGraph) -> Priorities:
        more = web.n_pages - len(self._is_known)
        if more > 0:
            self._is_known, self._done = (np.append(a, np.zeros(more, np.bool_)) for a in (self._is_known, self._done))
            self._rank = np.append(self._rank, np.zeros(more))
        self._is_known[web.links(page)] = True
        self._done[page] = True
        self._left_in_batch -= 1
        return self._recomputed(web) if self._left_in_batch <= 0 else NO_CHANGE

    def _recomputed(self, web: GrowingGraph) -> Priorities:
        self._rank = self.ranked(web.freeze(), self._is_known, self._rank)
        frontier = np.flatnonzero(self._is_known & ~self._done).astype(np.uint32)
        self._left_in_batch = min(self.batch_size(self._n_fetched), max(len(frontier), 1))
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
        self._batch: NDArray[np.uint32] = np.empty(0, np.uint32)

    def advance(self, limit: int, until: float) -> None:
        while self.n_fetched < limit and not self.is_empty:
            if len(self._batch) == 0:
                self._next_batch()
                continue
            now = self._batch[: limit - self.n_fetched]
            self._batch = self._batch[len(now) :]
            self.order[self.n_fetched : self.n_fetched + len(now)] = now
            self.n_fetched += len(now)
            self._is_fetched[now] = True

    def _next_batch(self) -> None:
        known = self._known_graph()
        self._is_known[known.targets] = True
        frontier = np.flatnonzero(self._is_known & ~self._is_fetched).astype(np.uint32)
        self.is_empty = len(frontier) == 0
        if not self.is_empty:
            self._rank = self._owner.ranked(known, self._is_known, self._rank)
            best_first = frontier[np.argsort(-self._rank[frontier], kind="stable")]
            self._batch = best_first[: self._owner.batch_size(self.n_fetched)]

    def _known_graph(self) -> LinkGraph:
        """The links of fetched pages."""
        degrees = np.where(self._is_fetched, self._graph.out_degrees(), 0)
        offsets = np.concatenate(([0], np.cumsum(degrees)))
        return LinkGraph(offsets, self._graph.targets[np.repeat(self._is_fetched, self._graph.out_degrees())])
