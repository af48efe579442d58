"""The order by true rank, an upper bound for all policies in simulations."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
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
