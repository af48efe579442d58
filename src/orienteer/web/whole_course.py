"""The course of a crawl as a whole: its first crawl, and what its refreshes have led to.

A refresh proves coverage from seeds of its own, beginning with nothing; what is then proved of all that the crawl has
is known at its end. So a refresh adds one point: the requests that it took, and what is proved after the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orienteer.store.course import CoursePoint


def whole_course(points: Sequence[CoursePoint], lower: float, upper: float, blocked: float) -> list[CoursePoint]:
    """The points of the first crawl, and one for all refreshes, after which so much is proved."""
    first = [point for point in points if point.epoch == 0]
    ends = {point.epoch: point for point in points}  # the last point of each
    if not first or len(ends) == 1:
        return first
    last = ends[max(ends)]
    n_done = sum(point.n_done for point in ends.values())
    end = replace(
        last, n_done=n_done, lower=lower, upper=max(upper, lower), blocked=blocked, measured=None, claimed=None
    )
    return [*first, end]
