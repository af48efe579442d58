"""A run whose whole order is known from the start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.policy import Run


class PlannedRun(Run):
    """Fetches in the given order; `guarantees`, if any, never decrease."""

    def __init__(
        self, graph: LinkGraph, order: NDArray[np.uint32], guarantees: NDArray[np.float64] | None = None
    ) -> None:
        super().__init__(graph)
        self.order = order
        self.guarantees = guarantees

    def advance(self, limit: int, until: float) -> None:
        end = min(limit, len(self.order))
        if self.guarantees is not None:
            end = min(end, int(np.searchsorted(self.guarantees, until)) + 1)
        self.n_fetched = max(self.n_fetched, end)
        self.is_empty = self.n_fetched == len(self.order)
