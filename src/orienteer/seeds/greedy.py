"""The greedy algorithm for maximum coverage: exact, the default and the reference for all methods; and by sketches.

The weights of all pages within the hops come from bit-parallel search (graph/reach.py), and after each seed only
changed weights are computed again (`Weighing`). The usual lazy evaluation would evaluate tens of thousands of pages
for a single seed, because the neighbourhoods of pages overlap; and it is wrong with negative values.

The cost is proportional to the total size of the neighbourhoods of all pages: seconds for 300,000 pages of one country,
a minute for 200,000 densely linked ones. Above `exact_up_to` pages the sketched method is used, and the result says so.
The method max-weight with depth = hops is exact at any size.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.reach import add_depth_weights, weights_of
from orienteer.graph.reach_sketch import N_RANKS, TYPICAL_ERROR, EstimatedWeights, estimated_weights
from orienteer.progress import Progress, silent
from orienteer.seeds.seed_method import Approximation, Cover, SeedMethod, seed_method

EXACT_UP_TO = 500_000
_N_UNLIKE = 64
_N_HEADS = 16
_N_ALIKE = 16
CONFIDENCE = 0.99


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


@seed_method
class Greedy(SeedMethod):
    """The page that adds the most. With values that are not negative: at least 1 - 1/e of what any k seeds cover."""

    name: ClassVar[str] = "greedy"

    def __init__(self, exact_up_to: int = EXACT_UP_TO) -> None:
        if exact_up_to < 0:
            raise InputError(f"exact_up_to is {exact_up_to}; it must be 0 pages or more")
        self.exact_up_to = exact_up_to

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._sketched: SketchedGreedy | None = None
        if cover.graph.n_pages > self.exact_up_to:
            self._sketched = SketchedGreedy()
            self._sketched.begin(cover, k, progress)
        else:
            self._weighing = Weighing(cover, cover.hops, progress)

    def best(self, cover: Cover) -> int | None:
        if self._sketched is None:
            return self._weighing.best()
        page = self._sketched.best(cover)
        self.approximation = self._sketched.approximation
        return page

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        if self._sketched is None:
            self._weighing.covered(pages, cover)


@seed_method
class SketchedGreedy(SeedMethod):
    """The page that covers approximately the most: estimated from 32 ranks per page, the best weighed exactly.

    For each seed the depth-h weights of all pages over the remaining value are estimated (graph/reach_sketch.py, with
    new ranks each time, so that the bound for one seed is independent of earlier ones). Of the pages of the highest
    estimates, 64 that reach different sets are weighed exactly, in one search; then, for each of the best 16 of them,
    16 pages that reach a similar set. The best of all is taken. A seed costs h passes over the links and a few
    searches. The weight of negative values is estimated separately and subtracted.

    Bound: with the confidence 0.99, each seed adds at least the reported share of what the best page would have added.
    """

    name: ClassVar[str] = "sketched-greedy"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._k = k
        self._n_chosen = 0
        self._has_negative = bool((cover.remaining_values < 0).any())
        self._progress = progress
        self.approximation = Approximation(
            at_least=1.0,
            confidence=CONFIDENCE,
            about=f"weights were estimated from {N_RANKS} ranks per page (typical error {100 * TYPICAL_ERROR:.0f} %) "
            "and the best weighed exactly",
        )

    def best(self, cover: Cover) -> int | None:
        positive = self._estimated(cover, np.maximum(cover.remaining_values, 0), 0)
        estimates = positive.estimates
        if self._has_negative:
            estimates = estimates - self._estimated(cover, np.maximum(-cover.remaining_values, 0), 1).estimates
        self._n_chosen += 1
        candidates = _heaviest_first(cover, positive.dissimilar(estimates, _N_UNLIKE))[0]
        heads = candidates[:_N_HEADS].tolist()
        similar = [positive.similar(head, estimates, _N_ALIKE) for head in heads]
        pages, weights = _heaviest_first(cover, np.unique(np.concatenate([candidates, *similar])))
        page, weight = int(pages[0]), float(weights[0])
        if weight <= 0:
            return None
        self._lower_guarantee(weight, positive.bound((1 - CONFIDENCE) / self._k))
        return page

    def _estimated(self, cover: Cover, values: NDArray[np.float64], sign: int) -> EstimatedWeights:
        stream = (self.rng * self._k + self._n_chosen) * 2 + sign
        return estimated_weights(cover.graph, cover.hops, values, stream, self._progress)

    def _lower_guarantee(self, gain: float, bound: float) -> None:
        """Update the approximation with a seed's gain; `bound` is the most that any page could have added."""
        before = self.approximation
        assert before is not None
        self.approximation = Approximation(min(before.at_least, gain / bound), before.confidence, before.about)


def _heaviest_first(cover: Cover, pages: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pages in decreasing order of their exact weights, ties by their order, and these weights."""
    weights = weights_of(cover.graph, pages, cover.hops, cover.remaining_values)
    order = np.argsort(-weights, kind="stable")
    return pages[order], weights[order]
