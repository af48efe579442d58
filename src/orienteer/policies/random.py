"""Random: the baseline of all orders."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph import priority_queue as queues
from orienteer.graph import spread
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages, policy


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
