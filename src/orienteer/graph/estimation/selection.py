"""What a selection is: it scores the pages of the frontier, and those of the highest scores are fetched next.

A selection is pure: arrays in, scores out. Ties go to the lowest page id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Surroundings
from orienteer.registry import ClassRegistry


class Selection(ABC):
    """Base of all selections; keyword arguments of `__init__` are the settings."""

    name: ClassVar[str]

    @abstractmethod
    def scores(self, around: Surroundings, rank: NDArray[np.float64], k: int, damping: float) -> NDArray[np.float64]:
        """A score for each page of the frontier; only the k highest among the open ones matter.

        `rank` is the PageRank of the crawled pages, with the links between them alone.
        """


SELECTIONS: ClassRegistry[Selection] = ClassRegistry("selection", Selection, package="orienteer.graph.estimation")
selection = SELECTIONS.register  # the decorator that registers a selection under its name


def best_open(around: Surroundings, scores: NDArray[np.float64], k: int) -> NDArray[np.uint32]:
    """The k open pages of the frontier with the highest scores, the best first; all of them where there are fewer."""
    places = np.flatnonzero(around.open)
    order = np.argsort(-scores[places], kind="stable")[:k]
    return around.frontier[places[order]]
