"""How long a crawl will take, as far as anybody can tell. Time is an argument.

A budget is a matter of counting. A coverage is not: each page adds less than the one before. So there are two
estimates. At the rate of the last seconds the proved coverage would rise in a straight line: it takes longer than that.
With the logarithm of the pages, as curves of coverage mostly do, or until the frontier is empty if it is getting
smaller: it rarely takes longer than that. Nothing is said until there is something to judge by.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

from orienteer.crawl.goal import Goal

_RATE_OVER_S = 20.0
_LOOK_FIRST_S = 10.0  # before any estimate
_MIN_PAGES = 20
_SHRINKING = 0.95  # a frontier below this share of what it was at its largest
_THINNED = 1.03  # points of the curve that are kept lie this far apart
_LONGEST = 700.0  # exp of more is no number


class Left(NamedTuple):
    """Seconds to the goal: at least, and at most by what is known now. None: nobody can tell."""

    least_s: float | None = None
    most_s: float | None = None


class Point(NamedTuple):
    """A moment of a crawl: pages done, coverage proved, pages in the frontier."""

    time: float
    n_done: int
    lower: float
    n_frontier: int


class Outlook:
    """Watches a crawl, and knows its rate and how long it will take."""

    def __init__(self) -> None:
        self._lately: deque[Point] = deque()
        self._curve: list[Point] = []  # of the whole run, thinned
        self._largest_frontier = 0

    def see(self, point: Point) -> None:
        self._lately.append(point)
        while self._lately[0].time < point.time - _RATE_OVER_S:
            self._lately.popleft()
        if not self._curve or point.n_done > _THINNED * self._curve[-1].n_done:
            self._curve.append(point)
        self._largest_frontier = max(self._largest_frontier, point.n_frontier)

    @property
    def pages_per_s(self) -> float:
        """Lately."""
        first, last = self._lately[0], self._lately[-1]
        return (last.n_done - first.n_done) / (last.time - first.time) if last.time > first.time else 0.0

    def left(self, goal: Goal) -> Left:
        """How long it will take to the goal."""
        rate, now = self.pages_per_s, self._lately[-1]
        if rate <= 0:
            return Left()
        is_early = now.time - self._curve[0].time < _LOOK_FIRST_S or now.n_done - self._curve[0].n_done < _MIN_PAGES
        rest = None if is_early else self._frontier_s(rate)
        if goal.until is not None:
            found = Left() if is_early else self._coverage(goal.until, rate, rest)
        else:
            found = Left(rest, rest)
        if goal.budget is None:
            return found
        budget = max(goal.budget - now.n_done, 0) / rate
        return Left(_least(found.least_s, budget), _least(found.most_s, budget))

    def _coverage(self, until: float, rate: float, rest: float | None) -> Left:
        missing = until - self._lately[-1].lower
        if missing <= 0:
            return Left(0.0, 0.0)
        first, last = self._lately[0], self._lately[-1]
        rise = (last.lower - first.lower) / (last.time - first.time)
        straight = missing / rise if rise > 0 else None
        before = max((point for point in self._curve if 2 * point.n_done <= last.n_done), default=self._curve[0])
        logarithm = math.log(last.n_done / max(before.n_done, 1))
        slope = (last.lower - before.lower) / logarithm if logarithm > 0 else 0.0
        exponent = missing / slope if slope > 0 else math.inf
        curved = last.n_done * math.expm1(exponent) / rate if exponent < _LONGEST else None
        most = _least(curved, rest)
        if most is None:
            return Left()
        return Left(min(most, straight if straight is not None else most), most)

    def _frontier_s(self, rate: float) -> float | None:
        """How long until nothing is left to fetch; None while the frontier grows."""
        n_frontier = self._lately[-1].n_frontier
        return n_frontier / rate if n_frontier < _SHRINKING * self._largest_frontier else None


def _least(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)
