"""Baseline heuristics: the first k pages of one sorted list, whatever they cover."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod, seed_method

_TOLERANCE = 1e-9


class ListedSeeds(SeedMethod):
    """Base of the methods that take pages from a list."""

    uses_cover: ClassVar[bool] = False

    @abstractmethod
    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        """Return all pages, the best first."""

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._pages = iter(self.order(cover.graph, progress).tolist())

    def best(self, cover: Cover) -> int | None:
        return next(self._pages, None)


def best_first(scores: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pages by decreasing score, ties by the lowest id."""
    return np.argsort(-scores, kind="stable")


@seed_method
class OutDegree(ListedSeeds):
    """The k pages with the most links, though they may all link to the same pages."""

    name: ClassVar[str] = "out-degree"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(graph.out_degrees())


@seed_method
class PageRankSeeds(ListedSeeds):
    """The k pages of the highest uniform PageRank, even if they are close to each other."""

    name: ClassVar[str] = "pagerank"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(pagerank(graph, tolerance=_TOLERANCE, progress=progress))


@seed_method
class RandomSeeds(ListedSeeds):
    """Distinct pages with equal probability; fewer seeds with the same rng are a prefix of more."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return np.random.default_rng(self.rng).permutation(graph.n_pages)
