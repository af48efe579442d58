"""A reference implementation of the frontier's rules: scan all pages, every time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from orienteer.crawl import host_heaps as heaps
from orienteer.crawl.frontier import LAST, Frontier
from orienteer.crawl.politeness import Politeness


class PlainFrontier:
    """Hosts have slots; a slot is named after one of the hosts that have had it, with a running number."""

    def __init__(self, politeness: Politeness) -> None:
        self.politeness = politeness
        self.pages: dict[int, tuple[float, int]] = {}  # (priority, host)
        self.slot_of: dict[int, str] = {}
        self.n_open: dict[str, int] = defaultdict(int)
        self.free_at: dict[str, float] = defaultdict(float)
        self.delay_s: dict[str, float] = defaultdict(lambda: politeness.delay_s)
        self.quick: set[str] = set()
        self.taken: dict[int, str] = {}
        self.now = 0.0
        self.n_shared = 0

    def slot(self, host: int) -> str:
        return self.slot_of.get(host, f"host {host}")

    def put(self, pages: Iterable[int], priorities: Iterable[float], hosts: Iterable[int]) -> None:
        for page, priority, host in zip(pages, priorities, hosts, strict=True):
            self.pages[page] = priority, host

    def add(self, pages: Iterable[int], hosts: Iterable[int]) -> None:
        for page, host in zip(pages, hosts, strict=True):
            before, old_host = self.pages.get(page, (LAST, host))
            self.pages[page] = (0.0 if before == LAST else before), old_host

    def take(self, now: float, only_quick: bool = False) -> tuple[int, float] | None:
        self.now = now
        hosts = {host for host in self.waiting_hosts() if self._may_be_asked(self.slot(host), only_quick)}
        waiting = [(-priority, page) for page, (priority, host) in self.pages.items() if host in hosts]
        if not waiting:
            return None
        key, page = min(waiting)
        self.taken[page] = self.slot(self.pages.pop(page)[1])
        self.n_open[self.taken[page]] += 1
        return page, -key

    def release(self, host: int, now: float, delay_s: float | None, page: int | None = None) -> None:
        slot = self.slot(host) if page is None or page in self.pages else self.taken.get(page, self.slot(host))
        self.n_open[slot] = max(self.n_open[slot] - 1, 0)
        wait = self.delay_s[slot] if delay_s is None else delay_s
        if wait > 0:
            self.free_at[slot] = max(self.free_at[slot], now + wait)

    def snooze(self, host: int, until: float) -> None:
        self.free_at[self.slot(host)] = max(self.free_at[self.slot(host)], until)

    def set_delay(self, host: int, delay_s: float) -> None:
        self.delay_s[self.slot(host)] = delay_s

    def set_quick(self, host: int, is_quick: bool) -> None:
        if self.politeness.per_host:
            (self.quick.add if is_quick else self.quick.discard)(self.slot(host))

    def share_slot(self, hosts: list[int], with_host: int | None) -> None:
        if not hosts or not self.politeness.per_host:
            return
        self.n_shared += 1
        slot = f"shared {self.n_shared}" if with_host is None else self.slot(with_host)
        self.slot_of |= dict.fromkeys(hosts, slot)

    def waiting_slots(self) -> set[str]:
        return {self.slot(host) for host in self.waiting_hosts()}

    def waiting_hosts(self) -> set[int]:
        return {host for _, host in self.pages.values()}

    def n_quick_waiting(self) -> int:
        return len(self.waiting_slots() & self.quick)

    def next_time(self) -> float | None:
        snoozed = {slot for slot in self.waiting_slots() if self.free_at[slot] > self.now}
        ends = [self.free_at[slot] for slot in snoozed if self._has_connection(slot)]
        return min(ends, default=None) if self.politeness.per_host else None

    def best_first(self) -> list[tuple[int, float]]:
        return [(page, -key) for key, page in sorted((-priority, page) for page, (priority, _) in self.pages.items())]

    def _may_be_asked(self, slot: str, only_quick: bool) -> bool:
        if only_quick and slot not in self.quick:
            return False
        return not self.politeness.per_host or (self._has_connection(slot) and self.free_at[slot] <= self.now)

    def _has_connection(self, slot: str) -> bool:
        return self.n_open[slot] < self.politeness.connections


class HostedFrontier(Frontier):
    """A frontier that is given the hosts of pages as they enter, as a crawl sets them when it finds the pages."""

    def put(self, pages: ArrayLike, priorities: ArrayLike, hosts: ArrayLike | None = None) -> None:
        if hosts is not None and len(np.atleast_1d(pages)) == len(np.atleast_1d(priorities)):
            self._set_hosts(np.asarray(pages, np.int64), np.asarray(hosts, np.int32), moves_present=True)
        super().put(pages, priorities)

    def add(self, pages: ArrayLike, hosts: ArrayLike) -> None:
        """Follow the links of a page to these pages; those in the frontier keep their hosts."""
        ids = np.asarray(pages, np.int64)
        self._set_hosts(ids, np.asarray(hosts, np.int32), moves_present=False)
        self._apply(heaps.follow, ids[:0], ids, np.zeros(int(ids.max(initial=0)) + 1, np.uint8), self._is_shared)

    def _set_hosts(self, pages: np.ndarray, hosts: np.ndarray, moves_present: bool) -> None:
        """Pages in the frontier whose hosts change are removed, or else stay where they are."""
        if len(pages) == 0 or not 0 <= int(pages.min()) <= int(pages.max()) < heaps.MAX_PAGES:
            return  # `put` refuses such ids
        if int(hosts.min()) < 0:
            raise ValueError("hosts are numbered from 0")
        self._hosts.grow_to(int(pages.max()) + 1)
        if self.politeness.per_host:
            is_here = self.contains_each(pages)
            if moves_present:
                for page in pages[is_here & (self._hosts.array[pages] != hosts)].tolist():
                    self.remove(page)
            else:
                pages, hosts = pages[~is_here][::-1], hosts[~is_here][::-1]  # the first of repeated pages counts
        self._hosts.set(pages, hosts)
