"""When to walk, and when to crawl on: the cheapest way to the evidence that is missing, in fetches.

Crawling x pages on and then taking N walks is enough if the evidence of the walks so far, which grows with what is
crawled, and that of N new ones come to the goal. The mass outside falls as a power of the pages fetched, as it did
lately; the probes of the walks are pages of the crawl, too. Of all x the one with the fewest fetches is chosen. One
goes part of the way and looks again. Where a proof is nearer than a measurement, one crawls on. The constants are those
that served best over the graphs of `benchmarks survey`.
"""

from __future__ import annotations

from array import array
from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.survey.evidence import MOST, Evidence, kelly, largest_stake

# Scores as they often are, to begin with; together they count as so many walks.
_USUAL = np.array([0.15, 0.155, 0.16, 0.17, 0.18, 0.2, 0.22, 0.26, 0.32, 0.5])
_USUAL_COUNT = 6.0
_USUAL_PROBES, _USUAL_WALKS = 8, 5
_RECENT_SHARE, _MOST_RECENT = 0.6, 400  # walks that say how scores are now
_CAUTION = 0.03
_WALK_WORTH = 1.3  # pages that the policy would have to fetch for what the probes of a walk do to the mass outside
_PART = 0.3  # of the way, before one looks again
_LEAST_PAGES, _LEAST_SHARE = 8, 0.01  # and no less than this, in pages and of those fetched
_STAKE_AHEAD = 1.1  # thresholds will have grown by the end

_AHEAD = np.append(np.geomspace(3.0, 0.004, 24), 0.0)  # pages to crawl, in shares of what is fetched
_WALKS = np.append(0.0, np.geomspace(2.0, 4000.0, 26))
_SHRINKS = np.linspace(0.0, 1.0, 13)  # of the time outside, for which the evidence is computed


class Plan(NamedTuple):
    """Pages to crawl before the next look, 0 to walk now; with which stake; and how many walks seem to be missing."""

    n_pages: int
    stake: float
    n_walks: int


class Pace:
    """Looks at how the mass outside falls, and decides."""

    def __init__(self, highest: float = 1.0) -> None:
        """No score is above `highest`."""
        self._highest = highest
        self._pages = array("d")
        self._logs = array("d")

    def see(self, n_fetched: int, outside: float) -> None:
        """So much mass is outside after so many pages."""
        if not self._pages or n_fetched > self._pages[-1]:
            self._pages.append(n_fetched)
            self._logs.append(log(max(outside, 1e-300)))

    def power(self) -> float:
        """The power of the pages fetched by which the mass outside has fallen lately."""
        pages, logs = np.array(self._pages), np.array(self._logs)
        before = max(int(np.searchsorted(pages, 0.8 * pages[-1], side="right")) - 1, 0)
        if pages[before] == pages[-1]:
            return 1.0
        return max(float(logs[before] - logs[-1]) / log(pages[-1] / pages[before]), 1e-3)

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
        """What to do now; `recent` are the scores of walks that began not long ago."""
        scores = np.append(recent[-_MOST_RECENT:], _USUAL)
        weights = np.append(np.ones(len(scores) - len(_USUAL)), np.full(len(_USUAL), _USUAL_COUNT / len(_USUAL)))
        outside = float(np.average(scores, weights=weights)) * free
        each = (n_probes + _USUAL_PROBES) / (n_walks + _USUAL_WALKS)
        power = self.power()
        ahead = np.array([evidence.total(gains, outside * gone) for gone in _SHRINKS])
        best, cost = None, np.inf
        grows = _Growth(scores, weights)
        for x in _AHEAD.tolist():
            fetched = 1.0 + x + _WALK_WORTH * _WALKS / n_fetched
            end, middle = fetched**-power, (0.5 * (1.0 + x + fetched)) ** -power
            threshold = np.minimum((allowed + outside * (middle - end)) / (free * middle), 0.98)
            enough = np.interp(1.0 - end, _SHRINKS, ahead) + _WALKS * grows.at(threshold) >= evidence.goal
            if enough.any():
                k = int(np.argmax(enough))
                if x * n_fetched + each * _WALKS[k] < cost:
                    best, cost = (x, float(threshold[k]), int(np.ceil(_WALKS[k]))), x * n_fetched + each * _WALKS[k]
        # By then what is outside is little enough for a proof.
        to_proof = exp(min(max(log(free / allowed), 0.0) / power, 30.0)) - 1.0
        if best is None or to_proof * n_fetched <= cost:
            return Plan(_part_of(min(to_proof, 3.0), n_fetched), 0.0, 0)
        x, threshold_then, n_missing = best
        if x * n_fetched >= 2:
            return Plan(_part_of(x, n_fetched), 0.0, n_missing)
        threshold_then = min(max(allowed / free, threshold_then) * _STAKE_AHEAD, 0.98)
        share, _ = kelly(scores, weights, threshold_then, _CAUTION)
        return Plan(
            0, min(share / (1.0 - threshold_then), MOST * largest_stake(allowed / free, self._highest)), n_missing
        )


def _part_of(x: float, n_fetched: int) -> int:
    """The pages to crawl now, if there are x times as many as are fetched to go."""
    part = n_fetched * ((1.0 + x) ** _PART - 1.0)
    return max(int(min(x * n_fetched, max(_LEAST_PAGES, _LEAST_SHARE * n_fetched, part))), 1)


class _Growth:
    """The growth of the evidence a walk, by the threshold: computed at some, and in between interpolated."""

    def __init__(self, scores: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        self._thresholds = np.linspace(0.1, 0.98, 45)
        self._growths = [kelly(scores, weights, threshold, _CAUTION)[1] for threshold in self._thresholds.tolist()]

    def at(self, thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.interp(thresholds, self._thresholds, self._growths))


def recent_walks(starts: NDArray[np.int64], n_told: int) -> NDArray[np.bool_]:
    """Which walks began not long ago."""
    return starts >= _RECENT_SHARE * n_told
