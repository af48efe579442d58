"""What an estimator is: from the crawled pages and their links to what pages are worth in the whole web."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Surroundings
from orienteer.registry import ClassRegistry


class Estimator(ABC):
    """Base of all estimators; one object serves one estimation, so that a round may start from the last one's answer.

    Keyword arguments of `__init__` are the settings.
    """

    name: ClassVar[str]

    @abstractmethod
    def worth(
        self, around: Surroundings, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        """What each crawled page is worth beside the others, in the order of `around.pages`; any sum.

        Divided by their sum, the values of the local pages are within `tolerance` of the method's exact answer in L1,
        provided that `rank`, the PageRank of the crawled pages, is.
        """


ESTIMATORS: ClassRegistry[Estimator] = ClassRegistry(
    "estimation method", Estimator, package="orienteer.graph.estimation"
)
estimator = ESTIMATORS.register  # the decorator that registers an estimator under its name
