"""The evidence that a growing set of fetched pages has reached a coverage.

Walk i begins when the pages K_i are known. Its score W_i has an unknown mean θ_i: the time that lives spend outside
K_i. With stakes λ_i that are fixed when the walk begins,

    M = Π (1 + λ_i (θ_i - W_i))

is a martingale, so the probability that it ever reaches 1/δ is at most δ (Ville's inequality), at any time of
inspection and whatever is crawled in between. That W_i has the mean θ_i requires responses that do not depend on
whether a walk requests the page. Suppose that the coverage of the pages fetched by some time T is below the target.
Then θ_i is at least

    m_i(T) = ((1 - c)(1 - d D_i) - Q_i - blocked_i + (1 - d) visits_T(K_T - K_i)) / free_i

because the surfer spends at least the time given by the known links on the pages fetched between K_i and K_T. So the
product with m_i(T) instead of θ_i is at most M. Stopping rule: when it reaches 1/δ, the target is reached, and this is
wrong with a probability of at most δ. As the crawl continues, m_i(T) grows, so earlier walks gain in evidence.
"""

from __future__ import annotations

from array import array
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.kernel import kernel

MAX_STAKE_SHARE = 0.97  # of the largest stake with which no score makes the product 0
# Typical scores as a prior; together they have the weight of this many walks.
_PRIOR_SCORES = np.array([0.15, 0.155, 0.16, 0.17, 0.18, 0.2, 0.22, 0.26, 0.32, 0.5])
_PRIOR_WEIGHT = 6.0
_PRIOR_PROBES, _PRIOR_WALKS = 8, 5
_RECENT_SHARE, _MAX_RECENT = 0.6, 400  # walks from which current scores are estimated
_CAUTION = 0.03
_WALK_WORTH = 1.3  # the probes of a walk reduce the mass outside as much as this many pages chosen by the policy
_STEP_SHARE = 0.3  # of the way, before the next plan
_MIN_PAGES, _MIN_SHARE = 8, 0.01  # the least step, in pages and as a share of those fetched
_STAKE_MARGIN = 1.1  # thresholds grow until the walks count
_MAX_POWER = 30.0  # powers of the pages ahead must not become 0
_PAGES_AHEAD = np.append(np.geomspace(3.0, 0.004, 24), 0.0)  # pages to crawl, in shares of what is fetched
_WALKS = np.append(0.0, np.geomspace(2.0, 4000.0, 26))
_SHRINKS = np.linspace(0.0, 1.0, 13)  # of the time outside, for which the evidence is computed


class Evidence:
    """The evidence of walks for one target, in natural logarithms; `error` is the δ of the claim."""

    def __init__(self, error: float) -> None:
        self.goal = -log(error)
        self.n = 0  # walks with a score
        self.scores: NDArray[np.float64] = np.zeros(64)
        self.allowed: NDArray[np.float64] = np.zeros(64)  # (1 - c)(1 - d D) - Q - blocked, of each walk
        self.free: NDArray[np.float64] = np.zeros(64)
        self.stakes: NDArray[np.float64] = np.zeros(64)

    def stake(self, walk: int, allowed: float, free: float, stake: float) -> None:
        """Set the parameters of a walk when it begins."""
        for name in ("scores", "allowed", "free", "stakes"):
            setattr(self, name, grown(getattr(self, name), walk + 1))
        self.allowed[walk], self.free[walk], self.stakes[walk] = allowed, free, stake

    def add_scores(self, scores: NDArray[np.float64]) -> None:
        """Add the scores of the next walks, in the order in which they began."""
        self.scores[self.n : self.n + len(scores)] = scores
        self.n += len(scores)

    def total(self, gains: NDArray[np.float64], extra_gain: float = 0.0) -> float:
        """Return the evidence of all walks so far; the arguments are those of `peak`."""
        return float(_peak_and_total(self.scores, self.allowed, self.free, self.stakes, gains, extra_gain, self.n)[1])

    def peak(self, gains: NDArray[np.float64], extra_gain: float = 0.0) -> float:
        """Return the largest evidence of the first n walks, over all n.

        `gains` is (1 - d) visits_T(K_T - K_i) of each walk, and `extra_gain` is added to the gains of all.
        """
        return float(_peak_and_total(self.scores, self.allowed, self.free, self.stakes, gains, extra_gain, self.n)[0])


