"""The interface of selections: they score the pages of the frontier, and the highest scores are fetched next.

A selection is pure: arrays in, scores out. Ties go to the lowest page id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.registry import ClassRegistry


class Selection(ABC):
    """Base of all selections; keyword arguments of `__init__` are the settings."""

    name: ClassVar[str]

    @abstractmethod
    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        """Return a score for each page of the frontier; only the k highest among the open ones matter.

        `rank` is the PageRank of the crawled pages, with the links between them alone.
        """


SELECTIONS: ClassRegistry[Selection] = ClassRegistry("selection", Selection, package="orienteer.graph.estimation")
selection = SELECTIONS.register  # the decorator that registers a selection under its name


def best_open(neighborhood: Neighborhood, scores: NDArray[np.float64], k: int) -> NDArray[np.uint32]:
    """Return the k open pages of the frontier with the highest scores, the best first; all, if there are fewer."""
    places = np.flatnonzero(neighborhood.open)
    order = np.argsort(-scores[places], kind="stable")[:k]
    return neighborhood.frontier[places[order]]
