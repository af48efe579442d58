"""The paper's estimator: the PageRank of the crawled pages (FindGlobalPR of Davis & Dhillon, KDD 2006)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.estimator import Estimator, estimator
from orienteer.graph.estimation.known_web import Neighborhood


@estimator
class Paper(Estimator):
    """Only links between crawled pages count; links to uncrawled pages are ignored."""

    name: ClassVar[str] = "paper"

    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        return rank
