"""FindGlobalPR (Davis & Dhillon, KDD 2006): estimate the global rank of n local pages by fetching O(n) others.

    f := PageRank of the crawled pages F, initially the local ones
    repeat: fetch the k frontier pages that matter most (selection), add them and their links to F, compute f again
    estimate the global rank from F and f (estimator)

There is no proved bound on the error; `SettlingForecast` predicts it from experiments. The object has no clock and
does no I/O. Its driver, a live crawler or the loop over a known graph (`estimate_global_rank`), fetches the pages:

    while budget:
        for page in estimation.next_pages(k):
            estimation.fetched(page, links)         # or estimation.failed(page)
        estimation.round()
    estimation.rank()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.graph.estimation import all_selections, make_estimator, make_selection, settings_of
from orienteer.graph.estimation.history import Errors, EstimateRound, SettlingForecast, forecast, recent_change
from orienteer.graph.estimation.known_web import (
    BLOCKED,
    NO_PAGE,
    OPEN,
    REQUESTED,
    KnownWeb,
    Neighborhood,
    local_pages,
    rank_within,
)
from orienteer.graph.estimation.selection import best_open
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.notebook import data_frame, rows_html
from orienteer.progress import Progress, silent

if TYPE_CHECKING:
    import pandas

SELECT = "stochastic-complement"
METHOD = "frontier-return"

CountsAs = Literal["dangling", "unknown", "no page", "open"]
_STATES = {"unknown": BLOCKED, "no page": NO_PAGE, "open": OPEN}

_ROUND_TOLERANCE = 1e-6
_FINAL_TOLERANCE = 1e-8
_TRUE_TOLERANCE = 1e-10
_N_LISTED = 10


class Estimation:
    """The estimate of a local domain's global rank while pages of its neighborhood are fetched.

    `web` has the links of the local pages; the estimation adds those of fetched pages. Page ids are those of `web`:
    dense, in order of discovery. `local` is a list of ids, in the order that `rank` will have, or a mask (then `rank`
    is in increasing order of ids).

    >>> from orienteer.graph.growing_graph import GrowingGraph
    >>> web = GrowingGraph()
    >>> web.add_batch([0, 1], [0, 2, 3], [1, 2, 2])
    >>> estimation = Estimation(web, local=[0, 1], method="paper")
    >>> estimation.next_pages(5).tolist()
    [2]
    >>> estimation.fetched(2, [0])
    >>> estimation.round().n_fetched, estimation.rank().round(3).tolist()
    (1, [0.644, 0.356])
    """

    def __init__(
        self,
        web: GrowingGraph,
        local: ArrayLike,
        select: str = SELECT,
        method: str = METHOD,
        *,
        truth: ArrayLike | None = None,
        damping: float = 0.85,
        rng: int = 0,
    ) -> None:
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be at least 0 and below 1")
        self.known = KnownWeb(web, local)
        self.damping = damping
        self.select, self.method = select, method
        kind = all_selections().get(select)
        self._selection = make_selection(select, **({"rng": rng} if kind and "rng" in settings_of(kind) else {}))
        self._estimator = make_estimator(method)
        self._truth = None if truth is None else _checked_truth(truth, len(self.local))
        self._order: list[int] = []
        self._neighborhood: Neighborhood | None = None
        self._within: NDArray[np.float64] | None = None
        self._last: NDArray[np.float64] | None = None
        self.history: list[EstimateRound] = []
        self.round()

    @property
    def web(self) -> GrowingGraph:
        return self.known.web

    @property
    def local(self) -> NDArray[np.uint32]:
        return self.known.local

    @property
    def n_fetched(self) -> int:
        """Number of pages fetched from the neighborhood so far."""
        return len(self._order)

    @property
    def order(self) -> NDArray[np.uint32]:
        """The pages fetched from the neighborhood, in the order in which they were recorded."""
        return np.array(self._order, np.uint32)

    @property
    def neighborhood(self) -> Neighborhood:
        """The crawled pages and their frontier."""
        if self._neighborhood is None:
            self._neighborhood = self.known.neighborhood()
        return self._neighborhood

    def next_pages(self, k: int) -> NDArray[np.uint32]:
        """Return up to k pages to fetch next, those with the highest scores first; no page is returned twice."""
        if k < 0:
            raise InputError(f"k is {k}; it must be 0 or more")
        if k == 0:
            return np.empty(0, np.uint32)
        neighborhood = self.neighborhood
        scores = self._selection.scores(neighborhood, self.rank_within(_ROUND_TOLERANCE), k, self.damping)
        pages = best_open(neighborhood, scores, k)
        self.known.mark(pages, REQUESTED)
        self._neighborhood = None
        return pages

    def fetched(self, page: int, links: ArrayLike) -> None:
        """Record that `page` was fetched and links to `links`."""
        ids = np.asarray(links)
        self.fetched_batch([page], [0, len(ids)], ids)

    def fetched_batch(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> None:
        """Record several fetched pages: `targets[offsets[k]:offsets[k+1]]` are the links of `pages[k]`."""
        self._order += self.known.crawl(pages, offsets, targets).tolist()
        self._neighborhood = None

    def mark_fetched(self, pages: ArrayLike) -> None:
        """Record fetched pages whose links are in `web` already."""
        self._order += self.known.mark_fetched(pages).tolist()
        self._neighborhood = None

    def failed(self, page: int, counts_as: CountsAs = "dangling") -> None:
        """Record that `page` could not be fetched, and how it counts.

        `dangling`: as a page without links, like a 404 in a crawl. `unknown`: its links stay unknown (robots.txt, an
        unreachable host). `no page`: links to it do not count. `open`: it may be chosen again.
        """
        if counts_as == "dangling":
            self.fetched(page, [])
            return
        if counts_as not in _STATES:
            raise unknown_name("way to count a page", counts_as, ["dangling", *_STATES])
        self.known.mark([page], _STATES[counts_as])
        self._neighborhood = None

    def rank_within(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """Return the PageRank of the crawled pages by the links between them, in the order of `neighborhood.pages`."""
        self._within = rank_within(self.neighborhood, self._within, tolerance, self.damping)
        return self._within

    def worth(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """Return the estimated global rank of the crawled pages, in the order of `neighborhood.pages`, summing to 1."""
        rank = self.rank_within(tolerance)
        local_share = float(rank[: len(self.local)].sum())
        rank = self.rank_within(tolerance * local_share / 2)
        return _normalized(self._estimator.worth(self.neighborhood, rank, tolerance, self.damping))

    def rank(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """Return the estimated global rank of the local pages, in the order of `local`, summing to 1."""
        return _normalized(self.worth(tolerance)[: len(self.local)])

    def round(self, tolerance: float = _ROUND_TOLERANCE) -> EstimateRound:
        """Finish a round: estimate again, and append the change to the history."""
        rank = self.rank(tolerance)
        neighborhood = self.neighborhood
        self.history.append(
            EstimateRound(
                n_fetched=self.n_fetched,
                n_frontier=len(neighborhood.frontier),
                change=None if self._last is None else float(np.abs(rank - self._last).sum()),
                leaving=neighborhood.leaving(self.rank_within(tolerance)),
                errors=None if self._truth is None else Errors.between(rank, self._truth),
            )
        )
        self._last = rank
        return self.history[-1]

    def has_settled(self, below: float) -> bool:
        """Return whether the estimate changed by less than this (L1) while the last n/5 pages were fetched."""
        change = recent_change(self.history, len(self.local))
        return change is not None and change < below

    def forecast(self) -> SettlingForecast:
        """Return the error that is typical of estimates that changed as little as this one did last."""
        neighborhood = self.neighborhood
        inner = neighborhood.inside[: neighborhood.inside_offsets[neighborhood.n_local]] < neighborhood.n_local
        return forecast(self.history, neighborhood.n_local, self.method, bool(inner.any()))


def _checked_truth(truth: ArrayLike, n_local: int) -> NDArray[np.float64]:
    values = np.asarray(truth, np.float64)
    if values.shape != (n_local,):
        raise InputError(f"truth: {values.size:,} values for {n_local:,} local pages")
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise InputError("truth: a rank is never negative, NaN or zero on every page")
    return _normalized(values)


def _normalized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    normal: NDArray[np.float64] = values / values.sum()
    return normal


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
