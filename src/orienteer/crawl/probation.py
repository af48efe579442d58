"""Probation: unproven hosts of one site share a slot, against wildcard DNS traps. Time is an argument.

With wildcard DNS every name below a site resolves, and a page may link to any number of them. Each would be a new host
that may be requested at once, while the real host waits for its delay: the trap would use up the whole budget.

    proven         the first host of a site, the hosts of the seeds, and any host that two pages of proven hosts link
                   to. Each has its own slot
    on probation   all other hosts of the site. Together they have one slot: they are requested one at a time, with the
                   delay of a single host between requests
    on trial       one of them at a time, which a proven host links to, has that slot alone. Once four of its pages were
                   fetched it is accepted: it gets its own slot, too, but its links do not prove other hosts. If it runs
                   out of pages before that, the others get the slot back
    share          while a proven host of the site has pages, ready or not, hosts on probation get only every 17th
                   request to the site, after the first four

So a site with many real hosts is not delayed for long: proven hosts are requested in parallel, and each request to one
of them raises the share of the others. A trap that looks like such a site, where pages of a proven host each link to
new hosts with many pages, is not detected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.frontier import Frontier

TRIAL_PAGES = 4  # fetched pages after which a host on trial is accepted
LINKING_PAGES = 2  # pages of proven hosts that must link to a host to prove it
PROVEN_PER_SHARED = 16  # requests to proven hosts of a site per request to hosts on probation
FREE_REQUESTS = 4  # to hosts on probation of a site, before their share is limited

_INF = float("inf")


@dataclass(eq=False)
class _Site:
    proven: list[int] = field(default_factory=list)
    pool: dict[int, None] = field(default_factory=dict)  # hosts on probation except the one on trial, as an ordered set
    trial: int | None = None
    next_trial: int | None = None
    n_to_proven: int = 0  # requests
    n_shared: int = 0  # requests to hosts on probation
    n_in_flight: int = 0  # to proven hosts
    free_at: float = 0.0  # the longest back-off that a host on probation needs
    pool_is_snoozed: bool = False
    trial_is_snoozed: bool = False

    def has_share(self) -> bool:
        return self.n_shared < FREE_REQUESTS + self.n_to_proven // PROVEN_PER_SHARED


class Probation:
    """Decides which hosts share a slot; `is_active` if requests to a host have a delay.

    The caller reports new hosts, the start and the end of each request, and the links; and calls `update` regularly.
    """

    def __init__(self, slots: Crawl | Frontier) -> None:
        self._slots = slots
        self.is_active = slots.politeness.per_host and slots.politeness.delay_s > 0
        self._by_name: dict[str, _Site] = {}
        self._site: list[_Site] = []  # by host
        self._n_pages = 0  # pages whose hosts are known
        self._n_successes: Counter[int] = Counter()
        self._n_links: Counter[int] = Counter()
        self._n_in_flight_by_host: Counter[int] = Counter()  # requests to hosts on probation
        self._promotions: set[int] = set()
        self._accepted: set[int] = set()
        self._watched: set[_Site] = set()

    @property
    def n_hosts(self) -> int:
        """The number of hosts added so far."""
        return len(self._site)

    def shares_slot(self, host: int) -> bool:
        """Whether the host is on probation."""
        return host < len(self._site) and (host in self._site[host].pool or host == self._site[host].trial)

    def add_hosts(self, sites: Sequence[str], hosts_of_pages: NDArray[np.int32], trusted: Iterable[int] = ()) -> None:
        """Add hosts by their sites. `hosts_of_pages` has the host of every page; `trusted` hosts are proven."""
        if not self.is_active:
            return
        trusted_hosts = set(trusted)
        new: dict[_Site, list[int]] = {}
        for host, name in enumerate(sites, len(self._site)):
            site = self._by_name.setdefault(name, _Site())
            self._site.append(site)
            if host in trusted_hosts or not site.proven:
                site.proven.append(host)
            else:
                new.setdefault(site, []).append(host)
        hosts_of_new_pages = hosts_of_pages[self._n_pages :]
        for site, hosts in new.items():
            self._join_pool(site, hosts, self._n_pages + np.flatnonzero(np.isin(hosts_of_new_pages, hosts)))
        self._n_pages = len(hosts_of_pages)

    def request_started(self, host: int) -> None:
        """Count a request to the host that has begun."""
        if host >= len(self._site):
            return
        site = self._site[host]
        if not self.shares_slot(host):
            site.n_to_proven += 1
            site.n_in_flight += 1
            return
        self._n_in_flight_by_host[host] += 1
        site.n_shared += 1
        if site.trial is None and site.next_trial is None and self._n_links[host]:
            site.next_trial = host
        self._watched.add(site)
        self._snooze_spent(site)

    def request_ended(self, host: int, is_page: bool) -> None:
        """Count a request that has ended; `is_page` if it fetched a page."""
        if host >= len(self._site):
            return
        site = self._site[host]
        if not self.shares_slot(host):
            site.n_in_flight = max(site.n_in_flight - 1, 0)
            return
        self._n_in_flight_by_host[host] -= 1
        self._n_successes[host] += is_page
        if host == site.trial and self._n_successes[host] >= TRIAL_PAGES:
            self._promotions.add(host)
            self._accepted.add(host)

    def add_links(self, source: int, targets: NDArray[np.int32]) -> None:
        """Count the links of a page of the host `source` to pages of these hosts."""
        if not self.is_active or self.shares_slot(source) or source in self._accepted:
            return
        for host in np.unique(targets).tolist():
            if self.shares_slot(host):
                self._n_links[host] += 1
                if self._n_links[host] >= LINKING_PAGES:
                    self._promotions.add(host)

    def snooze(self, host: int, until: float) -> None:
        """Back off from a host on probation: the whole shared slot is snoozed."""
        self._site[host].free_at = until
        self._slots.snooze(host, until)

    def trust(self, host: int) -> None:
        """Mark the host as proven from the next `update` on: a seed redirects to it, for example."""
        if self.shares_slot(host):
            self._promotions.add(host)

    def update(self, now: float, hosts_of_pages: NDArray[np.int32]) -> list[int]:
        """Give slots to proven hosts, choose the host on trial, and apply the shares; return the newly proven hosts."""
        proven = [host for host in sorted(self._promotions) if not self._n_in_flight_by_host[host]]
        if proven:
            self._promote(proven, now, hosts_of_pages)
        for site in list(self._watched):
            self._update_trial(site, now, hosts_of_pages)
            if not self._snooze_spent(site):
                self._wake(site, now)
            if site.trial is None and site.next_trial is None and site.has_share():
                self._watched.discard(site)
        return proven

    def _promote(self, proven: list[int], now: float, hosts_of_pages: NDArray[np.int32]) -> None:
        pages = np.flatnonzero(np.isin(hosts_of_pages, proven))
        hosts = hosts_of_pages[pages]
        for host in proven:
            site = self._site[host]
            if host == site.trial:
                site.trial, site.trial_is_snoozed = None, False
            self._leave_pool(site, host, pages[hosts == host], now)
            if host not in self._accepted:
                site.proven.append(host)
            for counts in (self._n_successes, self._n_links, self._n_in_flight_by_host):
                counts.pop(host, None)
        self._promotions.difference_update(proven)

    def _update_trial(self, site: _Site, now: float, hosts_of_pages: NDArray[np.int32]) -> None:
        host = site.trial
        if host is not None and not self._n_in_flight_by_host[host] and not self._slots.has_pages(host):
            site.trial, site.trial_is_snoozed = None, False
            self._join_pool(site, [host], np.zeros(0, np.int64))
        host = site.next_trial
        if site.trial is None and host is not None and not self._n_in_flight_by_host[host]:
            site.next_trial = None
            if host in site.pool:
                self._leave_pool(site, host, np.flatnonzero(hosts_of_pages == host), now)
                site.trial = host

    def _join_pool(self, site: _Site, hosts: list[int], pages: NDArray[np.int64]) -> None:
        self._slots.share_slot(hosts, pages, next(iter(site.pool), None))
        if not site.pool:
            site.pool_is_snoozed = False
        site.pool |= dict.fromkeys(hosts)

    def _leave_pool(self, site: _Site, host: int, pages: NDArray[np.int64], now: float) -> None:
        """Give the host its own slot, snoozed for a delay, since it may have been requested a moment ago."""
        site.pool.pop(host, None)
        self._slots.share_slot([host], pages)
        self._snooze_until_next(site, host, now)

    def _snooze_spent(self, site: _Site) -> bool:
        """Snooze hosts whose share is spent, and the pool while a host is on trial; return whether it is spent."""
        is_spent = not site.has_share() and self._has_proven_work(site)
        if site.pool and not site.pool_is_snoozed and (is_spent or site.trial is not None):
            site.pool_is_snoozed = True
            self._slots.snooze(next(iter(site.pool)), _INF)
        if site.trial is not None and is_spent and not site.trial_is_snoozed:
            site.trial_is_snoozed = True
            self._slots.snooze(site.trial, _INF)
        return is_spent

    def _wake(self, site: _Site, now: float) -> None:
        if site.trial is None and site.pool_is_snoozed:
            site.pool_is_snoozed = False
            if site.pool:
                self._snooze_until_next(site, next(iter(site.pool)), now)
        elif site.trial is not None and site.trial_is_snoozed:
            site.trial_is_snoozed = False
            self._snooze_until_next(site, site.trial, now)

    def _snooze_until_next(self, site: _Site, host: int, now: float) -> None:
        self._slots.wake(host)
        self._slots.snooze(host, max(now + self._slots.politeness.delay_s, site.free_at))

    def _has_proven_work(self, site: _Site) -> bool:
        """Whether a proven host of the site has pages, or may get some from a request in flight."""
        if site.n_in_flight:
            return True
        for k, host in enumerate(site.proven):
            if self._slots.has_pages(host):
                site.proven[0], site.proven[k] = host, site.proven[0]  # it probably has pages next time, too
                return True
        return False
