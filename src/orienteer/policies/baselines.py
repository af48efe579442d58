"""Orders that need no estimates: by discovery, by chance, and by the true ranks, an upper bound for all policies."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import priority_queue as queues
from orienteer.graph import spread
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.reach import discovery_order
from orienteer.policies.policy import (
    NO_CHANGE,
    PlannedRun,
    Policy,
    Priorities,
    Run,
    TrustedPages,
    checked_damping,
    policy,
)


@policy
class BreadthFirst(Policy):
    """Fetch pages in the order of discovery; the targets of one page are discovered in the order of their ids."""

    name: ClassVar[str] = "breadth-first"

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._is_found = np.zeros(max(web.n_pages, 1024), np.bool_)
        self._n_found = 0
        return self._number(trusted.pages)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._is_found = grown(self._is_found, web.n_pages)
        return self._number(web.links(page))

    def _number(self, pages: NDArray[np.uint32]) -> Priorities:
        new = pages[~self._is_found[pages]]
        self._is_found[new] = True
        first = self._n_found
        self._n_found += len(new)
        return Priorities(new, -np.arange(first, first + len(new), dtype=np.float64))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return PlannedRun(graph, discovery_order(graph, trusted.pages))


@policy
class Random(Policy):
    """Each page has a random number, a function of its id and the rng; among known pages the greatest goes first."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def _draws(self, pages: NDArray[np.uint32]) -> NDArray[np.float64]:
        return spread.drawn(pages.astype(np.uint64), np.uint64(self.rng))

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return Priorities(trusted.pages, self._draws(trusted.pages))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        links = web.links(page)
        return Priorities(links, self._draws(links))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return _RandomRun(graph, trusted, self._draws(np.arange(graph.n_pages, dtype=np.uint32)))


class _RandomRun(Run):
    def __init__(self, graph: LinkGraph, trusted: TrustedPages, draws: NDArray[np.float64]) -> None:
        super().__init__(graph)
        self._graph = graph
        self._draws = draws
        self._priority = np.zeros(graph.n_pages)
        self._queue = queues.with_room(queues.new_queue(graph.n_pages), len(trusted.pages))
        spread.enter(trusted.pages, draws[trusted.pages], *self._queue, self._priority, self._priority.view(np.int64))

    def advance(self, limit: int, until: float) -> None:
        while True:
            self.n_fetched, why = spread.draw_best_first(
                self._graph.offsets, self._graph.targets, self._draws, self._priority, self._priority.view(np.int64),
                *self._queue, self.order, self.n_fetched, limit,
            )  # fmt: skip
            if why != queues.LACKS_ROOM:
                self.is_empty = why == queues.NONE
                return
            self._queue = queues.with_room(self._queue, 100_000)


@policy
class Optimal(Policy):
    """Fetch by true rank, whether linked to or not: no crawl covers more with as many pages. For simulation only."""

    name: ClassVar[str] = "optimal"
    knows_truth: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)
        self._rank: np.ndarray | None = None

    def learn_truth(self, graph: LinkGraph, trusted: TrustedPages) -> None:
        """Compute the true rank."""
        self._rank = pagerank(graph, trusted.vector(graph.n_pages), self.damping, 1e-12)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        if self._rank is None:
            raise InputError("the policy 'optimal' needs the true rank, so it works in simulations only")
        web.grow_to(len(self._rank))
        pages = np.flatnonzero(self._rank).astype(np.uint32)
        return Priorities(pages, self._rank[pages])

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return NO_CHANGE

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        self.learn_truth(graph, trusted)
        assert self._rank is not None
        order = np.argsort(-self._rank, kind="stable").astype(np.uint32)
        return PlannedRun(graph, order[: np.count_nonzero(self._rank)])
