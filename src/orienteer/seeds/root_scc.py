"""RootSCC (Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.components import condensation
from orienteer.graph.reach import UNREACHED, distances
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.max_scc import component_weights
from orienteer.seeds.seed_method import SeedMethod, checked_depth, seed_method
from orienteer.seeds.weighing import Weighing


@seed_method
class RootScc(SeedMethod):
    """Of the root components from which the heaviest component can be reached, the heaviest; in it as max-scc.

    A root is a component that no other links to; weights are of uncovered pages. If the root is more than the hops away
    from the heaviest component, the method ends when everything near the root is covered.
    """

    name: ClassVar[str] = "root-scc"

    def __init__(self, depth: int = 2) -> None:
        self.depth = checked_depth(depth)

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._web_of_components, self._labels = condensation(cover.graph)
        self._is_root = self._web_of_components.in_degrees() == 0
        self._weighing = Weighing(cover, min(self.depth, cover.hops), progress)

    def best(self, cover: Cover) -> int | None:
        weights = component_weights(self._web_of_components.n_pages, self._labels, cover.remaining_values)
        weight_of_page = weights[self._labels]
        in_heaviest = int(weight_of_page.argmax())
        if weight_of_page[in_heaviest] <= 0:
            return None
        back = distances(self._web_of_components.reverse(), [int(self._labels[in_heaviest])])
        is_candidate = (self._is_root & (back != UNREACHED))[self._labels]
        in_root = int(np.where(is_candidate, weight_of_page, -np.inf).argmax())
        return self._weighing.best_of(self._labels == self._labels[in_root])

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        self._weighing.covered(pages, cover)
