"""FindGlobalPR, step by step: fetch O(n) pages around a local domain, and say what its n pages are worth in the web.

    f := PageRank of the crawled pages F, at first the local ones
    repeat: fetch the k frontier pages that matter most (selection), add them and their links to F, compute f again
    from F to the answer: an estimator

(Davis & Dhillon, KDD 2006.) This object knows no clock and fetches nothing: whoever drives it, a live crawler or a
known graph (estimate.py), asks what is wanted, fetches, and tells what came of it.

    while budget:
        for page in estimation.wanted(k):
            estimation.fetched(page, links)         # or estimation.failed(page)
        estimation.round()
    estimation.rank()
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.graph.estimation import all_selections, make_estimator, make_selection, settings_of
from orienteer.graph.estimation.history import Errors, Round
from orienteer.graph.estimation.known_web import ASKED, BLOCKED, NO_PAGE, OPEN, KnownWeb, Surroundings
from orienteer.graph.estimation.outlook import Outlook, outlook, recent_change
from orienteer.graph.estimation.selection import best_open
from orienteer.graph.estimation.within import rank_within
from orienteer.graph.growing_graph import GrowingGraph

SELECT = "stochastic-complement"
METHOD = "frontier-return"

CountsAs = Literal["dangling", "unknown", "no page", "open"]
_STATES = {"unknown": BLOCKED, "no page": NO_PAGE, "open": OPEN}

_ROUND_TOLERANCE = 1e-6
_FINAL_TOLERANCE = 1e-8


class Estimation:
    """The estimate of a local domain's global rank, while pages around it are fetched.

    `web` holds the links of the local pages; the estimation adds to it what is fetched. Page ids are the web's: dense,
    in order of discovery. `local` is ids, in the order that `rank` will have, or a mask, then in increasing order.

    >>> from orienteer.graph.growing_graph import GrowingGraph
    >>> web = GrowingGraph()
    >>> web.add_batch([0, 1], [0, 2, 3], [1, 2, 2])
    >>> estimation = Estimation(web, local=[0, 1], method="paper")
    >>> estimation.wanted(5).tolist()
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
        self._around: Surroundings | None = None
        self._within: NDArray[np.float64] | None = None
        self._last: NDArray[np.float64] | None = None
        self.history: list[Round] = []
        self.round()

    @property
    def web(self) -> GrowingGraph:
        return self.known.web

    @property
    def local(self) -> NDArray[np.uint32]:
        return self.known.local

    @property
    def n_fetched(self) -> int:
        """Pages fetched around the domain so far."""
        return len(self._order)

    @property
    def order(self) -> NDArray[np.uint32]:
        """The pages fetched around the domain, in the order they were told of."""
        return np.array(self._order, np.uint32)

    @property
    def around(self) -> Surroundings:
        """The crawled pages and their frontier."""
        if self._around is None:
            self._around = self.known.surroundings()
        return self._around

    def wanted(self, k: int) -> NDArray[np.uint32]:
        """Up to k pages to fetch next, the most wanted first; none of them is handed out twice."""
        if k < 0:
            raise InputError(f"k is {k}; it must be 0 or more")
        if k == 0:
            return np.empty(0, np.uint32)
        around = self.around
        scores = self._selection.scores(around, self.rank_within(_ROUND_TOLERANCE), k, self.damping)
        pages = best_open(around, scores, k)
        self.known.mark(pages, ASKED)
        self._around = None
        return pages

    def fetched(self, page: int, links: ArrayLike) -> None:
        """`page` was fetched and links to `links`."""
        ids = np.asarray(links)
        self.fetched_batch([page], [0, len(ids)], ids)

    def fetched_batch(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> None:
        """Several at once: `targets[offsets[k]:offsets[k+1]]` are the links of `pages[k]`."""
        self._order += self.known.crawl(pages, offsets, targets).tolist()
        self._around = None

    def took_in(self, pages: ArrayLike) -> None:
        """These pages were fetched, and their links are in the web already."""
        self._order += self.known.took_in(pages).tolist()
        self._around = None

    def failed(self, page: int, counts_as: CountsAs = "dangling") -> None:
        """`page` was not fetched. It then counts as a page without links, like a 404 elsewhere in this project; or its
        links stay `unknown` for ever (robots, a host that does not answer); or it is `no page`, and links to it do not
        count; or it stays `open`, and will be wanted again."""
        if counts_as == "dangling":
            self.fetched(page, [])
            return
        if counts_as not in _STATES:
            raise unknown_name("way to count a page", counts_as, ["dangling", *_STATES])
        self.known.mark([page], _STATES[counts_as])
        self._around = None

    def rank_within(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """The PageRank of the crawled pages by the links between them, in the order of `around.pages`."""
        self._within = rank_within(self.around, self._within, tolerance, self.damping)
        return self._within

    def worth(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """What each crawled page is worth in the web beside the others, in the order of `around.pages`; sums to 1."""
        rank = self.rank_within(tolerance)
        at_home = float(rank[: len(self.local)].sum())
        rank = self.rank_within(tolerance * at_home / 2)
        return _normal(self._estimator.worth(self.around, rank, tolerance, self.damping))

    def rank(self, tolerance: float = _FINAL_TOLERANCE) -> NDArray[np.float64]:
        """The estimated global rank of the local pages, in the order of `local`; sums to 1."""
        return _normal(self.worth(tolerance)[: len(self.local)])

    def round(self, tolerance: float = _ROUND_TOLERANCE) -> Round:
        """Close a round: estimate again, and note in the history what it changed."""
        rank = self.rank(tolerance)
        around = self.around
        self.history.append(
            Round(
                n_fetched=self.n_fetched,
                n_frontier=len(around.frontier),
                change=None if self._last is None else float(np.abs(rank - self._last).sum()),
                leaving=around.leaving(self.rank_within(tolerance)),
                errors=None if self._truth is None else Errors.between(rank, self._truth),
            )
        )
        self._last = rank
        return self.history[-1]

    def has_settled(self, below: float) -> bool:
        """Whether the estimate changed by less than this (L1) while the last n/5 pages were fetched; see outlook.py."""
        change = recent_change(self.history, len(self.local))
        return change is not None and change < below

    def outlook(self) -> Outlook:
        """How far off the estimate may still be, by experience."""
        around = self.around
        inner = around.inside[: around.inside_offsets[around.n_local]] < around.n_local
        return outlook(self.history, around.n_local, self.method, bool(inner.any()))


def _checked_truth(truth: ArrayLike, n_local: int) -> NDArray[np.float64]:
    values = np.asarray(truth, np.float64)
    if values.shape != (n_local,):
        raise InputError(f"truth: {values.size:,} values for {n_local:,} local pages")
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise InputError("truth: a rank is never negative, NaN or zero on every page")
    return _normal(values)


def _normal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    normal: NDArray[np.float64] = values / values.sum()
    return normal
