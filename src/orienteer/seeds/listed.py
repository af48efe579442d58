"""Baseline heuristics: the first k pages of one sorted list, whatever they cover."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod


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
