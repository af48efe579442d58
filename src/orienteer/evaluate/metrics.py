"""Metrics of an order of fetches. A *curve* samples a value after some numbers of fetches, for plots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Curve(NamedTuple):
    """`values[k]` holds after `positions[k]` fetches."""

    positions: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def sampled(cls, after_each: NDArray[np.float64], positions: NDArray[np.int64]) -> Curve:
        """Sample the values after each fetch at `positions`."""
        return cls(positions, after_each[positions - 1])


def cumulative_rank(rank: NDArray[np.float64], order: ArrayLike) -> NDArray[np.float64]:
    """Return the total rank of the pages fetched so far, after each fetch.

    >>> cumulative_rank(np.array([0.5, 0.25, 0.25]), [1, 0]).tolist()
    [0.25, 0.75]
    """
    return np.cumsum(rank[np.asarray(order)])


def first_reaching(after_each: NDArray[np.float64], level: float) -> int | None:
    """Return the number of fetches until the value was at least `level`; None if it never was.

    >>> first_reaching(np.array([0.25, 0.75]), 0.5), first_reaching(np.array([0.25, 0.75]), 0.9)
    (2, None)
    """
    reached = after_each >= level
    at = int(reached.argmax()) if len(reached) else 0
    return at + 1 if len(reached) and reached[at] else None


def sample_positions(n_fetched: int, n_positions: int) -> NDArray[np.int64]:
    """Return about `n_positions` increasing numbers of fetches from 1 to `n_fetched`.

    Half of them grow by a factor, so that a logarithmic axis is filled, and half by a step, so that the end is.

    >>> sample_positions(1000, 10).tolist()
    [1, 6, 32, 178, 251, 500, 750, 1000]
    """
    if n_fetched == 0:
        return np.empty(0, np.int64)
    by_factor = np.geomspace(1, n_fetched, max(n_positions // 2, 2))
    by_step = np.linspace(1, n_fetched, max(n_positions // 2, 2))
    return np.unique(np.concatenate((by_factor, by_step)).round().astype(np.int64))
