"""Estimates how long the longest queue of a host will take at the recent pace of that host. Time is an argument.

A crawl of several hosts is fast while all of them have pages waiting, and slow when only the largest remains. The
total rate of all hosts cannot predict that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown

_RECENT = 0.3  # of the time since the start
_SPACING = 1.1  # of stored moments, as a factor of that time
_MIN_PAGES = 3  # of a host, before its own pace is used


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
        before = self._before(self._start + (1 - _RECENT) * elapsed)
        if not self._moments or elapsed >= _SPACING * (self._moments[-1].time - self._start):
            self._moments.append(_Moment(now, done.copy()))
        if before is None or now <= before.time:
            return 0.0
        n_recent = done - grown(before.n_done, n_hosts)[:n_hosts]
        is_known = n_recent >= _MIN_PAGES
        if not is_known.any():
            return 0.0
        seconds = (now - before.time) / np.where(is_known, n_recent, np.median(n_recent[is_known]))
        return float((waiting * seconds).max())

    def _before(self, time: float) -> _Moment | None:
        """Return the last moment that is not after `time`; drop the older ones."""
        while len(self._moments) > 1 and self._moments[1].time <= time:
            del self._moments[0]
        return self._moments[0] if self._moments else None
