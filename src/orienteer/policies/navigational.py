"""Navigational Rank: pages that the hubs of the topic link to."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.navigational import check_gather, check_own_share, climb, descend
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.policy import Priorities, TrustedPages, policy

_ERROR = 1e-10  # of any value; the largest is own_share


@policy
class Navigational(BatchedPolicy):
    """Credit goes from relevant pages up to what links to them, then down to what those link to (`graph/navigational`).

    The default is the paper's: means in both steps. `gather=sum` adds up in step 1, which found more on most real sites
    we tried. Each recomputation starts from the values before. The paper fetched and recomputed 2000 pages at a time.
    """

    name: ClassVar[str] = "navigational"

    def __init__(
        self, gather: str = "mean", own_share: float = 0.2, batch: int = BATCH, growth: float = GROWTH
    ) -> None:
        super().__init__(batch, growth)
        check_gather(gather)
        check_own_share(own_share)
        self.gather = gather
        self.own_share = own_share

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._up = np.zeros(max(web.n_pages, 1024))
        self._down = np.zeros(max(web.n_pages, 1024))
        return super().begin(web, trusted)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        if self._total_relevance == 0:
            return None
        n = web.n_pages
        self._up, self._down = grown(self._up, n), grown(self._down, n)
        links = self.known_links(web)
        climb(links, self._relevance[:n], self._up[:n], self.own_share, self.gather == "mean", _ERROR)
        descend(links, self._up[:n], self._down[:n], self.own_share, True, _ERROR)
        return self._down[:n]
