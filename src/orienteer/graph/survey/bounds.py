"""Bounds of a mean of bounded scores that hold at all times simultaneously (a betting confidence sequence).

For every coverage c on a grid, gamblers bet against "the coverage is below c" and against "above c". A gambler starts
with capital 1 and stakes a fixed share of the largest stake that cannot lose everything; several shares are mixed.
While the statement is true, the capital is a supermartingale, and the probability that it ever reaches 1/δ is at most δ
(Ville; Waudby-Smith & Ramdas 2024). Capitals are monotone in c, so the values ruled out on each side form an interval.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.survey.walking import DANGLING, OUTSIDE, UNKNOWN
from orienteer.kernel import kernel

_STAKES = np.array([0.03, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
_N_POINTS = 1000
_TINY = 1e-12
_FACTORS = 16


class Bounds:
    """Bounds on a share of the surfer's time, with 1 - share = c on a grid between two proved bounds.

    A share s of the time is outside if and only if the mean score of lives is (s total - fixed) / free, where a score
    is outside + unknown + s dangling; the upper bound counts unknown as 0.
    """

    def __init__(self, lowest: float, highest: float, total: float, fixed: float, free: float, error: float,
                 highest_score: float = 1.0) -> None:  # fmt: skip
        """`total` is 1 - d D; `fixed` the mass that counts as outside in the worst case, and not at all in the best."""
        self._highest_score = highest_score
        self.grid = np.linspace(lowest, highest, _N_POINTS)
        self._thresholds = [((1.0 - self.grid) * total - part) / free for part in (fixed, 0.0)]
        self._capitals = [np.zeros((len(_STAKES), _N_POINTS)) for _ in range(2)]
        self._goal = log(2.0 / error)
        self._ruled_out = [self.grid <= lowest, self.grid >= highest]

    def add_scores(self, scores: NDArray[np.float64]) -> None:
        """Add the scores of the next lives, in the order in which they began."""
        for side, sign in enumerate((1.0, -1.0)):
            worst = scores[:, OUTSIDE] + (scores[:, UNKNOWN] if side == 0 else 0.0)
            capital = self._capitals[side]
            dangling = scores[:, DANGLING].copy()
            products = np.ones(len(_STAKES))
            _bet(capital, products, self.grid, self._thresholds[side], worst, dangling, sign, self._highest_score)
            wealth = np.logaddexp.reduce(capital) - log(len(_STAKES))
            self._ruled_out[side] |= wealth >= self._goal

    @property
    def lower(self) -> float:
        """The first value that is not ruled out from below."""
        k = int(np.argmin(self._ruled_out[0])) if not self._ruled_out[0].all() else _N_POINTS
        return float(self.grid[max(k - 1, 0)])

    @property
    def upper(self) -> float:
        back = self._ruled_out[1][::-1]
        k = int(np.argmin(back)) if not back.all() else _N_POINTS
        return float(self.grid[::-1][max(k - 1, 0)])


@kernel
def _bet(
    capital: Any, products: Any, grid: Any, thresholds: Any, outside: Any, dangling: Any, sign: float, highest: float
) -> None:
    """Update the capitals. Scores are between 0 and `highest`, which bounds the stakes that can never lose everything.

    A logarithm takes far longer than a product, so _FACTORS factors of at least _TINY are multiplied before taking one.
    Invariant: `products` are all 1 before and after.
    """
    for k in range(len(grid)):
        m = thresholds[k]
        room = max(highest - m if sign > 0 else m, _TINY)
        for i in range(len(outside)):
            x = sign * (m - outside[i] - (1.0 - grid[k]) * dangling[i]) / room
            for g in range(len(products)):
                products[g] *= max(1.0 + _STAKES[g] * x, _TINY)
            if i % _FACTORS == _FACTORS - 1:
                _collect(products, capital, k)
        _collect(products, capital, k)


@kernel
def _collect(products: Any, capital: Any, k: int) -> None:
    for g in range(len(products)):
        capital[g, k] += log(products[g])
        products[g] = 1.0
