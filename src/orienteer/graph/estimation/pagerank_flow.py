"""PageRank flow: the pages that much rank flows to (PF-Select of Davis & Dhillon, KDD 2006)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Surroundings
from orienteer.graph.estimation.selection import Selection, selection


@selection
class PageRankFlow(Selection):
    """The sum of f[i] / (o[i] + 1) over the crawled pages i that link to a page, o[i] their links to crawled ones.

    This is the part of the influence (see influence.py) that flows in, without what it takes from others.
    """

    name: ClassVar[str] = "pagerank-flow"

    def scores(self, around: Surroundings, rank: NDArray[np.float64], k: int, damping: float) -> NDArray[np.float64]:
        share = rank / (around.inside_degrees() + 1)
        weights = np.repeat(share, np.diff(around.outward_offsets))
        return np.asarray(np.bincount(around.outward, weights, len(around.frontier)), np.float64)
