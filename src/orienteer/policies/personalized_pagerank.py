"""Dynamic Personalized PageRank (DPPR): prefer pages that a surfer who starts at relevant pages visits often."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.navigational import descend
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.policy import Priorities, TrustedPages, checked_damping, policy

_ERROR = 1e-9  # summed over all pages


@policy
class PersonalizedPageRank(BatchedPolicy):
    """Fetch by PageRank in the known graph with jumps to its relevant pages; recomputed from the previous values.

    Credit follows links forward only: a page that links to relevant ones gains nothing from them. The rank of a page
    without known links is dropped; a jump from there would only scale all values alike.
    """

    name: ClassVar[str] = "personalized-pagerank"

    def __init__(self, damping: float = 0.85, batch: int = BATCH, growth: float = GROWTH) -> None:
        super().__init__(batch, growth)
        self.damping = checked_damping(damping)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._rank = np.zeros(max(web.n_pages, 1024))
        return super().begin(web, trusted)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        if self._total_relevance == 0:
            return None
        n = web.n_pages
        self._rank = grown(self._rank, n)
        jumps = self._relevance[:n] / self._total_relevance
        descend(self.known_links(web), jumps, self._rank[:n], 1 - self.damping, False, _ERROR)
        return self._rank[:n]
