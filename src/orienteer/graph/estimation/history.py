"""What an estimation went through, round by round, and how far an estimate is from the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Values that differ by less than this part of the mean are tied: computed to 1e-8 in all, they are not told apart.
_SAME = 1e-6


@dataclass(frozen=True)
class Errors:
    """How far an estimated rank is from the true one: L1, the largest difference, and Kendall's tau-b.

    tau is 1 where both order the pages alike, -1 where one order is the reverse of the other, and NaN where
    there is no order: one page alone, or all of them tied.
    """

    l1: float
    l_inf: float
    tau: float

    @classmethod
    def between(cls, rank: NDArray[np.float64], truth: NDArray[np.float64]) -> Errors:
        """Both sum to 1."""
        from scipy.stats import kendalltau  # takes half a second, and is not needed where the truth is unknown

        off = np.abs(rank - truth)
        step = _SAME / len(rank)
        alone = len(rank) == 1  # no order, and SciPy would warn
        tau = np.nan if alone else kendalltau(np.rint(rank / step), np.rint(truth / step)).statistic
        return cls(float(off.sum()), float(off.max()), float(tau))


@dataclass(frozen=True)
class Round:
    """One round: how many pages had been fetched by its end, and what that changed.

    `change` is the L1 change of the estimate since the round before (None for the first entry, before any fetch);
    `leaving` the share of the rank on crawled pages that follows links to uncrawled ones. `errors` is there where the
    truth is known.
    """

    n_fetched: int
    n_frontier: int
    change: float | None
    leaving: float
    errors: Errors | None = None
