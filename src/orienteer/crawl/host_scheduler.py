"""Decides when a host may be requested, for pages, assets and host requests alike. Time is an argument.

A host is asked for by its name. Hosts of the crawl also have a number, and their slots are in its frontier; only the
Crawl changes them. The others, such as those that only serve images, have slots here: assets must not add hosts to the
crawl. The slot of a host that becomes known moves to the frontier.

    delay, connections   `take`, `free_at` and `Crawl.next` obey them (`politeness`)
    robots.txt           `rules` has what is allowed, the crawl delay, and the sitemaps (`host_rules`)
    health               after failures the crawl backs off, or abandons the host (`politeness`); a failed
                         asset says nothing about the pages of its host, which are never abandoned because of it
    probation            unproven hosts of a site share a slot (`probation`); the hosts of seeds are trusted,
                         those that a seed redirects to, and those with many pages before this run
    quick hosts          some workers are reserved for hosts that respond quickly (`QuickHosts`)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from heapq import nsmallest

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.frontier import Frontier
from orienteer.crawl.host_rules import HostRules
from orienteer.crawl.politeness import Failure, HostHealth, RetrySettings
from orienteer.crawl.probation import Probation
from orienteer.crawl.retries import Retries
from orienteer.crawl.seen import SeenUrls
from orienteer.pages.states import PageState
from orienteer.responses.response import Request
from orienteer.url import site_of

QUICK_S = 3.0

_MEMORY = 0.9  # the decay, per response, of the share of slow responses among hosts that are not quick
_MANY_SLOW = 0.1  # the share from which on half of the workers are reserved
_MAX_ASSET_FAILURES = 3  # in a row, before a host is abandoned for assets
_UPDATE_EVERY_S = 0.25
_MANY_PAGES = 20  # fetched from a host before this run


@dataclass(eq=False, slots=True)
class HostSlot:
    """Permission to send one request to a host.

    `host` is its number; None if the crawl does not know it. The slot is that of a `page` that the Crawl has selected,
    or was taken apart from pages (`slot`). `url` is displayed while the request is in flight.
    """

    name: str
    host: int | None = None
    page: int | None = None
    slot: int = 0
    url: str = ""
    started_at: float = 0.0
    was_quick: bool = True


@dataclass(eq=False, slots=True)
class _UnknownHost:
    """The slot of a host that the crawl does not know."""

    delay_s: float
    n_open: int = 0
    not_before: float = -math.inf


class HostScheduler:
    """The slots of all hosts, and the requests that hold them; `retries` schedules failed pages again."""

    def __init__(
        self, crawl: Crawl, seen: SeenUrls, rules: HostRules, retry: RetrySettings, n_workers: int, n_seeds: int
    ) -> None:
        self.rules = rules
        self.health = HostHealth(retry)  # by number, without assets
        self.asset_health = HostHealth(replace(retry, give_up_after=min(retry.give_up_after, _MAX_ASSET_FAILURES)))
        self.retries = Retries(crawl, self.health, self.is_shared)
        self._crawl, self._seen, self._n_seeds = crawl, seen, n_seeds
        self._politeness = crawl.politeness
        self._probation = Probation(crawl)
        self._quick = QuickHosts(crawl, n_workers)
        self._names: dict[int, str] = {}  # of hosts that were requested
        self._unknown: dict[str, _UnknownHost] = {}
        self._in_flight: dict[Request, HostSlot] = {}
        self._ended: list[HostSlot] = []  # of pages, since `drop_ended`
        self._n_hosts = 0  # when hosts were last registered
        self._next_update = 0.0

    # -- hosts --------------------------------------------------------------------------------------------------

    def number(self, name: str) -> int | None:
        """Return the crawl's number of a host; None if the crawl does not know it."""
        return self._seen.find_host(name)

    def name(self, host: int) -> str:
        """Return the name of a host of the crawl."""
        name = self._names.get(host)
        if name is None:
            name = self._names[host] = self._seen.host_name(host)
        return name

    def is_shared(self, host: int) -> bool:
        """Return whether the host shares its slot with others."""
        return self._probation.shares_slot(host)

    def has_waiting_page(self, name: str) -> bool:
        """Return whether the Crawl will request a page of this host."""
        host = self.number(name)
        return host is not None and not self._crawl.is_closed and self._crawl.has_pages(host)

    def register_hosts(self, now: float) -> None:
        """Add the hosts that the crawl has found since the last call; their own slots move to the frontier."""
        n_hosts, known = self._seen.n_hosts, self._n_hosts
        if n_hosts == known:
            return
        self._n_hosts = n_hosts
        if self._probation.is_active:
            trusted = self._trusted() if known == 0 else []
            sites = [site_of(self._seen.host_name(host)) for host in range(known, n_hosts)]
            self._probation.add_hosts(sites, self._seen.hosts, trusted)
        for name in list(self._unknown):
            if (host := self.number(name)) is not None:
                self._adopt(name, host, now)

    def follow_links(self, page: int, host: int, now: float, depth_of: Callable[[int], int]) -> None:
        """Register the hosts that a fetched page links to; a redirect from a seed passes on its trust."""
        if not self._probation.is_active or self._crawl.state(page) is not PageState.FETCHED:
            return
        self.register_hosts(now)
        links = self._crawl.web.links(page)
        hosts = self._seen.hosts[links]
        self._probation.add_links(host, hosts)
        if len(links) == 1 and depth_of(page) == depth_of(int(links[0])) == 0:
            self._probation.trust(int(hosts[0]))

    def update_if_due(self, now: float) -> None:
        """Give hosts that have passed their probation slots of their own, a few times a second."""
        if self._probation.is_active and now >= self._next_update:
            self._next_update = now + min(_UPDATE_EVERY_S, self._politeness.delay_s)
            for host in self._probation.update(now, self._seen.hosts):
                self.apply_delay(self.name(host), now)

    def apply_delay(self, name: str, now: float) -> None:
        """Apply the crawl delay of the host's robots.txt; a shared slot is snoozed for all of its hosts."""
        delay_s = self.rules.delay_s(name)
        if delay_s is None or delay_s <= self._politeness.delay_s:
            return
        host = self.number(name)
        if host is None:
            self._unknown_host(name).delay_s = delay_s
        elif self.is_shared(host):
            self._probation.snooze(host, now + delay_s)
        else:
            self._crawl.set_delay(host, delay_s)

    def _trusted(self) -> list[int]:
        hosts = self._seen.hosts
        fetched = np.flatnonzero(self._crawl.states() == PageState.FETCHED)
        n_fetched = np.bincount(hosts[fetched], minlength=1)
        return [*hosts[: self._n_seeds].tolist(), *np.flatnonzero(n_fetched >= _MANY_PAGES).tolist()]

    def _unknown_host(self, name: str) -> _UnknownHost:
        return self._unknown.setdefault(name, _UnknownHost(self._politeness.delay_s))

    def _adopt(self, name: str, host: int, now: float) -> None:
        """Move the slot of a host to the frontier."""
        own = self._unknown.pop(name)
        for held in self._in_flight.values():
            if held.name == name and held.host is None:
                self._open(held, host, math.inf)
        if own.not_before > now:
            self._crawl.snooze(host, own.not_before)
        self.apply_delay(name, now)

    # -- slots --------------------------------------------------------------------------------------------------

    def next_page(self, now: float) -> int | None:
        """Return the page to request now, which holds a slot of its host; None if there is none."""
        return self._crawl.next(now, self._quick.only_quick())

    def free_at(self, name: str, now: float) -> float:
        """Return when an asset of the host may be requested next; infinity: after one of its requests has ended."""
        retry_at = now + self.asset_health.back_off_left_s(name, now)
        host = self.number(name)
        if host is None:
            own = self._unknown.get(name)
            if own is None or not self._politeness.per_host:
                return retry_at
            return max(retry_at, math.inf if own.n_open >= self._politeness.connections else own.not_before)
        frontier = self._crawl.frontier
        if self._crawl.stopped_because is not None and frontier.is_snoozed_indefinitely(host):
            # It waits for hosts that share its slot, and the stopped crawl will not request those.
            self._crawl.wake(host)
            self._crawl.snooze(host, now + self._politeness.delay_s)
        return max(retry_at, frontier.slot_free_at(host))

    def start(self, request: Request, slot: HostSlot, now: float) -> None:
        """Record a request that was sent in the slot of a page."""
        assert slot.host is not None
        self._probation.request_started(slot.host)
        slot.was_quick = self._quick.start(slot.host)
        slot.started_at = now
        self._in_flight[request] = slot

    def take(self, request: Request, name: str, now: float) -> None:
        """Take a slot of the host for an asset or host request; one must be free (`free_at`)."""
        slot, host = HostSlot(name, started_at=now), self.number(name)
        if host is None:
            self._unknown_host(name).n_open += 1
        else:
            self._open(slot, host, now)
        self._in_flight[request] = slot

    def _open(self, held: HostSlot, host: int, now: float) -> None:
        slot = self._crawl.take_slot(host, now)
        if slot is not None:
            held.host, held.slot = host, slot
            self._probation.request_started(host)

    def end(
        self, request: Request, now: float, status: int = 0, duration_s: float = 0.0, is_page: bool = False
    ) -> HostSlot:
        """Return the slot of a request that has ended, and release it: the delay begins now.

        The Crawl releases the slot of a page when it applies the page's event; `is_page` if it was fetched.
        """
        slot = self._in_flight.pop(request)
        host = slot.host
        if slot.page is not None:
            assert host is not None
            self._quick.end(host, slot.was_quick, status > 0, duration_s)
            self._probation.request_ended(host, is_page)
            self._ended.append(slot)
        elif host is not None:
            self._crawl.end_slot(slot.slot, now)
            self._probation.request_ended(host, False)
            self.released(slot, now)
        elif (own := self._unknown.get(slot.name)) is not None:
            own.n_open -= 1
            own.not_before = max(own.not_before, now + own.delay_s)
        return slot

    def released(self, slot: HostSlot, now: float) -> None:
        """Apply the crawl delay to a shared slot after a request, when the Crawl has released it."""
        if slot.host is not None and self.is_shared(slot.host):
            self.apply_delay(slot.name, now)

    def drop_ended(self) -> None:
        """Drop requests that have ended from the display."""
        self._ended.clear()

    def longest_in_flight(self, n: int) -> list[HostSlot]:
        """Return the pages and host requests that have been in flight longest.

        Ended ones are listed until the next ones start. So a display shows what the crawl was busy with, even while
        responses are processed.
        """
        slots: Iterable[HostSlot] = (*self._ended, *self._in_flight.values())
        return nsmallest(n, (slot for slot in slots if slot.page is not None), key=lambda slot: slot.started_at)

    # -- health -------------------------------------------------------------------------------------------------

    def record_success(self, slot: HostSlot) -> None:
        """Record a success of a host request, for pages or for assets."""
        if slot.page is not None and slot.host is not None:
            self.health.record_success(slot.host)
        else:
            self.asset_health.record_success(slot.name)

    def is_abandoned_for_assets(self, name: str) -> bool:
        host = self.number(name)
        return self.asset_health.is_abandoned(name) or (host is not None and self.health.is_abandoned(host))

    def record_asset_failure(self, name: str, key: str | None, failure: Failure, now: float) -> float | None:
        """Record a failed request for an asset (`key`) or robots.txt; return the back-off, None once abandoned.

        A shared slot is not snoozed, to spare the other hosts.
        """
        back_off_s = self.asset_health.record(name, key, failure, now)
        if back_off_s:
            host = self.number(name)
            if host is None:
                own = self._unknown_host(name)
                own.not_before = max(own.not_before, now + back_off_s)
            elif not self.is_shared(host):
                self._crawl.snooze(host, now + back_off_s)
        return back_off_s


