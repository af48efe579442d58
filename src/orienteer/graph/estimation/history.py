"""What an estimation went through, round by round, and how far an estimate is from the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.kendall import kendall_tau

# Values that differ by less than this part of the mean are tied: computed to 1e-8 in all, they are not told apart.
_SAME = 1e-6


@dataclass(frozen=True)
class Errors:
    """How far an estimated rank is from the true one: L1, the largest difference, and Kendall's tau-b."""

    l1: float
    l_inf: float
    tau: float

    @classmethod
    def between(cls, rank: NDArray[np.float64], truth: NDArray[np.float64]) -> Errors:
        """Both sum to 1."""
        off = np.abs(rank - truth)
        step = _SAME / len(rank)
        tau = kendall_tau(np.rint(rank / step), np.rint(truth / step))
        return cls(float(off.sum()), float(off.max()), tau)


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
