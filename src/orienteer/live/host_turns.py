"""Whose turn the hosts of a live crawl wait for: what `frontier/probation.py` wants to hear of the web.

Sites are registrable domains (`url.site_of`). The hosts of the seeds need prove nothing, nor do those that the seeds
have moved to, and those of which much was fetched before this run.
"""

from __future__ import annotations

import numpy as np

from orienteer.frontier.probation import Probation
from orienteer.ledger.ledger import Ledger
from orienteer.live.errands import Errands
from orienteer.pages.states import PageState
from orienteer.url import site_of

_LOOK_EVERY_S = 0.25
_MANY_PAGES = 20  # fetched from a host before this run


class HostTurns:
    """The turns of all hosts that a ledger knows. Without delays between requests, each host has its own."""

    def __init__(self, ledger: Ledger, errands: Errands) -> None:
        self.ledger = ledger
        self.errands = errands
        self.probation = Probation(ledger.crawl.frontier)
        self._next_look = 0.0

    def know_hosts(self) -> None:
        """Tell of new hosts."""
        seen, known = self.ledger.seen, self.probation.n_hosts
        if not self.probation.is_active or seen.n_hosts == known:
            return
        trusted = self._trusted() if known == 0 else []
        sites = [site_of(seen.host_name(host)) for host in range(known, seen.n_hosts)]
        self.probation.know(sites, seen.hosts, trusted)

    def are_shared(self, host: int) -> bool:
        """Whether the host shares its turn with others."""
        return self.probation.shares_turn(host)

    def asked(self, host: int) -> None:
        self.probation.asked(host)

    def answered(self, host: int, is_page: bool) -> None:
        self.probation.answered(host, is_page)

    def follow_links(self, page: int, host: int) -> None:
        """The page is known by now, and so are its links."""
        crawl = self.ledger.crawl
        if not self.probation.is_active or crawl.state(page) is not PageState.FETCHED:
            return
        self.know_hosts()
        links = crawl.web.links(page)
        self.probation.linked(host, self.ledger.seen.hosts[links])
        if len(links) == 1 and self.ledger.depth(page) == self.ledger.depth(int(links[0])) == 0:
            self.probation.trust(self.ledger.host(int(links[0])))

    def look(self, now: float) -> None:
        """Give turns to hosts that have proved their worth, if it is time for that."""
        if self.probation.is_active and now >= self._next_look:
            self._next_look = now + min(_LOOK_EVERY_S, self.ledger.plan.politeness.delay_s)
            for host in self.probation.look(now, self.ledger.seen.hosts):
                self.keep_delay(host, now)

    def keep_delay(self, host: int, now: float) -> None:
        """Keep to the delay that the host's robots.txt asks for; where it shares its turn, the whole turn rests."""
        delay_s = self.errands.delay_s(host)
        if delay_s is None or delay_s <= self.ledger.plan.politeness.delay_s:
            return
        if self.are_shared(host):
            self.probation.rest(host, now + delay_s)
        else:
            self.ledger.crawl.frontier.set_delay(host, delay_s)

    def _trusted(self) -> list[int]:
        hosts = self.ledger.seen.hosts
        fetched = np.flatnonzero(self.ledger.crawl.states() == PageState.FETCHED)
        n_fetched = np.bincount(hosts[fetched], minlength=1)
        seeds = hosts[: len(self.ledger.plan.crawl.seeds)]
        return [*seeds.tolist(), *np.flatnonzero(n_fetched >= _MANY_PAGES).tolist()]
