"""How alike two orders are: Kendall's tau-b, in O(n log n).

tau-b = (concordant - discordant pairs) / sqrt((pairs not tied in the first) (pairs not tied in the second)): 1 where
the orders agree, -1 where one is the reverse of the other. Pairs tied in either count for neither.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b of two rows of numbers; NaN where one of them is all ties, which is no order.

    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    a, b = _places(first), _places(second)
    if len(a) != len(b):
        raise InputError(f"{len(a):,} values cannot be compared with {len(b):,}")
    n = len(a)
    order = np.lexsort((b, a))
    a, b = a[order], b[order]
    pairs = n * (n - 1) // 2
    tied_first, tied_second = _tied(a), _tied(b)
    tied_both = _tied(a * (int(b.max(initial=0)) + 1) + b)
    discordant = int(_discordant(b))
    concordant = pairs - tied_first - tied_second + tied_both - discordant
    untied = float(pairs - tied_first) * float(pairs - tied_second)
    return (concordant - discordant) / math.sqrt(untied) if untied > 0 else math.nan


def _places(values: ArrayLike) -> NDArray[np.int64]:
    return np.unique(np.asarray(values), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _tied(values: NDArray[np.int64]) -> int:
    counts = np.unique(values, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


@njit(cache=True, nogil=True)
def _discordant(values: Any) -> int:
    """Pairs that stand the wrong way round, counted while they are merged into order."""
    n = len(values)
    source, target = values.copy(), np.empty_like(values)
    swaps = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            for k in range(start, end):
                if a < middle and (b >= end or source[a] <= source[b]):
                    target[k] = source[a]
                    a += 1
                else:
                    target[k] = source[b]
                    b += 1
                    swaps += middle - a
        source, target = target, source
        width *= 2
    return swaps
