"""The depth-d weights of all pages over the uncovered value, updated as seeds cover pages.

A seed changes the weights of the pages that reach a newly covered page within d links. Either the covered value is
subtracted from them, or all weights are computed again from the remaining pages, whichever starts from fewer pages. So
all seeds together cost at most about twice the first weighing. Results are exact: values are on a grid (see value.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.reach import add_depth_weights
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover


class Weighing:
    """`weights[v]` is the value left within `depth` links of page v."""

    def __init__(self, cover: Cover, depth: int, progress: Progress = silent) -> None:
        self._depth = depth
        self._left = cover.remaining_values.copy()  # the values that the weights are sums of
        self._progress = progress
        self.weights = np.zeros(cover.graph.n_pages)
        self._weigh(cover)

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        """Update the weights after these pages were covered."""
        gone = pages[self._left[pages] != 0]
        if len(gone) < np.count_nonzero(cover.remaining_values):
            add_depth_weights(cover.graph, self._depth, gone, -self._left, self.weights, self._progress)
        else:
            self.weights[:] = 0
            self._weigh(cover)
        self._left[gone] = 0

    def _weigh(self, cover: Cover) -> None:
        pages = np.flatnonzero(cover.remaining_values)
        add_depth_weights(cover.graph, self._depth, pages, cover.remaining_values, self.weights, self._progress)

    def best(self) -> int | None:
        """Return the page of the greatest weight; None if no weight is above 0."""
        page = int(self.weights.argmax())
        return page if self.weights[page] > 0 else None

    def best_of(self, is_candidate: NDArray[np.bool_]) -> int:
        """Return the page of the greatest weight among the candidates."""
        return int(np.where(is_candidate, self.weights, -np.inf).argmax())
