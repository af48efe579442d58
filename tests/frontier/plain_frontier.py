"""The frontier's rules, as plainly as they can be said: look at all pages, every time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from orienteer.frontier.frontier import LAST
from orienteer.frontier.politeness import Politeness


class PlainFrontier:
    def __init__(self, politeness: Politeness) -> None:
        self.politeness = politeness
        self.pages: dict[int, tuple[float, int]] = {}  # (priority, host)
        self.n_open: dict[int, int] = defaultdict(int)
        self.rests_until: dict[int, float] = defaultdict(float)
        self.delay_s: dict[int, float] = defaultdict(lambda: politeness.delay_s)
        self.now = 0.0

    def put(self, pages: Iterable[int], priorities: Iterable[float], hosts: Iterable[int]) -> None:
        for page, priority, host in zip(pages, priorities, hosts, strict=True):
            self.pages[page] = priority, host

    def add(self, pages: Iterable[int], hosts: Iterable[int]) -> None:
        for page, host in zip(pages, hosts, strict=True):
            before, old_host = self.pages.get(page, (LAST, host))
            self.pages[page] = (0.0 if before == LAST else before), old_host

    def take(self, now: float) -> tuple[int, float] | None:
        self.now = now
        may_be_asked = [
            (-priority, page)
            for page, (priority, host) in self.pages.items()
            if not self.politeness.per_host or (self._has_connection(host) and self.rests_until[host] <= now)
        ]
        if not may_be_asked:
            return None
        key, page = min(may_be_asked)
        self.n_open[self.pages.pop(page)[1]] += 1
        return page, -key

    def release(self, host: int, now: float, delay_s: float | None) -> None:
        self.n_open[host] = max(self.n_open[host] - 1, 0)
        wait = self.delay_s[host] if delay_s is None else delay_s
        if wait > 0:
            self.rest(host, now + wait)

    def rest(self, host: int, until: float) -> None:
        self.rests_until[host] = max(self.rests_until[host], until)

    def next_time(self) -> float | None:
        resting = {host for _, host in self.pages.values() if self.rests_until[host] > self.now}
        ends = [self.rests_until[host] for host in resting if self._has_connection(host)]
        return min(ends, default=None) if self.politeness.per_host else None

    def best_first(self) -> list[tuple[int, float]]:
        return [(page, -key) for key, page in sorted((-priority, page) for page, (priority, _) in self.pages.items())]

    def _has_connection(self, host: int) -> bool:
        return self.n_open[host] < self.politeness.connections
