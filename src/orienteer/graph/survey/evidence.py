"""The evidence that a growing set of fetched pages has reached a coverage.

Walk i begins when the pages K_i are known. Its score W_i has an unknown mean θ_i: the time that lives spend outside
K_i. With stakes λ_i that are fixed when the walk begins,

    M = Π (1 + λ_i (θ_i - W_i))

is a martingale, so the probability that it ever reaches 1/δ is at most δ (Ville's inequality), at any time of
inspection and whatever is crawled in between. That W_i has the mean θ_i requires responses that do not depend on
whether a walk requests the page. Suppose that the coverage of the pages fetched by some time T is below the target.
Then θ_i is at least

    m_i(T) = ((1 - c)(1 - d D_i) - Q_i - blocked_i + (1 - d) visits_T(K_T - K_i)) / free_i

because the surfer spends at least the time given by the known links on the pages fetched between K_i and K_T. So the
product with m_i(T) instead of θ_i is at most M. Stopping rule: when it reaches 1/δ, the target is reached, and this is
wrong with a probability of at most δ. As the crawl continues, m_i(T) grows, so earlier walks gain in evidence.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.kernel import kernel

MAX_STAKE_SHARE = 0.97  # of the largest stake with which no score makes the product 0


class Evidence:
    """The evidence of walks for one target, in natural logarithms; `error` is the δ of the claim."""

    def __init__(self, error: float) -> None:
        self.goal = -log(error)
        self.n = 0  # walks with a score
        self.scores: NDArray[np.float64] = np.zeros(64)
        self.allowed: NDArray[np.float64] = np.zeros(64)  # (1 - c)(1 - d D) - Q - blocked, of each walk
        self.free: NDArray[np.float64] = np.zeros(64)
        self.stakes: NDArray[np.float64] = np.zeros(64)

    def stake(self, walk: int, allowed: float, free: float, stake: float) -> None:
        """Set the parameters of a walk when it begins."""
        for name in ("scores", "allowed", "free", "stakes"):
            setattr(self, name, grown(getattr(self, name), walk + 1))
        self.allowed[walk], self.free[walk], self.stakes[walk] = allowed, free, stake

    def add_scores(self, scores: NDArray[np.float64]) -> None:
        """Add the scores of the next walks, in the order in which they began."""
        self.scores[self.n : self.n + len(scores)] = scores
        self.n += len(scores)

    def total(self, gains: NDArray[np.float64], extra_gain: float = 0.0) -> float:
        """Return the evidence of all walks so far; the arguments are those of `peak`."""
        return float(_peak_and_total(self.scores, self.allowed, self.free, self.stakes, gains, extra_gain, self.n)[1])

    def peak(self, gains: NDArray[np.float64], extra_gain: float = 0.0) -> float:
        """Return the largest evidence of the first n walks, over all n.

        `gains` is (1 - d) visits_T(K_T - K_i) of each walk, and `extra_gain` is added to the gains of all.
        """
        return float(_peak_and_total(self.scores, self.allowed, self.free, self.stakes, gains, extra_gain, self.n)[0])


def largest_stake(threshold: float, highest: float) -> float:
    """Return the stake up to which no score, at most `highest`, makes the product of the evidence 0."""
    return 1.0 / (highest - min(threshold, MAX_STAKE_SHARE))


@kernel
def _peak_and_total(scores: Any, allowed: Any, free: Any, stakes: Any, gains: Any, extra_gain: float, n: int) -> Any:
    """Return the largest partial sum over the walks in order, and the sum over all."""
    total, peak = 0.0, 0.0
    for k in range(n):
        factor = 1.0 + stakes[k] * ((allowed[k] + gains[k] + extra_gain) / free[k] - scores[k])
        total += log(max(factor, 1e-12))
        peak = max(peak, total)
    return peak, total


@kernel
def kelly(scores: Any, weights: Any, threshold: float, caution: float) -> Any:
    """Return the best constant stake on these scores, as a share of the largest stake, and its log growth per walk.

    A further score of 1 with the weight `caution` makes the stake conservative.
    """
    if threshold >= 1.0:
        return MAX_STAKE_SHARE, -log(1.0 - MAX_STAKE_SHARE)
    edge, total = 0.0, 0.0
    for k in range(len(scores)):
        edge += weights[k] * (threshold - scores[k]) / (1.0 - threshold)
        total += weights[k]
    if edge <= caution:
        return 0.0, 0.0
    low, high = 0.0, MAX_STAKE_SHARE
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
