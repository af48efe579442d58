"""What an estimator is: from the crawled pages and their links to what pages are worth in the whole web."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Surroundings

ESTIMATORS: dict[str, type[Estimator]] = {}


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


E = TypeVar("E", bound=type[Estimator])


def estimator(kind: E) -> E:
    """Register an estimator under its name."""
    ESTIMATORS[kind.name] = kind
    return kind