def largest_stake(threshold: float, highest: float) -> float:
    """Return the stake up to which no score, at most `highest`, makes the product of the evidence 0."""
    return 1.0 / (highest - min(threshold, MAX_STAKE_SHARE))


@kernel
def _peak_and_total(scores: Any, allowed: Any, free: Any, stakes: Any, gains: Any, extra_gain: float, n: int) -> Any:
    """Return the largest partial sum over the walks in order, and the sum over all."""
    total, peak = 0.0, 0.0
    for k in range(n):
        if stakes[k] == 0.0:
            continue
        factor = 1.0 + stakes[k] * ((allowed[k] + gains[k] + extra_gain) / free[k] - scores[k])
        total += log(max(factor, 1e-12))
        peak = max(peak, total)
    return peak, total


@kernel
def kelly(scores: Any, weights: Any, threshold: float, caution: float) -> Any:
    """Return the best constant stake on these scores, as a share of the largest stake, and its log growth per walk.

    A further score of 1 with the weight `caution` makes the stake conservative.
    """
    if threshold >= 1.0:
        return MAX_STAKE_SHARE, -log(1.0 - MAX_STAKE_SHARE)
    edge, total = 0.0, 0.0
    for k in range(len(scores)):
        edge += weights[k] * (threshold - scores[k]) / (1.0 - threshold)
        total += weights[k]
    if edge <= caution:
        return 0.0, 0.0
    low, high = 0.0, MAX_STAKE_SHARE
    for _ in range(20):
        share, slope = (low + high) / 2, 0.0
        for k in range(len(scores)):
            x = (threshold - scores[k]) / (1.0 - threshold)
            slope += weights[k] * x / (1.0 + share * x)
        if slope > caution / (1.0 - share):
            low = share
        else:
            high = share
    growth = caution * log(1.0 - low)
    for k in range(len(scores)):
        growth += weights[k] * log(1.0 + low * (threshold - scores[k]) / (1.0 - threshold))
    return low, max(growth / (total + caution), 0.0)


class Plan(NamedTuple):
    """Pages to crawl before the next plan, 0 to walk now; the stake; and the estimated number of missing walks."""

    n_pages: int
    stake: float
    n_walks: int


