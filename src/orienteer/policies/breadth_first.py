"""Breadth-first: pages are fetched in the order of discovery."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import discovery_order
from orienteer.policies.policy import PlannedRun, Policy, Priorities, Run, TrustedPages, policy


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
