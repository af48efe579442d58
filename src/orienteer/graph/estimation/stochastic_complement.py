"""Stochastic complement: prefer the pages that would change the local ranks the most.

This is SC-Select of Davis & Dhillon (KDD 2006).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.influence import Influence
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.estimation.selection import Selection, selection


@selection
class StochasticComplement(Selection):
    """The influence of each page, estimated by one step on the stochastic complement (see influence.py).

    Every score has cheap bounds. The scores of the pages with the highest upper bounds are computed exactly, in batches
    of doubling size, until no other page can be among the k best, or until more siblings were read than `work` times
    the links of all crawled pages. Remaining candidates then get the middle of their bounds, and `error` bounds the
    relative error of such scores in the last round. It is 0 if the k best are exact, as in every round on every real
    domain.
    """

    name: ClassVar[str] = "stochastic-complement"

    def __init__(self, work: float = 16.0) -> None:
        if work < 0:
            raise InputError(f"work is {work}; it must be 0 or more")
        self.work = work
        self.error = 0.0

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        influence = Influence.of(neighborhood, rank, damping)
        lower, upper = influence.lower.copy(), influence.upper.copy()
        places = np.flatnonzero(neighborhood.open)
        waiting = places[np.argsort(-upper[places], kind="stable")]
        allowed, n_next = self.work * neighborhood.n_links, 2 * k
        while True:
            waiting = waiting[upper[waiting] >= _kth_best(lower[places], k)]
            affordable = np.cumsum(influence.work[waiting[:n_next]]) <= allowed
            first = waiting[:n_next][affordable]
            if len(first) == 0:
                break
            lower[first] = upper[first] = influence.exact(first)
            allowed -= influence.work[first].sum()
            waiting = waiting[len(first) :]
            n_next *= 2
        scores: NDArray[np.float64] = upper
        scores[waiting] = (lower[waiting] + upper[waiting]) / 2
        self.error = float((1 - lower[waiting] / scores[waiting]).max(initial=0.0))
        return scores


def _kth_best(values: NDArray[np.float64], k: int) -> float:
    return float(np.partition(values, len(values) - k)[len(values) - k]) if 0 < k < len(values) else -np.inf
