"""Reserves workers for fast hosts, so that slow hosts do not hold all of them.

A host is *quick* if its last response came within three seconds; a host without a response is not. While quick hosts
have pages (even in a crawl delay), one worker in eight is reserved for them, or half of the workers while many new
hosts turn out to be slow: but no more than there are quick hosts that could use them.
"""

from __future__ import annotations

from orienteer.frontier.frontier import Frontier
from orienteer.workers.fetch_result import FetchResult

QUICK_S = 3.0

_MEMORY = 0.9  # the decay, per response, of the share of slow responses among hosts that are not quick
_MANY = 0.1  # the share from which on half of the workers are reserved


class WorkerShares:
    """Tracks which hosts are quick, and whether only these may be requested now."""

    def __init__(self, frontier: Frontier, workers: int) -> None:
        self.frontier = frontier
        self.workers = workers
        self._quick: set[int] = set()
        self._others: set[int] = set()  # pages in flight whose hosts are not quick
        self._slow_share = 0.0

    def only_quick(self) -> bool:
        """Return whether the free workers are reserved for quick hosts."""
        reserved = self.workers // 2 if self._slow_share > _MANY else self.workers // 8 + 1
        n_usable = self.frontier.n_quick_waiting * self.frontier.politeness.connections
        return len(self._others) >= self.workers - min(reserved, self.workers // 2, n_usable)

    def started(self, page: int, host: int) -> None:
        """Count a request that was started for the page or in its slot."""
        if host not in self._quick:
            self._others.add(page)

    def ended(self, host: int, response: FetchResult) -> None:
        is_quick = response.status > 0 and response.duration_s <= QUICK_S
        if response.request.page in self._others:
            self._others.remove(response.request.page)
            is_slow = response.duration_s > QUICK_S
            self._slow_share = _MEMORY * self._slow_share + (1 - _MEMORY) * is_slow
        if is_quick != (host in self._quick):
            (self._quick.add if is_quick else self._quick.remove)(host)
        self.frontier.set_quick(host, is_quick)
