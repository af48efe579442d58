"""PageRank flow: the pages that much rank flows to (PF-Select of Davis & Dhillon, KDD 2006)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.estimation.selection import Selection, selection


@selection
class PageRankFlow(Selection):
    """The sum of f[i] / (o[i] + 1) over the crawled pages i that link to a page, o[i] their links to crawled ones.

    This is the inflow term of the influence (see influence.py), without the loss of the siblings.
    """

    name: ClassVar[str] = "pagerank-flow"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        share = rank / (neighborhood.inside_degrees() + 1)
        weights = np.repeat(share, np.diff(neighborhood.outward_offsets))
        return np.asarray(np.bincount(neighborhood.outward, weights, len(neighborhood.frontier)), np.float64)
