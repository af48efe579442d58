"""Breadth-first: first found, first fetched."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import discovery_order
from orienteer.policies.planned import PlannedRun
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages, policy


@policy
class BreadthFirst(Policy):
    """Fetch pages in the order they were found; links of one page are found in the order of their ids."""

    name: ClassVar[str] = "breadth-first"

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._found: set[int] = set()
        return self._number(trusted.pages)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._number(web.links(page))

    def _number(self, pages: np.ndarray) -> Priorities:
        new = [page for page in pages.tolist() if page not in self._found]
        first = len(self._found)
        self._found.update(new)
        return Priorities(np.array(new, np.uint32), -np.arange(first, first + len(new), dtype=np.float64))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return PlannedRun(graph, discovery_order(graph, trusted.pages))
