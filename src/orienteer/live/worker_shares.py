"""Slow hosts must not hold all workers: some are kept free for hosts that are known to answer quickly.

A host is *quick* if its last answer came within three seconds; a host that was never asked is not. While quick hosts
have pages, be it that they must rest for a moment, one worker in eight is for these alone, or half of them where hosts
never asked before turn out to be slow: but no more than there are quick hosts that could use them.
"""

from __future__ import annotations

from orienteer.frontier.frontier import Frontier
from orienteer.workers.received import Received

QUICK_S = 3.0

_MEMORY = 0.9  # of the share of slow answers among hosts that are not quick, after each further one
_MANY = 0.1  # such a share, from which on half of the workers are kept


class WorkerShares:
    """Which hosts are quick, and whether only these may be asked now."""

    def __init__(self, frontier: Frontier, workers: int) -> None:
        self.frontier = frontier
        self.workers = workers
        self._quick: set[int] = set()
        self._others: set[int] = set()  # pages under way whose hosts are not quick
        self._slow_share = 0.0

    def only_quick(self) -> bool:
        """Whether the workers that are free are for quick hosts alone."""
        kept = self.workers // 2 if self._slow_share > _MANY else self.workers // 8 + 1
        n_wanted = self.frontier.n_quick_waiting * self.frontier.politeness.connections
        return len(self._others) >= self.workers - min(kept, self.workers // 2, n_wanted)

    def started(self, page: int, host: int) -> None:
        """A request has begun, for the page or in its turn."""
        if host not in self._quick:
            self._others.add(page)

    def ended(self, host: int, answer: Received) -> None:
        is_quick = answer.status > 0 and answer.duration_s <= QUICK_S
        if answer.request.page in self._others:
            self._others.remove(answer.request.page)
            is_slow = answer.duration_s > QUICK_S
            self._slow_share = _MEMORY * self._slow_share + (1 - _MEMORY) * is_slow
        if is_quick != (host in self._quick):
            (self._quick.add if is_quick else self._quick.remove)(host)
        self.frontier.set_quick(host, is_quick)
