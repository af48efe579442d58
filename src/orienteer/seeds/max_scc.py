"""MaxSCC (Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.components import components
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod, checked_depth, seed_method
from orienteer.seeds.weighing import Weighing


@seed_method
class MaxScc(SeedMethod):
    """In the strongly connected component with the most value left, the page with the most within `depth` links.

    Among components of the same weight it is the one with the lowest page id.
    """

    name: ClassVar[str] = "max-scc"

    def __init__(self, depth: int = 2) -> None:
        self.depth = checked_depth(depth)

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._n_components, self._labels = components(cover.graph)
        self._weighing = Weighing(cover, min(self.depth, cover.hops), progress)

    def best(self, cover: Cover) -> int | None:
        weight_of_page = component_weights(self._n_components, self._labels, cover.remaining_values)[self._labels]
        in_heaviest = int(weight_of_page.argmax())
        if weight_of_page[in_heaviest] <= 0:
            return None
        return self._weighing.best_of(self._labels == self._labels[in_heaviest])

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        self._weighing.covered(pages, cover)


def component_weights(
    n_components: int, labels: NDArray[np.uint32], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the total value of each component."""
    return np.asarray(np.bincount(labels, values, n_components), np.float64)
