"""The frontier: which page to fetch now.

Each host has a heap of its pages by priority. A host is *ready* when it may be asked now and has a page; ready hosts
are in a heap by their best page. A host that must rest is in a heap by the time it may be asked again; one whose
connections are all in use is in neither. So the best page whose host may be asked now is found in O(log) of the hosts
and pages. The heaps are in `host_heaps.py`.

Hosts may share a turn: then they are asked as if they were one host (`probation.py` says which do, and why). Hosts may
be called quick: when few workers are free, only the pages of these are handed out.

Priorities are the frontier's own, or those of a policy, which keeps them by page anyway (`share`): a page then has the
priority that the policy has for it, unless it was `put` here with another one, until it is changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.frontier import host_heaps as heaps
from orienteer.frontier.host_heaps import LAST
from orienteer.frontier.politeness import ANY_TIME, Politeness
from orienteer.graph.page_hosts import PageHosts
from orienteer.graph.sparse import Sparse

__all__ = ["LAST", "Frontier"]

_NOT_ORDERED = ValueError("a priority is not a number")
_NOT_AN_ID = ValueError(f"pages are numbered from 0 to {heaps.MAX_PAGES - 1:,}, hosts from 0 to 2,147,483,647")


class Frontier:
    """Pages with priorities; `take` hands out the best whose host may be asked.

    Its whole state is in arrays and numbers, so that it can be written down as it is.

    >>> frontier = Frontier(Politeness(delay_s=1.0))
    >>> frontier.put([0, 1, 2], [0.3, 0.9, 0.5], hosts=[7, 7, 8])
    >>> frontier.take(now=0.0), frontier.take(now=0.0), frontier.take(now=0.0)
    ((1, 0.9), (2, 0.5), None)
    """

    def __init__(self, politeness: Politeness = ANY_TIME, hosts: PageHosts | None = None) -> None:
        """`hosts` are those of the pages, if somebody else knows them already: then none need be named here."""
        self.politeness = politeness
        self._hosts = hosts or PageHosts()
        self._pages: NDArray[Any] = np.zeros(1024, heaps.PAGE)
        self._priority: NDArray[np.float64] = np.zeros(1024)
        self._is_shared = False  # the priorities
        self._apart = Sparse(np.float64)  # priorities of pages that do not have the one that is shared
        self._turn_of: NDArray[np.uint32] = np.zeros(64, np.uint32)
        self._turns: NDArray[Any] = np.zeros(64, heaps.TURN)
        self._ready: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._quick: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._resting: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._counts: NDArray[np.int64] = np.zeros(10, np.int64)
        self._now = 0.0  # of the last `take`: rests that were over by then are over

    def __len__(self) -> int:
        return int(self._counts[heaps.PAGES])

    def __contains__(self, page: int) -> bool:
        return 0 <= page < len(self._pages) - 1 and bool(self._pages["before"][page + 1])

    def priority(self, page: int) -> float:
        if page not in self:
            raise KeyError(page)
        return self.own_priority(page)[0]

    def own_priority(self, page: int) -> tuple[float, bool]:
        """The priority of a page that is here, and whether it is its own, other than the one that is shared."""
        if not int(self._pages["before"][page + 1]) & heaps.APART:
            return float(self._priority[page]), False
        own = self._apart.get(int(page))
        return LAST if own is None else own, True

    def share(self, priorities: NDArray[np.float64]) -> None:
        """Priorities are in this array of somebody else's from now on, who only raises those of pages that are here,
        and says so (`follow`). There is a place for every page."""
        if not self._is_shared and len(self):
            raise ValueError("the frontier has priorities of its own")
        self._priority, self._is_shared = priorities, True

    def put(self, pages: ArrayLike, priorities: ArrayLike, hosts: ArrayLike | None = None) -> None:
        """Add pages, or change the priority of those that are here; of a page named twice the last counts."""
        ids, values = _page_ids(pages), np.ascontiguousarray(priorities, np.float64)
        if len(ids) != len(values):
            raise ValueError(f"a batch of {len(ids)} pages and {len(values)} priorities: expected as many of each")
        if hosts is not None:
            self._set_hosts(ids, np.ascontiguousarray(hosts, np.int32), also_here=True)
        if self._is_shared:
            self._set_apart(ids, values)
        else:
            self._apply(heaps.put, ids, values)

    def add(self, pages: ArrayLike, hosts: ArrayLike | None = None) -> None:
        """Add the pages that are not here, with priority 0; of those here, the LAST ones have it now, too.

        Where priorities are shared they have the shared one instead.
        """
        ids = _page_ids(pages)
        if hosts is not None:
            self._set_hosts(ids, np.ascontiguousarray(hosts, np.int32), also_here=False)
        states = np.zeros(int(ids.max(initial=0)) + 1, np.uint8)
        self._apply(heaps.follow, ids[:0], ids, states, self._is_shared)

    def follow(self, changed: NDArray[Any], links: NDArray[Any], states: NDArray[np.uint8]) -> None:
        """Shared priorities of `changed` pages have grown, and a page was fetched that has these `links`.

        Of these pages only those may wait that are known and not fetched by the `states`; see `add`.
        """
        self._apply(heaps.follow, changed, links, states, self._is_shared)

    def enter(self, pages: NDArray[Any]) -> None:
        """Add pages that are not here, by the priorities that are shared."""
        self._apply(heaps.enter, pages, False)

    def remove(self, page: int) -> None:
        """Forget a page, if it is here."""
        if page in self:
            heaps.remove(*self._heaps(), int(page), self._connections(), self._now)

    def take(self, now: float, only_quick: bool = False) -> tuple[int, float] | None:
        """The best page whose host may be asked now, and its priority; the host has one connection more. Or None."""
        taken = self.take_out(now, only_quick)
        return None if taken is None else (taken[0], taken[1])

    def take_out(self, now: float, only_quick: bool = False) -> tuple[int, float, bool] | None:
        """The same, and whether that is a priority of its own, other than the one that is shared."""
        self._now = float(now)
        taken: tuple[int, float, bool] = heaps.take(*self._heaps(), bool(only_quick), self._connections(), self._now)
        return None if taken[0] < 0 else taken

    def release(self, host: int, now: float, delay_s: float | None = None, page: int | None = None) -> None:
        """A request to the host has ended: it rests for its delay (another one, if given).

        With the `page` that was taken, that is the turn it took, whosever turn the host's pages wait for by now.
        """
        if self.politeness.per_host:
            turn = self._turn(host)
            if page is not None and page + 1 < len(self._pages) and page not in self:
                turn = int(self._pages["after"][page + 1]) or turn
            wait = self.politeness.delay_s if delay_s is None else delay_s
            heaps.release(
                *self._heaps(), turn, float(now), float(wait), delay_s is not None, self._connections(), self._now
            )

    def take_turn(self, host: int, now: float) -> int | None:
        """The turn of a host for something that is no page of the crawl, if the host may be asked now; or None.

        It has one connection more until the turn is given back (`end_turn`).
        """
        if not self.politeness.per_host:
            return 0
        turn = self._turn(host)
        state = self._turns[turn]
        if state["n_open"] >= self.politeness.connections or state["rests_until"] > now:
            return None
        state["n_open"] += 1
        heaps.rest(*self._heaps(), turn, -np.inf, self._connections(), self._now)
        return turn

    def end_turn(self, turn: int, now: float) -> None:
        """A request that took a turn has ended: as `release` has it, whosever turn the host has by now."""
        if self.politeness.per_host:
            delay_s = float(self.politeness.delay_s)
            heaps.release(*self._heaps(), turn, float(now), delay_s, False, self._connections(), self._now)

    def turn_free_at(self, host: int) -> float:
        """From when on the host may be asked; infinity while as many requests are under way as it may have."""
        if not self.politeness.per_host:
            return -np.inf
        state = self._turns[self._turn(host)]
        return np.inf if state["n_open"] >= self.politeness.connections else float(state["rests_until"])

    def sleeps(self, host: int) -> bool:
        """Whether the host rests until somebody wakes it."""
        return self.politeness.per_host and float(self._turns[self._turn(host)]["rests_until"]) == np.inf

    def set_delay(self, host: int, delay_s: float) -> None:
        """From now on the host has a delay of its own, such as its robots.txt asks for."""
        if not 0 <= delay_s < float("inf"):
            raise InputError(f"delay_s is {delay_s}; it must be 0 or more seconds")
        turn = self._turn(host)
        self._turns[turn]["delay_s"] = delay_s
        self._turns[turn]["has_delay"] = True

    def rest(self, host: int, until: float) -> None:
        """The host must not be asked before that time."""
        if self.politeness.per_host:
            turn = self._turn(host)  # before the heaps: a new host makes them larger
            heaps.rest(*self._heaps(), turn, float(until), self._connections(), self._now)

    def wake(self, host: int) -> None:
        """The host may be asked again, however long it should have rested."""
        if self.politeness.per_host:
            turn = self._turn(host)
            heaps.wake(*self._heaps(), turn, self._connections(), self._now)

    def set_quick(self, host: int, is_quick: bool) -> None:
        """Whether the host answers quickly, by what is known of it."""
        if self.politeness.per_host:
            turn = self._turn(host)
            if bool(self._turns[turn]["is_quick"]) != is_quick:
                heaps.set_quick(*self._heaps(), turn, is_quick, self._connections(), self._now)

    @property
    def n_quick_waiting(self) -> int:
        """The quick hosts that have pages here, whether they may be asked now or not."""
        return int(self._counts[heaps.QUICK_WAITING])

    def has_pages(self, host: int) -> bool:
        """Whether a page waits for the turn of this host."""
        turn = self._turn(host)
        return bool(self._turns[turn]["best"])

    def n_waiting_by_turn(self) -> NDArray[np.int64]:
        """How many pages wait for each turn."""
        return self.n_by_turn(np.flatnonzero(self._pages["before"][1:]))

    def n_by_turn(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of these pages have each turn; where hosts are not looked at there is one for all."""
        if not self.politeness.per_host:
            return np.array([len(pages)])
        return np.bincount(self._turn_of[self._hosts.array[pages]])

    def share_turn(self, hosts: ArrayLike, pages: ArrayLike, with_host: int | None = None) -> None:
        """From now on these hosts have one turn, that which `with_host` has now, or else a new one.

        `pages` are all their pages that are here, which wait for that turn, and perhaps others, which do not.
        """
        ids = np.asarray(hosts, np.int64)
        if not self.politeness.per_host or len(ids) == 0:
            return
        self._know_hosts(int(max(ids.max(), -1 if with_host is None else with_host)) + 1)
        moved = _page_ids(pages)
        moved = moved[self.are_here(moved)]
        is_apart = self._pages["before"][moved.astype(np.int64) + 1] & heaps.APART != 0
        for page in moved.tolist():
            heaps.remove(*self._heaps(), page, self._connections(), self._now)
        self._turn_of[ids] = self._new_turns(1)[0] if with_host is None else self._turn_of[with_host]
        self._apply(heaps.enter, moved[~is_apart], False)
        self._apply(heaps.enter, moved[is_apart], True)

    def next_time(self) -> float | None:
        """When the next rest ends of a host that has pages and a free connection; None if no such host rests.

        Once `take` has answered None, this is the earliest time to ask it again, unless a request ends before.
        """
        return -float(self._resting[1]["key"]) if self._counts[heaps.RESTING] else None

    def all(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """All pages in order of their ids, and their priorities."""
        pages = np.flatnonzero(self._pages["before"][1:])
        return pages.astype(np.uint32), self._values(pages)

    def best_first(self, n: int) -> list[tuple[int, float]]:
        """The n best pages with their priorities, whatever their hosts. It looks at all pages."""
        pages, priorities = self.all()
        if 0 < n < len(pages):
            may_be_among = priorities >= np.partition(priorities, len(pages) - n)[len(pages) - n]
            pages, priorities = pages[may_be_among], priorities[may_be_among]
        order = np.lexsort((pages, -priorities))[: max(n, 0)]
        return list(zip(pages[order].tolist(), priorities[order].tolist(), strict=True))

    def position(self, page: int) -> int:
        """How many pages come before this one, whatever their hosts. It looks at all pages."""
        own = self.priority(page)
        pages, priorities = self.all()
        return int(np.count_nonzero((priorities > own) | ((priorities == own) & (pages < page))))

    def _values(self, pages: NDArray[Any]) -> NDArray[np.float64]:
        """The priorities of pages that are here."""
        values: NDArray[np.float64] = self._priority[pages]
        for k in np.flatnonzero(self._pages["before"][pages + 1] & heaps.APART).tolist():
            own = self._apart.get(int(pages[k]))
            values[k] = LAST if own is None else own
        return values

    def are_here(self, pages: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these pages are here."""
        places = pages.astype(np.int64) + 1
        is_place = (places > 0) & (places < len(self._pages))
        are_here: NDArray[np.bool_] = is_place & (self._pages["before"][np.where(is_place, places, 0)] != 0)
        return are_here

    def _set_apart(self, pages: NDArray[Any], values: NDArray[np.float64]) -> None:
        """Let pages have priorities of their own."""
        if np.isnan(values).any():
            raise _NOT_ORDERED
        if len(pages) and not 0 <= int(pages.min()) <= int(pages.max()) < heaps.MAX_PAGES:
            raise _NOT_AN_ID
        for page in pages[self.are_here(pages)].tolist():
            self.remove(page)
        if self._apart.n or not (values == LAST).all():  # what is not found there is LAST
            self._apart.set(pages, values)
        self._apply(heaps.enter, pages, True)

    def _set_hosts(self, pages: NDArray[Any], hosts: NDArray[np.int32], also_here: bool) -> None:
        """Pages are on these hosts; those that are here and were on another one come out first."""
        if len(pages) != len(hosts):
            raise ValueError(f"a batch of {len(pages)} pages and {len(hosts)} hosts: expected as many of each")
        if len(pages) == 0:
            return
        if not 0 <= int(pages.min()) <= int(pages.max()) < heaps.MAX_PAGES or int(hosts.min()) < 0:
            raise _NOT_AN_ID
        self._hosts.know(int(pages.max()) + 1)
        if self.politeness.per_host:
            is_here = self.are_here(pages)
            if also_here:
                for page in pages[is_here & (self._hosts.array[pages] != hosts)].tolist():
                    self.remove(page)
            else:
                pages, hosts = pages[~is_here][::-1], hosts[~is_here][::-1]  # of a page named twice the first counts
        self._hosts.set(pages, hosts)

    def _heaps(self) -> tuple[NDArray[Any], ...]:
        return (
            self._pages, self._priority, self._apart.keys, self._apart.values, self._hosts.array, self._turn_of,
            self._turns, self._ready, self._quick, self._resting, self._counts,
        )  # fmt: skip

    def _connections(self) -> int:
        return self.politeness.connections if self.politeness.per_host else heaps.ANY_NUMBER

    def _apply(self, kernel: Any, pages: NDArray[Any], *rest: Any) -> None:
        """Call the kernel with a batch, and again with room for it where there was none."""
        answer = kernel(*self._heaps(), pages, *rest, self._connections(), self._now)
        while answer == heaps.LACKS_ROOM:
            n_pages = int(self._counts[heaps.ROOM_FOR_PAGES])
            self._pages = grown(self._pages, n_pages)
            if not self._is_shared:
                self._priority = grown(self._priority, n_pages)
            elif len(self._priority) < n_pages - 1:
                raise ValueError(f"there are {len(self._priority)} priorities, and none of page {n_pages - 2}")
            self._hosts.know(n_pages)
            self._know_hosts(int(self._counts[heaps.ROOM_FOR_HOSTS]))
            answer = kernel(*self._heaps(), pages, *rest, self._connections(), self._now)
        if answer == heaps.NOT_ORDERED:
            raise _NOT_ORDERED
        if answer == heaps.NOT_AN_ID:
            raise _NOT_AN_ID

    def _turn(self, host: int) -> int:
        if host < 0:
            raise ValueError(f"host is {host}; hosts are numbered from 0")
        if host >= len(self._turn_of) or not self._turn_of[host]:
            self._know_hosts(int(host) + 1)
        return int(self._turn_of[host])

    def _know_hosts(self, n_hosts: int) -> None:
        """There are so many hosts; each new one has a turn of its own."""
        n_known = int(self._counts[heaps.HOSTS])
        if n_hosts > n_known:
            self._turn_of = grown(self._turn_of, n_hosts)
            self._turn_of[n_known:n_hosts] = self._new_turns(n_hosts - n_known)
            self._counts[heaps.HOSTS] = n_hosts

    def _new_turns(self, n: int) -> NDArray[np.int64]:
        first = int(self._counts[heaps.TURNS]) + 1
        self._counts[heaps.TURNS] += n
        self._turns = grown(self._turns, first + n)
        self._ready, self._quick = grown(self._ready, first + n), grown(self._quick, first + n)
        self._resting = grown(self._resting, first + n)
        return np.arange(first, first + n)


def _page_ids(pages: ArrayLike) -> NDArray[Any]:
    """Page ids in one of the two widths that kernels are compiled for; arrays of these stay as they are."""
    ids = np.ascontiguousarray(pages)
    if ids.dtype == np.uint32 or ids.dtype == np.int64:
        return ids
    if ids.dtype.kind not in "iu" and len(ids) > 0:
        raise TypeError(f"pages are whole numbers, not {ids.dtype}")
    return ids.astype(np.int64)
