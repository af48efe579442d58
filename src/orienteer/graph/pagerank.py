"""PageRank, within a proven error.

    r = d W r + d m u + (1 - d) t        W[i, j] = 1/c_j if j links to i,   m = rank on dangling pages

t is the trust, u what a dangling page jumps to (t, or uniform), d the damping.

**Method.** Without the dangling term the system is x = d W x + t; with u = t, r = x / sum(x). (With another u, r is a
mixture of the solutions for t and for u; see `pagerank`.) The algorithm maintains an estimate x and its residual
p = t + d W x - x. Pushing page i adds p_i to x_i and d p_i / c_i to the residual of each page it links to. Pushing
every page in storage order, sweep after sweep, is Gauss-Seidel by columns. It needs only forward links, so no reverse
graph is built, and the residual is known exactly at any time.

**Stopping rule.** The true solution is x + e with e = (I - d W)^-1 p, so |e| <= |p| / (1 - d) in L1, and for the
normalized vectors

    |r - r'|  <=  2 |e| / sum(x)  <=  2 |p| / ((1 - d) sum(x))

Sweeps continue until the right-hand side is below the tolerance. The tolerance thus bounds the true error, not the
change between two sweeps. (In exact arithmetic; rounding errors are near 1e-15, hence the smallest tolerance.)
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.defaults import DAMPING, N_TRUSTED
from orienteer.graph.link_graph import LinkGraph, expect_graph
from orienteer.graph.trust import Trust, trust_vector
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

SMALLEST_TOLERANCE = 1e-13


def highest_ranked(graph: LinkGraph, n: int, progress: Progress = silent) -> NDArray[np.int64]:
    """Return the n pages of the highest uniform PageRank (all, if there are fewer); ties by the lowest id."""
    rank = pagerank(graph, tolerance=1e-9, progress=progress)
    return np.argsort(-rank, kind="stable")[:n]


def crawl_trust(graph: LinkGraph, trust: Trust = None, progress: Progress = silent) -> NDArray[np.float64]:
    """Return the trust of a simulated crawl; by default uniform over the N_TRUSTED pages of the highest PageRank."""
    if trust is None and graph.n_pages > N_TRUSTED:
        trust = highest_ranked(graph, N_TRUSTED, progress)
    return trust_vector(graph.n_pages, trust)


def pagerank(
    graph: LinkGraph,
    trust: Trust = None,
    damping: float = DAMPING,
    tolerance: float = 1e-6,
    start: ArrayLike | None = None,
    *,
    dangling: Literal["trust", "uniform"] = "trust",
    progress: Progress = silent,
) -> NDArray[np.float64]:
    """Return the rank of every page, summing to 1, within `tolerance` of the truth in L1.

    `start` is an earlier rank to begin from: a close one saves most of the work, a wrong one only costs time.
    `dangling` is where a surfer goes from a page without links: to the trusted pages, or to any page.

    >>> import orienteer as ori
    >>> from orienteer.graph import shapes
    >>> ori.pagerank(shapes.cycle(4)).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    expect_graph(graph)
    _check(damping, tolerance)
    jump = trust_vector(graph.n_pages, trust)
    estimate = None if start is None else _checked_start(start, graph, damping)
    if dangling not in ("trust", "uniform"):
        raise InputError(f"dangling is {dangling!r}; it must be 'trust' or 'uniform'")
    if dangling == "trust" or trust is None:
        return _ranked(graph, jump, damping, tolerance, estimate, progress)
    # The result mixes the rank with jumps to trust at dangling pages and the rank with uniform jumps only. Its error is
    # at most 1/(1-d) times theirs, because the share is computed from the first rank.
    finer = tolerance * (1 - damping)
    to_trust = _ranked(graph, jump, damping, finer, estimate, progress)
    anywhere = _ranked(graph, trust_vector(graph.n_pages), damping, finer, None, progress)
    on_dangling = float(to_trust[graph.out_degrees() == 0].sum())
    share = (1 - damping) / (1 - damping + damping * on_dangling)
    return share * to_trust + (1 - share) * anywhere


def _ranked(
    graph: LinkGraph,
    jump: NDArray[np.float64],
    damping: float,
    tolerance: float,
    estimate: NDArray[np.float64] | None,
    progress: Progress,
) -> NDArray[np.float64]:
    """Return the rank if dangling pages lead to `jump`; the loop described in the module's docstring."""
    x = np.zeros(graph.n_pages) if estimate is None else estimate
    residual = jump.copy()
    if estimate is not None:
        subtract_applied(graph.offsets, graph.targets, x, residual, damping)
    first_bound = None
    while True:
        residual_norm = float(np.abs(residual).sum())
        total = float(x.sum())
        bound = 2 * residual_norm / ((1 - damping) * total) if total > 0 else np.inf
        if bound <= tolerance:
            return x / total
        if np.isfinite(bound):
            first_bound = first_bound or bound
            done = np.log(first_bound / bound) / max(np.log(first_bound / tolerance), 1e-9)
            progress("ranking", int(1000 * min(max(done, 0.0), 1.0)), 1000)
        push_all(graph.offsets, graph.targets, x, residual, damping)


@allocating_kernel
def push_all(offsets: Any, targets: Any, x: Any, residual: Any, damping: float) -> None:
    """One Gauss-Seidel sweep: push the residual of every page, in storage order."""
    for page in range(len(x)):
        amount = residual[page]
        if amount == 0.0:
            continue
        residual[page] = 0.0
        x[page] += amount
        start, end = offsets[page], offsets[page + 1]
        if end > start:
            share = damping * amount / (end - start)
            for k in range(start, end):
                residual[targets[k]] += share


@allocating_kernel
def subtract_applied(offsets: Any, targets: Any, x: Any, residual: Any, damping: float) -> None:
    """Add d W x - x to the residual, for an estimate that was not pushed from zero."""
    for page in range(len(x)):
        amount = x[page]
        residual[page] -= amount
        start, end = offsets[page], offsets[page + 1]
        if end > start:
            share = damping * amount / (end - start)
            for k in range(start, end):
                residual[targets[k]] += share


def _check(damping: float, tolerance: float) -> None:
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be at least 0 and below 1")
    if not SMALLEST_TOLERANCE <= tolerance < 2:
        raise InputError(f"tolerance is {tolerance}; it must be from {SMALLEST_TOLERANCE:g} to below 2")


def _checked_start(start: ArrayLike, graph: LinkGraph, damping: float) -> NDArray[np.float64]:
    """Return the start rank, scaled to the solution of the system without the dangling term."""
    rank = np.array(start, np.float64)
    if rank.shape != (graph.n_pages,):
        raise InputError(f"start: {rank.size:,} values for {graph.n_pages:,} pages")
    if not np.isfinite(rank).all() or (rank < 0).any() or rank.sum() <= 0:
        raise InputError("start: a rank is never negative, NaN or zero on every page")
    rank /= rank.sum()
    on_dangling = float(rank[graph.out_degrees() == 0].sum())
    rank /= 1 - damping + damping * on_dangling
    return rank
