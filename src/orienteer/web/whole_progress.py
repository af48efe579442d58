"""The progress of a crawl over all its epochs.

Within a refresh, coverage is proved from its own seeds and starts at zero; the bounds of the whole crawl are known only
at its end. So all refreshes together add one point: their requests, and the bounds after the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orienteer.graph.proved import Certificate
from orienteer.store.progress_points import ProgressPoint


def whole_progress(points: Sequence[ProgressPoint], proved: Certificate | None) -> list[ProgressPoint]:
    """Return the points of the first epoch, and one with these bounds for all refreshes."""
    first = [point for point in points if point.epoch == 0]
    ends = {point.epoch: point for point in points}  # the last point of each
    if not first or len(ends) == 1 or proved is None:
        return first
    last = ends[max(ends)]
    n_done = sum(point.n_done for point in ends.values())
    end = replace(
        last,
        n_done=n_done,
        lower=proved.lower,
        upper=max(proved.upper, proved.lower),
        blocked=proved.blocked,
        measured=None,
        claimed=None,
    )
    return [*first, end]
