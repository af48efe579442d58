"""Stochastic complement: the pages that would change the local ranks the most.

This is SC-Select of Davis & Dhillon (KDD 2006).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.influence import Influence
from orienteer.graph.estimation.known_web import Surroundings
from orienteer.graph.estimation.selection import Selection, selection


@selection
class StochasticComplement(Selection):
    """The influence of each page, estimated by one step on the stochastic complement (see influence.py).

    Only pages whose upper bound reaches the k-th best lower bound can be among the k best; their scores are computed
    exactly, those of the highest bounds first, as long as this looks at no more siblings than `work` times the links of
    all crawled pages. Whatever remains gets the middle of its bounds: `error` says by how much at most a score was off
    in the last round, as a share of it; 0 where the k best are exactly the k best, which was so on all real domains.
    """

    name: ClassVar[str] = "stochastic-complement"

    def __init__(self, work: float = 8.0) -> None:
        if work < 0:
            raise InputError(f"work is {work}; it must be 0 or more")
        self.work = work
        self.error = 0.0

    def scores(self, around: Surroundings, rank: NDArray[np.float64], k: int, damping: float) -> NDArray[np.float64]:
        influence = Influence.of(around, rank, damping)
        places = np.flatnonzero(around.open)
        if 0 < k < len(places):
            enough = np.partition(influence.lower[places], len(places) - k)[len(places) - k]
            places = places[influence.upper[places] >= enough]
        places = places[np.argsort(-influence.upper[places], kind="stable")]
        affordable = np.cumsum(influence.work[places]) <= self.work * around.n_links
        first, rest = places[affordable], places[~affordable]
        scores = influence.upper.copy()
        scores[first] = influence.exact(first)
        scores[rest] = (influence.lower[rest] + influence.upper[rest]) / 2
        halves = (influence.upper[rest] - influence.lower[rest]) / 2
        self.error = float((halves / scores[rest]).max(initial=0.0))
        return scores