class Pace:
    """Observes how the mass outside falls, and plans.

    Crawling x more pages and then taking N walks suffices if the evidence of the walks so far, which grows with the
    crawl, plus that of N new walks reaches the goal. The model: the mass outside falls as a power of the pages fetched,
    with the recent exponent; the probes of walks are pages of the crawl, too. The plan takes the x with the fewest
    fetches, goes a part of the way and plans again. If a proof is nearer than a measurement, it only crawls. The
    constants were tuned on the graphs of `benchmarks survey`; they affect the number of fetches, not the validity of
    the result.
    """

    def __init__(self, highest: float = 1.0, counted: float = 1.0) -> None:
        """Create a pace; `highest` bounds the scores, and `counted` is the share of walks that are not decoys."""
        self._highest = highest
        self._counted = counted
        self._pages = array("d")
        self._logs = array("d")

    def observe(self, n_fetched: int, outside: float) -> None:
        """Record the mass outside after `n_fetched` pages."""
        if not self._pages or n_fetched > self._pages[-1]:
            self._pages.append(n_fetched)
            self._logs.append(log(max(outside, 1e-300)))

    def power(self) -> float:
        """Return the recent exponent with which the mass outside falls as a power of the pages fetched, bounded."""
        pages, logs = np.array(self._pages), np.array(self._logs)
        before = max(int(np.searchsorted(pages, 0.8 * pages[-1], side="right")) - 1, 0)
        if pages[before] == pages[-1]:
            return 1.0
        power = float(logs[before] - logs[-1]) / log(pages[-1] / pages[before])
        return min(max(power, 1e-3), _MAX_POWER)

    def plan(
        self,
        n_fetched: int,
        allowed: float,
        free: float,
        evidence: Evidence,
        gains: NDArray[np.float64],
        recent: NDArray[np.float64],
        n_walks: int,
        n_probes: int,
    ) -> Plan:
        """Return the plan; `recent` are the scores of the walks that began recently."""
        scores = np.append(recent[-_MAX_RECENT:], _PRIOR_SCORES)
        weights = np.append(
            np.ones(len(scores) - len(_PRIOR_SCORES)), np.full(len(_PRIOR_SCORES), _PRIOR_WEIGHT / len(_PRIOR_SCORES))
        )
        outside = float(np.average(scores, weights=weights)) * free
        each = (n_probes + _PRIOR_PROBES) / (n_walks + _PRIOR_WALKS) / self._counted
        power = self.power()
        ahead = np.array([evidence.total(gains, outside * gone) for gone in _SHRINKS])
        best, cost = None, np.inf
        grows = _Growth(scores, weights)
        for x in _PAGES_AHEAD.tolist():
            fetched = 1.0 + x + _WALK_WORTH * _WALKS / (self._counted * n_fetched)
            end, middle = fetched**-power, (0.5 * (1.0 + x + fetched)) ** -power
            threshold = np.minimum((allowed + outside * (middle - end)) / (free * middle), 0.98)
            enough = np.interp(1.0 - end, _SHRINKS, ahead) + _WALKS * grows.at(threshold) >= evidence.goal
            if enough.any():
                k = int(np.argmax(enough))
                if x * n_fetched + each * _WALKS[k] < cost:
                    best, cost = (x, float(threshold[k]), int(np.ceil(_WALKS[k]))), x * n_fetched + each * _WALKS[k]
        # Pages to crawl, as a share of those fetched, until the mass outside is small enough for a proof.
        to_proof = exp(min(max(log(free / allowed), 0.0) / power, 30.0)) - 1.0
        if best is None or to_proof * n_fetched <= cost:
            return Plan(_step(min(to_proof, 3.0), n_fetched), 0.0, 0)
        x, threshold_then, n_missing = best
        if x * n_fetched >= 2:
            return Plan(_step(x, n_fetched), 0.0, n_missing)
        threshold_then = min(max(allowed / free, threshold_then) * _STAKE_MARGIN, 0.98)
        share, _ = kelly(scores, weights, threshold_then, _CAUTION)
        return Plan(
            0,
            min(share / (1.0 - threshold_then), MAX_STAKE_SHARE * largest_stake(allowed / free, self._highest)),
            n_missing,
        )


def _step(x: float, n_fetched: int) -> int:
    """Return the pages to crawl before the next plan, if x times the pages fetched remain."""
    step = n_fetched * ((1.0 + x) ** _STEP_SHARE - 1.0)
    return max(int(min(x * n_fetched, max(_MIN_PAGES, _MIN_SHARE * n_fetched, step))), 1)


class _Growth:
    """The growth of the evidence per walk as a function of the threshold, interpolated from a grid."""

    def __init__(self, scores: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        self._thresholds = np.linspace(0.1, 0.98, 45)
        self._growths = [kelly(scores, weights, threshold, _CAUTION)[1] for threshold in self._thresholds.tolist()]

    def at(self, thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.interp(thresholds, self._thresholds, self._growths))


def recent_walks(starts: NDArray[np.int64], n_fetched: int) -> NDArray[np.bool_]:
    """Return which walks began recently; `starts` is the number of pages fetched when each began."""
    return starts >= _RECENT_SHARE * n_fetched
