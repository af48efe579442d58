"""Estimate the remaining time of a crawl. Time is an argument.

An estimate uses the last fifth of the elapsed time and the fifth before it:

    a coverage      The missing share m shrinks like dm/dt = -c m^(1 - a), with a between 0 (exponentially) and 1
                    (at a constant pace, as in a densely linked site); the rates of the two periods determine a.
    measured        The walks are conclusive when the true coverage is well above the goal: when the truly missing share
                    is about 0.6 of the allowed one. The missing share is estimated from the walks, with a
                    prior of a fifth of what is not proved; there is no estimate before the walks outweigh it. Past
                    that point the time follows from the gain of evidence.
    everything      The time to fetch the waiting pages at the present rate, or to empty the longest queue of a host,
                    whichever is longer. While the known pages grow faster than the pages done, it is multiplied by the
                    square root of the expected growth. It is an upper bound for all goals.
    a limit         The time to fetch the pages that it still allows, at the present rate. It is an upper bound of the
                    other estimates, and an estimate of its own only if at least that many pages wait: the site may
                    have fewer pages than the limit.

There is no estimate before enough pages are done, nor while the estimates made in the last sixth of the time disagree
by more than a factor of two in the remaining time, of 1.5 where it is measured. Simulated crawls with politeness
(`python -m benchmarks time_left`, two minutes) count how often an estimate is within a factor of two of the truth, and
at how many moments there is one; RESULTS has the figures, also for held-out webs.

A crawl of several hosts is fast while all of them have pages waiting, and slow when only the largest remains. The total
rate of all hosts cannot predict that, so `HostPace` estimates how long the longest queue of a host will take.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.crawl.goal import Goal

_RATE_OVER_S = 20.0
_RECENT = 0.2  # of the elapsed time
_MIN_ELAPSED_S = 10.0  # before any estimate
_MIN_PAGES = 20
_MIN_SPACING = 1.01  # the least factor between the elapsed times of stored points
_CONCLUSIVE_SHARE = 0.62  # of the allowed missing share: with no more missing, the walks are conclusive
_PRIOR_MISSING_SHARE = 0.2  # of what is not proved
_PRIOR_WALKS = 10  # the weight of the prior, in walks
_RECENT_PACE = 0.3  # of the time since the start
_PACE_SPACING = 1.1  # of stored moments, as a factor of that time
_MIN_HOST_PAGES = 3  # of a host, before its own pace is used
_MAX_GROWTH = 4.0  # of the waiting pages, by those that they will lead to
_AGREEMENT_SHARE = 0.18  # of the elapsed time: estimates made in this period must agree
_AGREEMENT_MIN_S = 5.0  # the least length of that period
_AGREEMENT_FACTOR = 2.0  # between the longest and the shortest remaining time
_MEASURED_AGREEMENT_FACTOR = 1.5  # the same where walks decide, whose end depends on chance
_N_COMPARED = 12  # estimates of that period


class Point(NamedTuple):
    """The progress of a crawl at one time.

    `lower` is the proved coverage, `queue_s` the time for the longest queue of a host, `measured` the coverage by
    `n_walks` random walks, `evidence` their progress.
    """

    time: float
    n_done: int
    lower: float
    n_frontier: int
    queue_s: float = 0.0
    n_walks: int = 0
    measured: float = 0.0
    evidence: float = 0.0


class TimeForecast:
    """The fetch rate of a crawl, and its estimated time to the end."""

    def __init__(self) -> None:
        self._recent: deque[Point] = deque()
        self._history: list[Point] = []  # thinned, of the whole run

    def add(self, point: Point) -> None:
        self._recent.append(point)
        while len(self._recent) > 2 and self._recent[1].time <= point.time - _RATE_OVER_S:
            self._recent.popleft()  # at least two points remain, for a rate
        start = self._history[0].time if self._history else point.time
        if not self._history or point.time - start >= _MIN_SPACING * (self._history[-1].time - start):
            self._history.append(point)

    @property
    def pages_per_s(self) -> float:
        """The rate of the last seconds."""
        first, last = self._recent[0], self._recent[-1]
        return (last.n_done - first.n_done) / (last.time - first.time) if last.time > first.time else 0.0

    def eta_s(self, goal: Goal) -> float | None:
        """Return the seconds to the end; None while there are no estimates, or they disagree."""
        now, start = self._recent[-1], self._history[0].time
        likely = self._estimate(now, goal)
        if likely is None or self.pages_per_s <= 0:
            return None
        since = now.time - max(_AGREEMENT_SHARE * (now.time - start), _AGREEMENT_MIN_S)
        ends = [likely]  # the estimated ends, in seconds from now
        for point in self._compared(since, now.time):
            eta_s = self._estimate(point, goal)
            if eta_s is None:
                return None
            ends.append(point.time + eta_s - now.time)
        factor = _AGREEMENT_FACTOR if goal.until is None or goal.confidence is None else _MEASURED_AGREEMENT_FACTOR
        agree = since >= start and 0 <= max(ends) <= factor * min(ends)
        return likely if agree else None

    def _compared(self, since: float, until: float) -> list[Point]:
        """Return some of the points between these times, evenly spaced."""
        first = bisect_left(self._history, since, key=lambda point: point.time)
        end = bisect_right(self._history, until, key=lambda point: point.time)
        step = max((end - first) / _N_COMPARED, 1.0)
        return [self._history[first + int(k * step)] for k in range(min(_N_COMPARED, end - first))]

    def _estimate(self, now: Point, goal: Goal) -> float | None:
        """Return the seconds from this point to the end, from the points up to it."""
        first = self._history[0]
        elapsed = now.time - first.time
        if elapsed < _MIN_ELAPSED_S or now.n_done - first.n_done < _MIN_PAGES:
            return None
        recent_s = _RECENT * elapsed
        recent = self._before(now.time - recent_s), now
        estimate = everything = _everything(*recent)
        if goal.until is not None:
            earlier = self._before(now.time - 2 * recent_s)
            covered = (_covered if goal.confidence is None else _measured)(earlier, *recent, goal.until)
            estimate = None if covered is None else _least(covered, everything)
        if goal.budget is None:
            return estimate
        n_allowed = max(goal.budget - now.n_done, 0)
        is_certain = now.n_frontier >= n_allowed
        return _least(estimate, _at_pace(n_allowed, *recent)) if is_certain or estimate is not None else None

    def _before(self, time: float) -> Point:
        """Return the last stored point before this time, or the first one."""
        k = bisect_left(self._history, time, key=lambda point: point.time)
        return self._history[max(min(k, len(self._history) - 1) - 1, 0)]


def _covered(earlier: Point, before: Point, now: Point, until: float) -> float | None:
    """Return the seconds until this coverage is proved; None while it does not grow."""
    if now.lower >= until:
        return 0.0
    missing = [max(1.0 - point.lower, 1e-12) for point in (earlier, before, now)]
    target, recent_s = max(1.0 - until, 1e-12), now.time - before.time
    if missing[2] >= missing[1]:
        return None
    power = _power(missing, before.time - earlier.time, recent_s)
    if power < 1e-3:
        return math.log(missing[2] / target) * recent_s / math.log(missing[1] / missing[2])
    shrunk = missing[1] ** power - missing[2] ** power
    return float((missing[2] ** power - target**power) * recent_s / shrunk)


def _power(missing: list[float], earlier_s: float, recent_s: float) -> float:
    """Return the exponent a for which missing^a shrinks at a constant pace, from 0 (then its logarithm does) to 1.

    `missing` has the shares at the start, the middle and the end of two successive periods.
    """
    gains = missing[0] - missing[1], missing[1] - missing[2]
    if min(*gains, earlier_s, recent_s) <= 0:
        return 0.0
    faster = math.log(gains[1] / recent_s) - math.log(gains[0] / earlier_s)
    less = 0.5 * (math.log(missing[2]) - math.log(missing[0]))  # between the midpoints of the periods
    return min(max(1.0 - faster / less, 0.0), 1.0)


def _measured(earlier: Point, before: Point, now: Point, until: float) -> float | None:
    """Return the seconds until walks measure this coverage with confidence, or it is proved."""
    proved_s = _covered(earlier, before, now, until)
    if proved_s is None or proved_s == 0:
        return proved_s
    if now.n_walks < _PRIOR_WALKS:
        return None
    unproved = 1.0 - now.lower
    n_missing = now.n_walks * (1.0 - now.measured) / unproved
    missing_share = max((n_missing + _PRIOR_WALKS * _PRIOR_MISSING_SHARE) / (now.n_walks + _PRIOR_WALKS), 1e-3)
    measured_s = _covered(earlier, before, now, 1.0 - min(_CONCLUSIVE_SHARE * (1.0 - until) / missing_share, 0.99))
    if not measured_s:
        gained = now.evidence - before.evidence
        measured_s = (1.0 - now.evidence) * (now.time - before.time) / gained if gained > 0 else proved_s / 2
    return min(proved_s, measured_s)


def _everything(before: Point, now: Point) -> float | None:
    """Return the seconds until nothing is left to fetch."""
    n_done, n_found = now.n_done - before.n_done, now.n_done + now.n_frontier - before.n_done - before.n_frontier
    waiting_s = _at_pace(now.n_frontier, before, now)
    if waiting_s is None:
        return None
    growth = n_done / (n_done - n_found) if n_done > n_found else _MAX_GROWTH
    return max(waiting_s, now.queue_s) * math.sqrt(min(max(growth, 1.0), _MAX_GROWTH))


def _at_pace(n_pages: int, before: Point, now: Point) -> float | None:
    """Return the seconds for `n_pages` at the pace between two points; None if no page was done."""
    n_done = now.n_done - before.n_done
    return n_pages * (now.time - before.time) / n_done if n_done > 0 else None


def _least(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)


class _Moment(NamedTuple):
    time: float
    n_done: NDArray[np.int64]


class HostPace:
    """The recent pace of each host."""

    def __init__(self) -> None:
        self._moments: list[_Moment] = []
        self._start: float | None = None

    def queue_s(self, now: float, n_done: NDArray[np.int64], n_waiting: NDArray[np.int64]) -> float:
        """Return the seconds until the last queue is empty, if nothing is added; 0 while no pace is known.

        Both arguments are counts by slot (a host, or several that share one). A host whose own pace is unknown is
        assumed to have the median pace.

        >>> pace = HostPace()
        >>> pace.queue_s(0.0, np.array([0, 0]), np.array([100, 100]))
        0.0
        >>> pace.queue_s(10.0, np.array([20, 5]), np.array([80, 95]))
        190.0
        """
        n_hosts = max(len(n_done), len(n_waiting))
        done, waiting = grown(n_done, n_hosts)[:n_hosts], grown(n_waiting, n_hosts)[:n_hosts]
        self._start = now if self._start is None else self._start
        elapsed = now - self._start
        before = self._before(self._start + (1 - _RECENT_PACE) * elapsed)
        if not self._moments or elapsed >= _PACE_SPACING * (self._moments[-1].time - self._start):
            self._moments.append(_Moment(now, done.copy()))
        if before is None or now <= before.time:
            return 0.0
        n_recent = done - grown(before.n_done, n_hosts)[:n_hosts]
        is_known = n_recent >= _MIN_HOST_PAGES
        if not is_known.any():
            return 0.0
        seconds = (now - before.time) / np.where(is_known, n_recent, np.median(n_recent[is_known]))
        return float((waiting * seconds).max())

    def _before(self, time: float) -> _Moment | None:
        """Return the last moment that is not after `time`; drop the older ones."""
        while len(self._moments) > 1 and self._moments[1].time <= time:
            del self._moments[0]
        return self._moments[0] if self._moments else None
