"""The interface of estimators: compute the global rank of pages from the crawled pages and their links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.registry import ClassRegistry


class Estimator(ABC):
    """Base of all estimators. Each estimation has its own object, so a round can start from the result of the last one.

    Keyword arguments of `__init__` are the settings.
    """

    name: ClassVar[str]

    @abstractmethod
    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        """Return the global rank of each crawled page, up to a constant factor, in the order of `neighborhood.pages`.

        Bound: divided by their sum, the values of the local pages are within `tolerance` of the method's exact result
        in L1, provided that `rank`, the PageRank of the crawled pages, is as exact.
        """


ESTIMATORS: ClassRegistry[Estimator] = ClassRegistry(
    "estimation method", Estimator, package="orienteer.graph.estimation"
)
estimator = ESTIMATORS.register  # the decorator that registers an estimator under its name


@estimator
class Paper(Estimator):
    """The PageRank of the crawled pages (FindGlobalPR of Davis & Dhillon, KDD 2006).

    Only links between crawled pages count; links to uncrawled pages are ignored.
    """

    name: ClassVar[str] = "paper"

    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        return rank
