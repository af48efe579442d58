"""A Crawl of a made-up web with a virtual clock: real policy, frontier, politeness and probation, no network."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.probation import Probation
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages

Page = tuple[str, str]  # host and path
Links = Callable[[Page], list[Page]]


class VirtualCrawl:
    """`links` returns the links of a page. A site is the last two labels of a host's name."""

    def __init__(
        self, seed: Page, links: Links, budget: int | None = None, policy: str = "certified", delay_s: float = 1.0,
        workers: int = 32, latency_s: float = 0.1, on_probation: bool = True,
    ) -> None:  # fmt: skip
        self.links, self.workers, self.latency_s, self.delay_s = links, workers, latency_s, delay_s
        self.pages: list[Page] = []
        self.hosts: list[str] = []
        self.host_of_page = array("i")
        self._page_ids: dict[Page, int] = {}
        self._host_ids: dict[str, int] = {}
        self._number(seed)
        trusted = TrustedPages(np.array([0], np.uint32), np.ones(1))
        politeness = Politeness(delay_s=delay_s)
        self.crawl = Crawl(make_policy(policy), trusted, Goal(budget=budget), politeness, [0])
        self.probation = Probation(self.crawl.frontier)
        self.probation.is_active &= on_probation
        self.requests: dict[str, list[float]] = defaultdict(list)  # when, by host
        self.n_fetched: Counter[str] = Counter()

    def run(self) -> float:
        """Crawl to the end; return how long it took."""
        now, n_started, next_update = 0.0, 0, 0.0
        in_flight: list[tuple[float, int, int]] = []
        self._know()
        while self.crawl.stopped_because is None or in_flight:
            while len(in_flight) < self.workers and (page := self.crawl.next(now)) is not None:
                heapq.heappush(in_flight, (now + self.latency_s, n_started, page))
                n_started += 1
                self._ask(page, now)
            later = self.crawl.frontier.next_time()
            if in_flight:
                now, _, page = heapq.heappop(in_flight)
                self._take_in(page, now)
            else:
                assert later is not None, "pages are left, but no host is snoozed"
                now = max(now, min(later, now + 0.25))
            if now >= next_update:  # as often as the live crawl does
                next_update = now + 0.25
                self.probation.update(now, np.array(self.host_of_page, np.int32))
        return now

    def _ask(self, page: int, now: float) -> None:
        host = self.host_of_page[page]
        self.requests[self.hosts[host]].append(now)
        self.probation.request_started(host)

    def _take_in(self, page: int, now: float) -> None:
        host = self.host_of_page[page]
        targets = [self._number(target) for target in self.links(self.pages[page])]
        self.probation.request_ended(host, True)
        self.n_fetched[self.hosts[host]] += 1
        hosts = np.array([self.host_of_page[target] for target in targets], np.int32)
        self.crawl.fetched(page, targets, now, hosts)
        self._know()
        self.probation.add_links(host, hosts)

    def _know(self) -> None:
        new = self.hosts[self.probation.n_hosts :]
        if new and self.probation.is_active:
            sites = [".".join(name.split(".")[-2:]) for name in new]
            self.probation.add_hosts(sites, np.array(self.host_of_page, np.int32))

    def _number(self, page: Page) -> int:
        if page not in self._page_ids:
            self._page_ids[page] = len(self.pages)
            self.pages.append(page)
            if page[0] not in self._host_ids:
                self._host_ids[page[0]] = len(self.hosts)
                self.hosts.append(page[0])
            self.host_of_page.append(self._host_ids[page[0]])
        return self._page_ids[page]
