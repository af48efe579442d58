"""The paper's estimator: the PageRank of what has been crawled (FindGlobalPR of Davis & Dhillon, KDD 2006)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.estimator import Estimator, estimator
from orienteer.graph.estimation.known_web import Surroundings


@estimator
class Paper(Estimator):
    """Only links between crawled pages count: a link to an uncrawled page is as good as not there."""

    name: ClassVar[str] = "paper"

    def worth(
        self, around: Surroundings, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        return rank