class QuickHosts:
    """Reserves workers for fast hosts, so that slow hosts do not hold all of them.

    A host is *quick* if its last response came within three seconds; a host without a response is not. While quick
    hosts have pages (even in a crawl delay), one worker in eight is reserved for them, or half of the workers while
    many new hosts turn out to be slow: but no more than there are quick hosts that could use them.
    """

    def __init__(self, slots: Crawl | Frontier, n_workers: int) -> None:
        self._slots, self._n_workers = slots, n_workers
        self._quick: set[int] = set()
        self._n_others = 0  # requests in flight to hosts that are not quick
        self._slow_share = 0.0

    def only_quick(self) -> bool:
        """Return whether the free workers are reserved for quick hosts."""
        reserved = self._n_workers // 2 if self._slow_share > _MANY_SLOW else self._n_workers // 8 + 1
        n_usable = self._slots.n_quick_waiting * self._slots.politeness.connections
        return self._n_others >= self._n_workers - min(reserved, self._n_workers // 2, n_usable)

    def start(self, host: int) -> bool:
        """Count a request that was started; return whether its host is quick."""
        is_quick = host in self._quick
        self._n_others += not is_quick
        return is_quick

    def end(self, host: int, was_quick: bool, has_response: bool, duration_s: float) -> None:
        """Count the end of a request; `was_quick` is what `start` returned."""
        is_quick = has_response and duration_s <= QUICK_S
        if not was_quick:
            self._n_others -= 1
            self._slow_share = _MEMORY * self._slow_share + (1 - _MEMORY) * (duration_s > QUICK_S)
        if is_quick != (host in self._quick):
            (self._quick.add if is_quick else self._quick.remove)(host)
        self._slots.set_quick(host, is_quick)
