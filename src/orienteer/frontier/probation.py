"""Hosts of one site that have not proved their worth yet share a turn. Time is an argument.

A name server may answer for any name below a site, and a page may link to as many of them as it likes. Each would be a
new host that may be asked at once, while the good host must rest for its delay: such pages would take a whole budget.

    proven         the first host of a site, the hosts of the seeds, and any host that two pages of proven hosts link
                   to. It has a turn of its own
    on probation   all other hosts of the site. Together they have one turn: they are asked one at a time, with the
                   delay of a single host between requests
    on trial       one of them at a time, that a proven host links to, has that turn for itself. Once four pages of it
                   were fetched it is accepted: it has a turn of its own, too, but its links prove nothing of others. If
                   it has no more pages before that, it is the turn of the others again
    share          while a proven host of the site has pages, be it that it must rest, hosts on probation get only every
                   17th request to the site, and four to begin with

So a site with many real hosts is not held up for long: each that proves its worth is asked beside the others from then
on, and the share of the others grows with every request to it. What such a site and a trap have in common, pages of a
proven host that each link to new hosts of many pages, is not told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orienteer.frontier.frontier import Frontier

GOOD_PAGES = 4  # of a host on trial let it be accepted
LINKING_PAGES = 2  # of proven hosts prove another
PROVEN_PER_SHARED = 16  # requests to proven hosts of a site for each one to those on probation
FREE_REQUESTS = 4  # to hosts on probation, before these are counted

_INF = float("inf")


@dataclass(eq=False)
class _Site:
    proven: list[int] = field(default_factory=list)
    pool: dict[int, None] = field(default_factory=dict)  # hosts on probation, but for the one on trial; in their order
    trial: int | None = None
    next_trial: int | None = None
    n_to_proven: int = 0  # requests
    n_shared: int = 0  # requests to hosts on probation
    n_under_way: int = 0  # to proven hosts
    rests_until: float = 0.0  # as long as one of those on probation asks for
    pool_sleeps: bool = False
    trial_sleeps: bool = False

    def has_share(self) -> bool:
        return self.n_shared < FREE_REQUESTS + self.n_to_proven // PROVEN_PER_SHARED


class Probation:
    """Says which hosts of a frontier share a turn; `is_active` where hosts have to rest at all.

    Whoever asks hosts tells it of new hosts, of each request and what came of it, and lets it `look` now and then.
    """

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self.is_active = frontier.politeness.per_host and frontier.politeness.delay_s > 0
        self._by_name: dict[str, _Site] = {}
        self._site: list[_Site] = []  # by host
        self._n_pages = 0  # whose hosts are known
        self._n_good: Counter[int] = Counter()
        self._n_links: Counter[int] = Counter()
        self._n_open: Counter[int] = Counter()  # requests to hosts on probation
        self._to_prove: set[int] = set()
        self._accepted: set[int] = set()
        self._watched: set[_Site] = set()

    @property
    def n_hosts(self) -> int:
        """Hosts that it was told of."""
        return len(self._site)

    def shares_turn(self, host: int) -> bool:
        """Whether the host is on probation."""
        return host < len(self._site) and (host in self._site[host].pool or host == self._site[host].trial)

    def know(self, sites: Sequence[str], hosts_of_pages: NDArray[np.int32], trusted: Iterable[int] = ()) -> None:
        """The next hosts are of these sites. `hosts_of_pages` are those of all pages; `trusted` ones are proven."""
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
        since = hosts_of_pages[self._n_pages :]
        for site, hosts in new.items():
            self._join_pool(site, hosts, self._n_pages + np.flatnonzero(np.isin(since, hosts)))
        self._n_pages = len(hosts_of_pages)

    def asked(self, host: int) -> None:
        """A request to the host has begun."""
        if host >= len(self._site):
            return
        site = self._site[host]
        if not self.shares_turn(host):
            site.n_to_proven += 1
            site.n_under_way += 1
            return
        self._n_open[host] += 1
        site.n_shared += 1
        if site.trial is None and site.next_trial is None and self._n_links[host]:
            site.next_trial = host
        self._watched.add(site)
        self._put_to_sleep(site)

    def answered(self, host: int, is_page: bool) -> None:
        """A request has ended; whether a page came of it."""
        if host >= len(self._site):
            return
        site = self._site[host]
        if not self.shares_turn(host):
            site.n_under_way = max(site.n_under_way - 1, 0)
            return
        self._n_open[host] -= 1
        self._n_good[host] += is_page
        if host == site.trial and self._n_good[host] >= GOOD_PAGES:
            self._to_prove.add(host)
            self._accepted.add(host)

    def linked(self, source: int, targets: NDArray[np.int32]) -> None:
        """A page of the host `source` links to pages of these hosts."""
        if not self.is_active or self.shares_turn(source) or source in self._accepted:
            return
        for host in np.unique(targets).tolist():
            if self.shares_turn(host):
                self._n_links[host] += 1
                if self._n_links[host] >= LINKING_PAGES:
                    self._to_prove.add(host)

    def rest(self, host: int, until: float) -> None:
        """A host on probation asks for a longer rest: the whole turn rests."""
        self._site[host].rests_until = until
        self.frontier.rest(host, until)

    def trust(self, host: int) -> None:
        """The host is proven from the next look on, such as one that a seed has moved to."""
        if self.shares_turn(host):
            self._to_prove.add(host)

    def look(self, now: float, hosts_of_pages: NDArray[np.int32]) -> list[int]:
        """Give turns to those that have proved their worth, see whose trial it is, and who may be asked; the first."""
        proven = [host for host in sorted(self._to_prove) if not self._n_open[host]]
        if proven:
            self._prove(proven, now, hosts_of_pages)
        for site in list(self._watched):
            self._see_to_trial(site, now, hosts_of_pages)
            if not self._put_to_sleep(site):
                self._wake(site, now)
            if site.trial is None and site.next_trial is None and site.has_share():
                self._watched.discard(site)
        return proven

    def _prove(self, proven: list[int], now: float, hosts_of_pages: NDArray[np.int32]) -> None:
        pages = np.flatnonzero(np.isin(hosts_of_pages, proven))
        hosts = hosts_of_pages[pages]
        for host in proven:
            site = self._site[host]
            if host == site.trial:
                site.trial, site.trial_sleeps = None, False
            self._leave_pool(site, host, pages[hosts == host], now)
            if host not in self._accepted:
                site.proven.append(host)
            for counts in (self._n_good, self._n_links, self._n_open):
                counts.pop(host, None)
        self._to_prove.difference_update(proven)

    def _see_to_trial(self, site: _Site, now: float, hosts_of_pages: NDArray[np.int32]) -> None:
        host = site.trial
        if host is not None and not self._n_open[host] and not self.frontier.has_pages(host):
            site.trial, site.trial_sleeps = None, False
            self._join_pool(site, [host], np.zeros(0, np.int64))
        host = site.next_trial
        if site.trial is None and host is not None and not self._n_open[host]:
            site.next_trial = None
            if host in site.pool:
                self._leave_pool(site, host, np.flatnonzero(hosts_of_pages == host), now)
                site.trial = host

    def _join_pool(self, site: _Site, hosts: list[int], pages: NDArray[np.int64]) -> None:
        self.frontier.share_turn(hosts, pages, next(iter(site.pool), None))
        if not site.pool:
            site.pool_sleeps = False
        site.pool |= dict.fromkeys(hosts)

    def _leave_pool(self, site: _Site, host: int, pages: NDArray[np.int64], now: float) -> None:
        """The host has a turn of its own, and rests, since it may have been asked a moment ago."""
        site.pool.pop(host, None)
        self.frontier.share_turn([host], pages)
        self._rest_until_next(site, host, now)

    def _put_to_sleep(self, site: _Site) -> bool:
        """Let those sleep whose share is spent, and the others while one is on trial; whether the former do."""
        is_spent = not site.has_share() and self._proven_ones_wait(site)
        if site.pool and not site.pool_sleeps and (is_spent or site.trial is not None):
            site.pool_sleeps = True
            self.frontier.rest(next(iter(site.pool)), _INF)
        if site.trial is not None and is_spent and not site.trial_sleeps:
            site.trial_sleeps = True
            self.frontier.rest(site.trial, _INF)
        return is_spent

    def _wake(self, site: _Site, now: float) -> None:
        if site.trial is None and site.pool_sleeps:
            site.pool_sleeps = False
            if site.pool:
                self._rest_until_next(site, next(iter(site.pool)), now)
        elif site.trial is not None and site.trial_sleeps:
            site.trial_sleeps = False
            self._rest_until_next(site, site.trial, now)

    def _rest_until_next(self, site: _Site, host: int, now: float) -> None:
        self.frontier.wake(host)
        self.frontier.rest(host, max(now + self.frontier.politeness.delay_s, site.rests_until))

    def _proven_ones_wait(self, site: _Site) -> bool:
        """Whether a proven host of the site has pages, or may get some from what is under way."""
        if site.n_under_way:
            return True
        for k, host in enumerate(site.proven):
            if self.frontier.has_pages(host):
                site.proven[0], site.proven[k] = host, site.proven[0]  # it probably has next time, too
                return True
        return False
