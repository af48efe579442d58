"""The frontier's rules, as plainly as they can be said: look at all pages, every time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from orienteer.frontier.frontier import LAST
from orienteer.frontier.politeness import Politeness


class PlainFrontier:
    """Hosts have turns; a turn is named after one of the hosts that have had it, with a running number."""

    def __init__(self, politeness: Politeness) -> None:
        self.politeness = politeness
        self.pages: dict[int, tuple[float, int]] = {}  # (priority, host)
        self.turn_of: dict[int, str] = {}
        self.n_open: dict[str, int] = defaultdict(int)
        self.rests_until: dict[str, float] = defaultdict(float)
        self.delay_s: dict[str, float] = defaultdict(lambda: politeness.delay_s)
        self.quick: set[str] = set()
        self.taken: dict[int, str] = {}
        self.now = 0.0
        self.n_shared = 0

    def turn(self, host: int) -> str:
        return self.turn_of.get(host, f"host {host}")

    def put(self, pages: Iterable[int], priorities: Iterable[float], hosts: Iterable[int]) -> None:
        for page, priority, host in zip(pages, priorities, hosts, strict=True):
            self.pages[page] = priority, host

    def add(self, pages: Iterable[int], hosts: Iterable[int]) -> None:
        for page, host in zip(pages, hosts, strict=True):
            before, old_host = self.pages.get(page, (LAST, host))
            self.pages[page] = (0.0 if before == LAST else before), old_host

    def take(self, now: float, only_quick: bool = False) -> tuple[int, float] | None:
        self.now = now
        hosts = {host for host in self.waiting_hosts() if self._may_be_asked(self.turn(host), only_quick)}
        waiting = [(-priority, page) for page, (priority, host) in self.pages.items() if host in hosts]
        if not waiting:
            return None
        key, page = min(waiting)
        self.taken[page] = self.turn(self.pages.pop(page)[1])
        self.n_open[self.taken[page]] += 1
        return page, -key

    def release(self, host: int, now: float, delay_s: float | None, page: int | None = None) -> None:
        turn = self.turn(host) if page is None or page in self.pages else self.taken.get(page, self.turn(host))
        self.n_open[turn] = max(self.n_open[turn] - 1, 0)
        wait = self.delay_s[turn] if delay_s is None else delay_s
        if wait > 0:
            self.rests_until[turn] = max(self.rests_until[turn], now + wait)

    def rest(self, host: int, until: float) -> None:
        self.rests_until[self.turn(host)] = max(self.rests_until[self.turn(host)], until)

    def set_delay(self, host: int, delay_s: float) -> None:
        self.delay_s[self.turn(host)] = delay_s

    def set_quick(self, host: int, is_quick: bool) -> None:
        if self.politeness.per_host:
            (self.quick.add if is_quick else self.quick.discard)(self.turn(host))

    def share_turn(self, hosts: list[int], with_host: int | None) -> None:
        if not hosts or not self.politeness.per_host:
            return
        self.n_shared += 1
        turn = f"shared {self.n_shared}" if with_host is None else self.turn(with_host)
        self.turn_of |= dict.fromkeys(hosts, turn)

    def waiting_turns(self) -> set[str]:
        return {self.turn(host) for host in self.waiting_hosts()}

    def waiting_hosts(self) -> set[int]:
        return {host for _, host in self.pages.values()}

    def n_quick_waiting(self) -> int:
        return len(self.waiting_turns() & self.quick)

    def next_time(self) -> float | None:
        resting = {turn for turn in self.waiting_turns() if self.rests_until[turn] > self.now}
        ends = [self.rests_until[turn] for turn in resting if self._has_connection(turn)]
        return min(ends, default=None) if self.politeness.per_host else None

    def best_first(self) -> list[tuple[int, float]]:
        return [(page, -key) for key, page in sorted((-priority, page) for page, (priority, _) in self.pages.items())]

    def _may_be_asked(self, turn: str, only_quick: bool) -> bool:
        if only_quick and turn not in self.quick:
            return False
        return not self.politeness.per_host or (self._has_connection(turn) and self.rests_until[turn] <= self.now)

    def _has_connection(self, turn: str) -> bool:
        return self.n_open[turn] < self.politeness.connections
