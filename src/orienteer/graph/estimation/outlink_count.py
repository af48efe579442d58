"""Outlink count: prefer the pages that most crawled pages link to; a baseline."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.estimation.selection import Selection, selection


@selection
class OutlinkCount(Selection):
    """The number of crawled pages that link to a page."""

    name: ClassVar[str] = "outlink-count"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return np.bincount(neighborhood.outward, minlength=len(neighborhood.frontier)).astype(np.float64)
