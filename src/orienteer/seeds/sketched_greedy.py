"""The greedy algorithm on graphs too large to weigh every page: sketches name candidates, the best are weighed exactly.

For each seed the depth-h weights of all pages over what is left are estimated (graph/reach_sketch.py, new ranks each
time, so that a bound proved for one seed does not depend on those before). Of the pages of the highest estimates, 64
that reach different things are weighed exactly, all in one search; then, for each of the best 16 of them, 16 pages that
reach much the same. The best of all is taken. The cost of a seed is h passes over the links and a few searches. Where
values are negative, their weight is estimated apart and taken off.
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
    """The page that covers about the most: estimated from 32 ranks a page, the best weighed exactly.

    The result says how far it may be off.
    """

    name: ClassVar[str] = "sketched-greedy"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._k = k
        self._n_asked = 0
        self._has_negative = bool((cover.left < 0).any())
        self._progress = progress
        self.approximation = Approximation(
            at_least=1.0,
            confidence=CONFIDENCE,
            about=f"weights were estimated from {N_RANKS} ranks a page (typical error {100 * TYPICAL_ERROR:.0f} %) and "
            "the best weighed exactly",
        )

    def best(self, cover: Cover) -> int | None:
        positive = self._estimated(cover, np.maximum(cover.left, 0), 0)
        estimates = positive.estimates
        if self._has_negative:
            estimates = estimates - self._estimated(cover, np.maximum(-cover.left, 0), 1).estimates
        self._n_asked += 1
        unlike = _heaviest_first(cover, positive.unlike(estimates, _N_UNLIKE))[0]
        heads = unlike[:_N_HEADS].tolist()
        alike = [positive.like(head, estimates, _N_ALIKE) for head in heads]
        pages, weights = _heaviest_first(cover, np.unique(np.concatenate([unlike, *alike])))
        page, weight = int(pages[0]), float(weights[0])
        if weight <= 0:
            return None
        self._note(weight, positive.bound((1 - CONFIDENCE) / self._k))
        return page

    def _estimated(self, cover: Cover, values: NDArray[np.float64], sign: int) -> EstimatedWeights:
        stream = (self.rng * self._k + self._n_asked) * 2 + sign
        return estimated_weights(cover.graph, cover.hops, values, stream, self._progress)

    def _note(self, gain: float, bound: float) -> None:
        """No page could have added more than the bound."""
        told = self.approximation
        assert told is not None
        self.approximation = Approximation(min(told.at_least, gain / bound), told.confidence, told.about)


def _heaviest_first(cover: Cover, pages: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """These pages by what they would add, and what that is; ties by their order."""
    weights = weights_of(cover.graph, pages, cover.hops, cover.left)
    order = np.argsort(-weights, kind="stable")
    return pages[order], weights[order]
