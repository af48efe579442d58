"""The PageRank of the crawled pages, with a uniform jump and only the links between them.

Warm starts make the rounds cheap: the rank of the last round is close to that of the next, and only the residual is
pushed. Stopping rule: the tolerance bounds the true error in L1, as in pagerank.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.pagerank import push_all, subtract_applied


def rank_within(
    neighborhood: Neighborhood, start: NDArray[np.float64] | None = None, tolerance: float = 1e-6, damping: float = 0.85
) -> NDArray[np.float64]:
    """Return the rank of every crawled page, summing to 1; `start` is an earlier rank of the first pages."""
    n = neighborhood.n_crawled
    residual = np.full(n, 1.0 / n)
    x = np.zeros(n)
    if start is not None:
        x[: len(start)] = start * (len(start) / n)
        x[len(start) :] = 1.0 / n
        # Without the dangling term the solution is a multiple of the rank; see pagerank.py.
        x /= 1 - damping + damping * float(x[neighborhood.inside_degrees() == 0].sum())
        subtract_applied(neighborhood.inside_offsets, neighborhood.inside, x, residual, damping)
    while True:
        left, total = float(np.abs(residual).sum()), float(x.sum())
        if 2 * left <= tolerance * (1 - damping) * total:
            return x / total
        push_all(neighborhood.inside_offsets, neighborhood.inside, x, residual, damping)
