"""Estimate the global rank of a local domain on a known graph: the driver of the loop in estimation/estimation.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.estimation import METHOD, SELECT, Estimation
from orienteer.graph.estimation.history import EstimateRound, SettlingForecast
from orienteer.graph.estimation.known_web import local_pages
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.notebook import data_frame, rows_html
from orienteer.progress import Progress, silent

if TYPE_CHECKING:
    import pandas

_TRUE_TOLERANCE = 1e-10
_N_LISTED = 10


@dataclass(frozen=True)
class Estimate:
    """The estimated global rank of a local domain.

    `rank` is in the order of `local`, which is the given order, or increasing if a mask was given; it sums to 1 over
    the domain. `fetched` are the pages fetched from its neighborhood, in order. `history` has an entry for each round,
    preceded by one for the local pages alone. `estimation` holds the state: it can be continued, and
    neighborhood_view.py compares the domain with its neighborhood from it.
    """

    local: NDArray[np.uint32]
    rank: NDArray[np.float64]
    fetched: NDArray[np.uint32]
    history: tuple[EstimateRound, ...]
    select: str
    method: str
    estimation: Estimation

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with the id and the estimated global rank of each page of the domain."""
        return data_frame({"page": self.local, "rank": self.rank})

    def __repr__(self) -> str:
        return (
            f"<Estimate: {len(self.local):,} pages ranked by {self.method}, "
            f"{len(self.fetched):,} fetched from the neighborhood>"
        )

    def _repr_html_(self) -> str:
        best = np.argsort(-self.rank, kind="stable")[:_N_LISTED]
        rows = [(number, int(self.local[k]), float(self.rank[k])) for number, k in enumerate(best, 1)]
        title = repr(self).strip("<>")
        return rows_html(title, ("", "page", "rank"), rows, len(self.local) - len(rows))

    @property
    def forecast(self) -> SettlingForecast:
        """How far off the estimate may still be, by experience; not a bound (see `SettlingForecast`)."""
        return self.estimation.forecast()


def estimate_global_rank(
    graph: LinkGraph,
    local: ArrayLike,
    budget: int | None = None,
    rounds: int = 50,
    select: str = SELECT,
    method: str = METHOD,
    *,
    settle: float = 0.0,
    truth: ArrayLike | bool = False,
    damping: float = 0.85,
    rng: int = 0,
    progress: Progress = silent,
) -> Estimate:
    """Estimate the rank of each page of the domain `local` (ids or a mask) in the graph, fetching few other pages.

    Links of other pages count only once they are fetched. `select` chooses up to `budget` of them (by default twice the
    number of local pages) in `rounds` rounds; it stops earlier once the estimate has changed by less than `settle` (L1)
    while the last n/5 pages were fetched. With `truth` True the true rank is computed, for the errors in the history;
    it may also be given, for all pages or for the local ones.

    >>> from orienteer.graph import shapes
    >>> estimate_global_rank(shapes.cycle(6), local=[0, 1, 2]).rank.round(4).tolist()
    [0.3333, 0.3333, 0.3333]
    """
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; at least one is needed")
    if settle < 0:
        raise InputError(f"settle is {settle}; it must be 0 or more")
    if budget is not None and budget < 0:
        raise InputError(f"budget is {budget}; it must be 0 or more")
    pages = local_pages(local, graph.n_pages)
    web = GrowingGraph()
    web.grow_to(graph.n_pages)
    web.add_batch(pages, *_rows(graph, pages))
    true = _true_rank(graph, pages, truth, damping, progress)
    estimation = Estimation(web, pages, select, method, truth=true, damping=damping, rng=rng)
    budget = 2 * len(pages) if budget is None else budget
    for k in _quotas(budget, rounds):
        progress("estimating", estimation.n_fetched, budget)
        chosen = estimation.next_pages(0 if estimation.has_settled(settle) else k)
        if len(chosen) == 0:
            break
        estimation.fetched_batch(chosen, *_rows(graph, chosen))
        estimation.round()
    return Estimate(pages, estimation.rank(), estimation.order, tuple(estimation.history), select, method, estimation)


def _quotas(budget: int, rounds: int) -> list[int]:
    """Return how many pages each round may fetch: as even as integers can be, without empty rounds."""
    goals = [budget * done // rounds for done in range(rounds + 1)]
    return [k for k in np.diff(goals).tolist() if k]


def _rows(graph: LinkGraph, pages: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the links of these pages as one CSR batch."""
    degrees = graph.ends[pages] - graph.starts[pages]
    offsets = np.concatenate(([0], np.cumsum(degrees)))
    places = np.arange(offsets[-1]) + np.repeat(graph.starts[pages] - offsets[:-1], degrees)
    return offsets, graph.targets[places]


def _true_rank(
    graph: LinkGraph, pages: NDArray[np.uint32], truth: ArrayLike | bool, damping: float, progress: Progress
) -> NDArray[np.float64] | None:
    if isinstance(truth, bool):
        if not truth:
            return None
        return pagerank(graph, damping=damping, tolerance=_TRUE_TOLERANCE, progress=progress)[pages]
    values = np.asarray(truth, np.float64)
    return values[pages] if values.shape == (graph.n_pages,) else values
