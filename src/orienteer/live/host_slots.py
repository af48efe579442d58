"""Connects the host slots of a live crawl with `frontier/probation.py`: new hosts, requests, links, crawl delays.

Sites are registrable domains (`url.site_of`). Three kinds of hosts are trusted without probation: those of the seeds,
those that a seed redirects to, and those with many pages fetched before this run.
"""

from __future__ import annotations

import numpy as np

from orienteer.frontier.probation import Probation
from orienteer.ledger.ledger import Ledger
from orienteer.live.host_requests import HostRequests
from orienteer.pages.states import PageState
from orienteer.url import site_of

_UPDATE_EVERY_S = 0.25
_MANY_PAGES = 20  # fetched from a host before this run


class HostSlots:
    """The slots of all hosts of a crawl. Without crawl delays, each host has its own."""

    def __init__(self, ledger: Ledger, host_requests: HostRequests) -> None:
        self.ledger = ledger
        self.host_requests = host_requests
        self.probation = Probation(ledger.crawl.frontier)
        self._next_update = 0.0

    def register_hosts(self) -> None:
        """Add the hosts that are new since the last call."""
        seen, known = self.ledger.seen, self.probation.n_hosts
        if not self.probation.is_active or seen.n_hosts == known:
            return
        trusted = self._trusted() if known == 0 else []
        sites = [site_of(seen.host_name(host)) for host in range(known, seen.n_hosts)]
        self.probation.add_hosts(sites, seen.hosts, trusted)

    def is_shared(self, host: int) -> bool:
        """Return whether the host shares its slot with others."""
        return self.probation.shares_slot(host)

    def request_started(self, host: int) -> None:
        self.probation.request_started(host)

    def request_ended(self, host: int, is_page: bool) -> None:
        self.probation.request_ended(host, is_page)

    def follow_links(self, page: int, host: int) -> None:
        """Register the hosts that a fetched page links to; a redirect from a seed passes on its trust."""
        crawl = self.ledger.crawl
        if not self.probation.is_active or crawl.state(page) is not PageState.FETCHED:
            return
        self.register_hosts()
        links = crawl.web.links(page)
        self.probation.add_links(host, self.ledger.seen.hosts[links])
        if len(links) == 1 and self.ledger.depth(page) == self.ledger.depth(int(links[0])) == 0:
            self.probation.trust(self.ledger.host(int(links[0])))

    def update_if_due(self, now: float) -> None:
        """Give hosts that have passed their probation slots of their own, a few times a second."""
        if self.probation.is_active and now >= self._next_update:
            self._next_update = now + min(_UPDATE_EVERY_S, self.ledger.plan.politeness.delay_s)
            for host in self.probation.update(now, self.ledger.seen.hosts):
                self.keep_delay(host, now)

    def keep_delay(self, host: int, now: float) -> None:
        """Apply the crawl delay of the host's robots.txt; a shared slot is snoozed for all of its hosts."""
        delay_s = self.host_requests.delay_s(host)
        if delay_s is None or delay_s <= self.ledger.plan.politeness.delay_s:
            return
        if self.is_shared(host):
            self.probation.snooze(host, now + delay_s)
        else:
            self.ledger.crawl.frontier.set_delay(host, delay_s)

    def _trusted(self) -> list[int]:
        hosts = self.ledger.seen.hosts
        fetched = np.flatnonzero(self.ledger.crawl.states() == PageState.FETCHED)
        n_fetched = np.bincount(hosts[fetched], minlength=1)
        seeds = hosts[: len(self.ledger.plan.crawl.seeds)]
        return [*seeds.tolist(), *np.flatnonzero(n_fetched >= _MANY_PAGES).tolist()]
