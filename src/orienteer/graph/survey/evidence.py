"""The evidence that a growing set of fetched pages has reached a coverage.

Walk i begins when K_i is known. Its score W_i has a mean that nobody knows, θ_i: the time that lives spend outside K_i.
With stakes λ_i that are fixed when the walk begins,

    M = Π (1 + λ_i (θ_i - W_i))

is a martingale, so the chance that it ever reaches 1/δ is at most δ (Ville's inequality): whenever one looks, whatever
is crawled in between, whoever chooses it. Suppose now that the coverage of what is fetched at some time T is below the
target. Then θ_i is at least

    m_i(T) = ((1 - c)(1 - d D_i) - Q_i - blocked_i + (1 - d) visits_T(K_T - K_i)) / free_i

because the surfer was, between K_i and K_T, at least as often as the known links say on the pages that have come since.
So the product with m_i(T) instead of θ_i is at most M. When it reaches 1/δ, the target is reached, with a chance of at
most δ to be wrong. As the crawl goes on m_i(T) grows: walks of before say more, and no walk is in vain.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.kernel import kernel

MOST = 0.97  # of the largest stake that can never lose all


class Evidence:
    """What walks say of one target, in natural logarithms; `error` is the δ of the claim."""

    def __init__(self, error: float) -> None:
        self.goal = -log(error)
        self.n = 0  # walks that have a score
        self.scores: NDArray[np.float64] = np.zeros(64)
        self.allowed: NDArray[np.float64] = np.zeros(64)  # (1 - c)(1 - d D) - Q - blocked, of each walk
        self.free: NDArray[np.float64] = np.zeros(64)
        self.stakes: NDArray[np.float64] = np.zeros(64)

    def stake(self, walk: int, allowed: float, free: float, stake: float) -> None:
        """A walk begins."""
        for name in ("scores", "allowed", "free", "stakes"):
            setattr(self, name, grown(getattr(self, name), walk + 1))
        self.allowed[walk], self.free[walk], self.stakes[walk] = allowed, free, stake

    def hear(self, scores: NDArray[np.float64]) -> None:
        """The scores of the next walks, in the order in which they began."""
        self.scores[self.n : self.n + len(scores)] = scores
        self.n += len(scores)

    def total(self, gains: NDArray[np.float64], more: float = 0.0) -> float:
        """The same, but of all walks together: those to come add to that."""
        return float(_found(self.scores, self.allowed, self.free, self.stakes, gains, more, self.n)[1])

    def found(self, gains: NDArray[np.float64], more: float = 0.0) -> float:
        """The evidence, if `gains` is (1 - d) visits_T(K_T - K_i) of each walk, and `more` came to all of them."""
        return float(_found(self.scores, self.allowed, self.free, self.stakes, gains, more, self.n)[0])


def largest_stake(threshold: float, highest: float) -> float:
    """Below which no score up to `highest` can lose all."""
    return 1.0 / (highest - min(threshold, MOST))


@kernel
def _found(scores: Any, allowed: Any, free: Any, stakes: Any, gains: Any, more: float, n: int) -> Any:
    """The largest sum over the first walks, however many; and that over all."""
    total, most = 0.0, 0.0
    for k in range(n):
        factor = 1.0 + stakes[k] * ((allowed[k] + gains[k] + more) / free[k] - scores[k])
        total += log(max(factor, 1e-12))
        most = max(most, total)
    return most, total


@kernel
def kelly(scores: Any, weights: Any, threshold: float, caution: float) -> Any:
    """The constant stake that would have been best on these scores, as a share of the largest, and its growth a walk.

    Beside the scores there is one of 1 that counts `caution`.
    """
    if threshold >= 1.0:
        return MOST, -log(1.0 - MOST)
    edge, total = 0.0, 0.0
    for k in range(len(scores)):
        edge += weights[k] * (threshold - scores[k]) / (1.0 - threshold)
        total += weights[k]
    if edge <= caution:
        return 0.0, 0.0
    low, high = 0.0, MOST
    for _ in range(20):
        share, slope = (low + high) / 2, 0.0
        for k in range(len(scores)):
            x = (threshold - scores[k]) / (1.0 - threshold)
            slope += weights[k] * x / (1.0 + share * x)
        if slope > caution / (1.0 - share):
            low = share
        else:
            high = share
    growth = caution * log(1.0 - low)
    for k in range(len(scores)):
        growth += weights[k] * log(1.0 + low * (threshold - scores[k]) / (1.0 - threshold))
    return low, max(growth / (total + caution), 0.0)
