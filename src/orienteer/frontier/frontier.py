"""The frontier: which page to fetch now.

Each host has a heap of its pages by priority. A host is *ready* when it may be asked now and has a page; ready hosts
are in a heap by their best page. A host that must rest is in a heap by the time it may be asked again. So the best page
whose host may be asked now is found in O(log) of the hosts and pages.

Heaps are lazy: a page's entry counts only while it carries the page's present priority, a host's only while it names
the host's present best page.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from orienteer.frontier.politeness import ANY_TIME, Politeness


class Frontier:
    """Pages with priorities; `take` hands out the best whose host may be asked."""

    def __init__(self, politeness: Politeness = ANY_TIME) -> None:
        self.politeness = politeness
        self._priority: dict[int, float] = {}
        self._host_of: dict[int, int] = {}
        self._pages: dict[int, list[tuple[float, int]]] = {}  # by host: (-priority, page)
        self._ready: list[tuple[float, int, int]] = []  # (-priority, page, host)
        self._resting: list[tuple[float, int]] = []  # (time, host)
        self._rests_until: dict[int, float] = {}
        self._open: dict[int, int] = {}  # connections by host

    def __len__(self) -> int:
        return len(self._priority)

    def __contains__(self, page: int) -> bool:
        return page in self._priority

    def priority(self, page: int) -> float:
        return self._priority[page]

    def put(self, pages: Iterable[int], priorities: Iterable[float], hosts: Iterable[int]) -> None:
        """Add pages, or change the priority of those that are here."""
        for page, priority, host in zip(pages, priorities, hosts, strict=True):
            if self._priority.get(page) == priority:
                continue
            host = host if self.politeness.per_host else 0
            self._priority[page] = priority
            self._host_of[page] = host
            heap = self._pages.setdefault(host, [])
            heapq.heappush(heap, (-priority, page))
            if heap[0][1] == page:
                self._offer(host)

    def remove(self, page: int) -> None:
        """Forget a page, if it is here."""
        if self._priority.pop(page, None) is not None:
            self._offer(self._host_of.pop(page))

    def take(self, now: float) -> tuple[int, float] | None:
        """The best page whose host may be asked now, and its priority; the host has one connection more. Or None."""
        self._wake(now)
        while self._ready:
            key, page, host = self._ready[0]
            best = self._best(host)
            if best != (key, page) or not self._may_ask(host, now):
                heapq.heappop(self._ready)
                continue
            heapq.heappop(self._ready)
            heapq.heappop(self._pages[host])
            del self._priority[page], self._host_of[page]
            self._open[host] = self._open.get(host, 0) + 1
            self._offer(host, now)
            return page, -key
        return None

    def release(self, host: int, now: float, delay_s: float | None = None) -> None:
        """A request to the host has ended: it rests for the delay (another one, if given)."""
        host = host if self.politeness.per_host else 0
        self._open[host] = max(self._open.get(host, 1) - 1, 0)
        wait = self.politeness.delay_s if delay_s is None else delay_s
        if self.politeness.per_host and wait > 0:
            self._rests_until[host] = max(now + wait, self._rests_until.get(host, 0.0))
            heapq.heappush(self._resting, (self._rests_until[host], host))
        else:
            self._offer(host, now)

    def next_time(self) -> float | None:
        """When a resting host may be asked again; None if none rests."""
        return self._resting[0][0] if self._resting else None

    def best_first(self, n: int) -> list[tuple[int, float]]:
        """The n best pages with their priorities, whatever their hosts."""
        best = heapq.nsmallest(n, ((-priority, page) for page, priority in self._priority.items()))
        return [(page, -key) for key, page in best]

    def position(self, page: int) -> int:
        """How many pages come before this one."""
        key = (-self._priority[page], page)
        return sum((-priority, other) < key for other, priority in self._priority.items())

    def _best(self, host: int) -> tuple[float, int] | None:
        heap = self._pages.get(host)
        while heap and self._priority.get(heap[0][1]) != -heap[0][0]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _may_ask(self, host: int, now: float) -> bool:
        if not self.politeness.per_host:
            return True
        return self._open.get(host, 0) < self.politeness.connections and self._rests_until.get(host, 0.0) <= now

    def _offer(self, host: int, now: float = float("inf")) -> None:
        """Enter the host among the ready ones under its best page; whether it may be asked is seen when it is taken."""
        best = self._best(host)
        if best is not None and self._may_ask(host, now):
            heapq.heappush(self._ready, (*best, host))

    def _wake(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            _, host = heapq.heappop(self._resting)
            self._offer(host, now)
