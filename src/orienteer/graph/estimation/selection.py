"""Selections: they score the pages of the frontier, and the highest scores are fetched next.

A selection is pure: arrays in, scores out. Ties go to the lowest page id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.spread import drawn
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


@selection
class OutlinkCount(Selection):
    """The number of crawled pages that link to a page; a baseline."""

    name: ClassVar[str] = "outlink-count"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return np.bincount(neighborhood.outward, minlength=len(neighborhood.frontier)).astype(np.float64)


@selection
class PageRankFlow(Selection):
    """The pages that much rank flows to (PF-Select of Davis & Dhillon, KDD 2006).

    The sum of f[i] / (o[i] + 1) over the crawled pages i that link to a page, o[i] their links to crawled ones.

    This is the inflow term of the influence (see stochastic_complement.py), without the loss of the siblings.
    """

    name: ClassVar[str] = "pagerank-flow"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        share = rank / (neighborhood.inside_degrees() + 1)
        weights = np.repeat(share, np.diff(neighborhood.outward_offsets))
        return np.asarray(np.bincount(neighborhood.outward, weights, len(neighborhood.frontier)), np.float64)


@selection
class RandomSelection(Selection):
    """Each page has a random number that depends on its id and the rng; the greatest goes first. A baseline."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return drawn(neighborhood.frontier.astype(np.uint64), np.uint64(self.rng))
