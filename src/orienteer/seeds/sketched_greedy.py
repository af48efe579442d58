"""The greedy algorithm on graphs too large to weigh every page: candidates by sketches, exact weights of the best.

For each seed the depth-h weights of all pages over the remaining value are estimated (graph/reach_sketch.py, with new
ranks each time, so that the bound for one seed is independent of earlier ones). Of the pages of the highest estimates,
64 that reach different sets are weighed exactly, in one search; then, for each of the best 16 of them, 16 pages that
reach a similar set. The best of all is taken. A seed costs h passes over the links and a few searches. The weight of
negative values is estimated separately and subtracted.

Bound: with the confidence 0.99, each seed adds at least the reported share of what the best page would have added.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.reach import weights_of
from orienteer.graph.reach_sketch import N_RANKS, TYPICAL_ERROR, EstimatedWeights, estimated_weights
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import Approximation, SeedMethod, seed_method

_N_UNLIKE = 64
_N_HEADS = 16
_N_ALIKE = 16
CONFIDENCE = 0.99


@seed_method
class SketchedGreedy(SeedMethod):
    """The page that covers approximately the most: estimated from 32 ranks per page, the best weighed exactly.

    The result has a bound of the approximation.
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
