"""The rounds of an estimation, and the errors of an estimate if the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Values that differ by less than this share of the mean are tied: they are computed only to 1e-8 in L1.
_SAME = 1e-6


@dataclass(frozen=True)
class Errors:
    """The errors of an estimated rank: L1, the largest difference, and Kendall's tau-b.

    tau is 1 if both order the pages alike, -1 if one order is the reverse of the other, and NaN if there is no order:
    a single page, or all pages tied.
    """

    l1: float
    l_inf: float
    tau: float

    @classmethod
    def between(cls, rank: NDArray[np.float64], truth: NDArray[np.float64]) -> Errors:
        """Compare two ranks that both sum to 1."""
        from scipy.stats import kendalltau  # slow to import (0.5 s), and not needed if the truth is unknown

        off = np.abs(rank - truth)
        step = _SAME / len(rank)
        alone = len(rank) == 1  # no order, and SciPy would warn
        tau = np.nan if alone else kendalltau(np.rint(rank / step), np.rint(truth / step)).statistic
        return cls(float(off.sum()), float(off.max()), float(tau))


@dataclass(frozen=True)
class EstimateRound:
    """One round: the number of pages fetched by its end, and the change of the estimate.

    `change` is the L1 change since the previous round (None for the first entry, before any fetch); `leaving` is the
    share of the rank on crawled pages that follows links to uncrawled ones. `errors` is set if the truth is known.
    """

    n_fetched: int
    n_frontier: int
    change: float | None
    leaving: float
    errors: Errors | None = None
