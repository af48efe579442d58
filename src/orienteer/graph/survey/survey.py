"""The survey of a fixed set of pages: its coverage, measured by random walks; an audit of any crawl.

Lives begin where the surfer leaves the set. They are drawn independently, so their scores bound the coverage at all
times simultaneously (see `Bounds`), if a page's response does not depend on the time, the order or the purpose of its
request. All requests of an audit are for walks, so there are no decoys. A page fetched for one life is free for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.link_graph import LinkGraph, expect_graph
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.walking import (
    BLOCKED_PAGE,
    DANGLING,
    NOT_RECORDED,
    OUTSIDE,
    UNKNOWN,
    Edge,
    Lives,
    Rows,
    draw_entries,
    highest_score,
    random_level,
)
from orienteer.graph.trust import Trust, trust_vector
from orienteer.kernel import kernel
from orienteer.pages.unknown import UNKNOWN_COUNT

DEFAULT_HALF_WIDTH = 0.005
_MIN_HALF_WIDTH = 0.001  # the default goal with a budget
_LIVES = 16  # that begin together
_MAX_WALKS = 30_000  # a limit for surveys that do not converge
_SETTLED = 1e-9
_STAKES = np.array([0.03, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
_N_POINTS = 1000
_TINY = 1e-12
_FACTORS = 16


class FixedSurvey:
    """A survey of the fetched pages of a Coverage; the outcomes of other pages are recorded as they become known."""

    def __init__(self, coverage: Coverage, links: LinkRows, seed: str, confidence: float = 0.999) -> None:
        check_confidence(confidence)
        self.confidence = confidence
        self.seed = seed
        self._coverage = coverage
        coverage.settle(links, _SETTLED)
        self.proved: Certificate = coverage.certificate()
        self._edge = Edge.of(coverage)
        self.lives = Lives(seed, coverage.damping)
        self._when = np.where(coverage.fetched, 1, NOT_RECORDED).astype(np.int32)
        self._when[coverage.blocked] = BLOCKED_PAGE
        self.n_probes = 0  # recorded pages that lives have needed
        self.n_counted = 0  # lives whose scores are in the bounds
        self._bounds = self.bounds_of_share(self.proved.lower, 1.0, 1.0 - confidence)

    @property
    def has_lives(self) -> bool:
        """Whether the surfer ever leaves the set for pages that can be fetched."""
        return self._edge.free > _SETTLED

    def bounds_of_share(self, lowest: float, highest: float, error: float) -> Bounds:
        """Return bounds of 1 - s, where s is the share of the surfer's time that lives spend outside."""
        edge, most = self._edge, highest_score(self._coverage.damping)
        worst = edge.stuck + edge.hidden + edge.unsettled
        return Bounds(lowest, highest, edge.total, worst, max(edge.free, 1e-300), error, most)

    def bounds_of_group(self, error: float) -> Bounds:
        """Return bounds of 1 - s, where s is the share of the time on a group of pages outside, by known links.

        Mass on blocked pages and behind unknown links is on unknown pages, and belongs to no group.
        """
        edge, most = self._edge, highest_score(self._coverage.damping)
        lowest = max(1.0 - (edge.free + edge.unsettled) / edge.total, 0.0)
        return Bounds(lowest, 1.0, edge.total, edge.unsettled, max(edge.free, 1e-300), error, most)

    def share_of(self, outside: float, dangling: float) -> float:
        """Return the share of the surfer's time that corresponds to these mean scores."""
        edge = self._edge
        return edge.free * outside / (edge.total - edge.free * dangling)

    def begin(self, n_lives: int, links: LinkRows) -> list[int]:
        """Begin `n_lives` lives and return the pages that lives need now."""
        first = self.lives.n_begun
        levels = np.array([random_level(self.seed, life) for life in range(first, first + n_lives)])
        return self.begin_at(draw_entries(self._coverage, self._edge.free, levels).tolist(), links)

    def begin_at(self, entries: Iterable[int], links: LinkRows) -> list[int]:
        """Begin lives at these entry pages and return the pages that lives need now."""
        for entry in entries:
            self.lives.begin(1, entry, links, self._rows())
        return self.needed()

    def copy_page_state(self, page: int, coverage: Coverage) -> None:
        """Copy from another Coverage whether a page is an alias and how many of its links are unknown."""
        self._grow_to(page + 1)
        self._coverage.copy_page_states(np.array([page]), coverage)

    def record_page(self, page: int, is_fetched: bool, links: LinkRows) -> list[int]:
        """Record the outcome of a page and return the pages that lives need now."""
        self._grow_to(max(page + 1, links.n_pages))
        self.n_probes += self.lives.needs(page)
        self._when[page] = 2 if is_fetched else BLOCKED_PAGE
        self.lives.resume(page, links, self._rows())
        return self.needed()

    def measured(self, n_lives: int | None = None) -> Measured:
        """Return the result of the first `n_lives` lives; by default, of all lives before the first unfinished one."""
        end = self.lives.n_scored if n_lives is None else min(n_lives, self.lives.n_scored)
        if end > self.n_counted:
            self._bounds.add_scores(self.lives.scores[self.n_counted : end])
            self.n_counted = end
        lower, upper = max(self._bounds.lower, self.proved.lower), self._bounds.upper
        estimate = min(max(self._estimate(), lower), upper)
        return Measured(lower, upper, estimate, self.confidence, self.n_counted, self.n_probes)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores of the lives that count."""
        return self.lives.scores[: self.n_counted]

    @property
    def least_half_width(self) -> float:
        """The estimated half width after infinitely many lives, due to blocked pages and unknown links."""
        edge, scores = self._edge, self.scores
        _, unknown, dangling = scores.mean(axis=0) if len(scores) else (0.0, 0.0, 0.0)
        fixed = edge.stuck + edge.hidden + edge.unsettled
        return float(fixed + edge.free * unknown) / (edge.total - edge.free * dangling) / 2

    def _estimate(self) -> float:
        edge, scores = self._edge, self.scores
        outside, unknown, dangling = edge.free * scores.mean(axis=0) if len(scores) else (edge.free / 2, 0.0, 0.0)
        total = edge.total - dangling
        return 1.0 - (outside + (unknown + edge.stuck + edge.hidden + edge.unsettled) / 2) / total

    def _grow_to(self, n_pages: int) -> None:
        self._when = grown(self._when, n_pages)
        self._coverage.grow_to(len(self._when))

    def _rows(self) -> Rows:
        return Rows.of(self._when, self._coverage)

    def needed(self) -> list[int]:
        """Return the pages that lives wait for."""
        return [page for page, _ in self.lives.needed()]


def survey(
    graph: LinkGraph,
    fetched: ArrayLike,
    trust: Trust = None,
    confidence: float = 0.999,
    half_width: float | None = None,
    budget: int | None = None,
    rng: int | np.random.Generator | None = None,
    *,
    damping: float = 0.85,
    blocked: ArrayLike = (),
    aliases: ArrayLike = (),
    n_unknown: ArrayLike | None = None,
) -> Measured:
    """Measure the coverage of the `fetched` pages (ids or a mask) by random walks into the rest of the graph.

    It ends when the interval is at most `half_width` to each side (by default 0.005, plus the mass on blocked pages and
    behind unknown links), or when `budget` pages outside have been fetched. The result holds with this `confidence`
    wherever it ends. `rng` is a NumPy generator or a seed for one; by default the system's randomness is used.
    `blocked`, `aliases` and `n_unknown` are those of `certificate`; aliases may be among the unfetched pages.

    >>> from orienteer.graph import shapes
    >>> survey(shapes.clique(50), fetched=range(49), trust=[0], rng=1).lower > 0.95
    True
    """
    expect_graph(graph)
    _check(half_width, budget)
    links = LinkRows.of(graph)
    coverage = Coverage(trust_vector(graph.n_pages, trust), damping)
    coverage.set_given(graph, fetched, blocked, aliases, n_unknown)
    _check_aliases(graph, coverage)
    seed = np.random.default_rng(rng).bytes(16).hex()
    found = FixedSurvey(coverage, links, seed, confidence)
    least = DEFAULT_HALF_WIDTH if budget is None else _MIN_HALF_WIDTH
    goal = least if half_width is None else half_width
    return _walk(found, links, coverage.blocked, goal, budget)


def _walk(
    found: FixedSurvey, links: LinkRows, blocked: NDArray[np.bool_], half_width: float, budget: int | None
) -> Measured:
    """Walk on a graph, where every page is available, until the goal is met."""
    measured = found.measured()
    while found.has_lives and measured.half_width - found.least_half_width > half_width:
        if found.lives.n_begun >= _MAX_WALKS:
            break
        needed = found.begin(_LIVES, links)
        while needed:
            if budget is not None and found.n_probes >= budget:
                return found.measured()
            needed = found.record_page(needed[0], not blocked[needed[0]], links)
        measured = found.measured()
    return measured


def _check(half_width: float | None, budget: int | None) -> None:
    if half_width is not None and not 0 < half_width < 0.5:
        raise InputError(f"half_width is {half_width}; it must lie between 0 and 0.5, such as 0.005")
    if budget is not None and budget < 0:
        raise InputError(f"budget is {budget}; it must be a number of pages")


def _check_aliases(graph: LinkGraph, coverage: Coverage) -> None:
    """Raise an InputError unless each alias leads, directly or by other aliases, to one page or to an unknown one."""
    aliases = np.flatnonzero(coverage.alias & (coverage.n_unknown != UNKNOWN_COUNT))
    n_links = graph.out_degrees()[aliases]
    if (n_links != 1).any():
        page = int(aliases[n_links != 1][0])
        raise InputError(f"aliases: page {page} has {len(graph.links(page))} links; another name of a page has one")
    leads_to = np.arange(graph.n_pages)
    leads_to[aliases] = graph.targets[graph.offsets[aliases]]
    for _ in range(int(graph.n_pages).bit_length()):
        leads_to = leads_to[leads_to]
    circular = aliases[np.isin(leads_to[aliases], aliases)]
    if len(circular):
        raise InputError(f"aliases: page {int(circular[0])} leads to no page, only from one alias to the next")


class Bounds:
    """Bounds on a share of the surfer's time, with 1 - share = c on a grid between two proved bounds.

    A share s of the time is outside if and only if the mean score of lives is (s total - fixed) / free, where a score
    is outside + unknown + s dangling; the upper bound counts unknown as 0.

    This is a betting confidence sequence for a mean of bounded scores: the bounds hold at all times simultaneously. For
    every coverage c on a grid, gamblers bet against "the coverage is below c" and against "above c". A gambler starts
    with capital 1 and stakes a fixed share of the largest stake that cannot lose everything; several shares are mixed.
    While the statement is true, the capital is a supermartingale, and the probability that it ever reaches 1/δ is at
    most δ (Ville; Waudby-Smith & Ramdas 2024). Capitals are monotone in c, so the values ruled out on each side form an
    interval.
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
