"""The frontier: the pages to fetch, and the choice of the next one.

Each host has a heap of its pages by priority. A host is *ready* when politeness allows a request now and it has a page;
ready hosts are in a heap by their best page. A host that must wait is *snoozed*, in a heap by the time of its next
request; a host whose connections are all in use is in neither heap. So finding the best page that may be requested
now takes logarithmic time in the numbers of hosts and pages. The heaps are in `host_heaps.py`.

Each host has a *slot*. Hosts may share one and then count as one host (`probation.py` decides which, and why). Hosts
may be marked as quick: when few workers are free, `take` returns pages of quick hosts only.

Priorities are stored here, or in an array of the policy (`share`). Then `put` overrides the shared priority of a page
until the policy changes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.crawl import host_heaps as heaps
from orienteer.crawl.host_heaps import LAST
from orienteer.crawl.politeness import ANY_TIME, Politeness
from orienteer.errors import InputError
from orienteer.graph.growing_graph import PageHosts
from orienteer.graph.sparse import Sparse

__all__ = ["LAST", "Frontier"]

_NOT_ORDERED = ValueError("a priority is not a number")
_NOT_AN_ID = ValueError(f"pages are numbered from 0 to {heaps.MAX_PAGES - 1:,}, hosts from 0 to 2,147,483,647")


class Frontier:
    """Pages with priorities; `take` returns the best one whose host may be requested.

    Its whole state is in arrays and numbers, so that it can be saved as it is.

    >>> hosts = PageHosts()
    >>> hosts.set([0, 1, 2], [7, 7, 8])
    >>> frontier = Frontier(Politeness(delay_s=1.0), hosts)
    >>> frontier.put([0, 1, 2], [0.3, 0.9, 0.5])
    >>> frontier.take(now=0.0), frontier.take(now=0.0), frontier.take(now=0.0)
    ((1, 0.9), (2, 0.5), None)
    """

    def __init__(self, politeness: Politeness = ANY_TIME, hosts: PageHosts | None = None) -> None:
        """`hosts` are those of all pages, which the caller keeps up to date; without them all are on host 0."""
        self.politeness = politeness
        self._hosts = hosts or PageHosts()
        self._pages: NDArray[Any] = np.zeros(1024, heaps.PAGE)
        self._priority: NDArray[np.float64] = np.zeros(1024)
        self._is_shared = False  # whether the priorities are those of the policy
        self._apart = Sparse(np.float64)  # priorities that override the shared ones
        self._slot_of: NDArray[np.uint32] = np.zeros(64, np.uint32)
        self._slots: NDArray[Any] = np.zeros(64, heaps.SLOT)
        self._ready: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._quick: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._snoozed: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._counts: NDArray[np.int64] = np.zeros(10, np.int64)
        self._now = 0.0  # of the last `take`: hosts that were free by then are ready

    def __len__(self) -> int:
        return int(self._counts[heaps.PAGES])

    def __contains__(self, page: int) -> bool:
        return 0 <= page < len(self._pages) - 1 and bool(self._pages["before"][page + 1])

    def priority(self, page: int) -> float:
        if page not in self:
            raise KeyError(page)
        return self.own_priority(page)[0]

    def own_priority(self, page: int) -> tuple[float, bool]:
        """Return the priority of a page in the frontier, and whether it overrides the shared one."""
        if not int(self._pages["before"][page + 1]) & heaps.APART:
            return float(self._priority[page]), False
        own = self._apart.get(int(page))
        return LAST if own is None else own, True

    def share(self, priorities: NDArray[np.float64]) -> None:
        """Use the priorities in this array of the policy, with an item for every page, from now on.

        The policy may only raise the priorities of pages in the frontier, and must report which ones (`follow`).
        """
        if not self._is_shared and len(self):
            raise ValueError("the frontier has its own priorities")
        self._priority, self._is_shared = priorities, True

    def put(self, pages: ArrayLike, priorities: ArrayLike) -> None:
        """Add pages, or change the priority of those in the frontier; the last of repeated pages counts."""
        ids, values = _page_ids(pages), np.ascontiguousarray(priorities, np.float64)
        if len(ids) != len(values):
            raise ValueError(f"a batch of {len(ids)} pages and {len(values)} priorities: expected as many of each")
        if self._is_shared:
            self._set_overrides(ids, values)
        else:
            self._apply(heaps.put, ids, values)

    def follow(self, changed: NDArray[Any], links: NDArray[Any], states: NDArray[np.uint8]) -> None:
        """Reorder after a page with these `links` was fetched and shared priorities of `changed` pages have grown.

        Only pages that are KNOWN by their `states` enter the frontier. Targets that are not in it enter with priority
        0, and those with priority LAST get 0 as well; with shared priorities they get the shared one instead.
        """
        self._apply(heaps.follow, changed, links, states, self._is_shared)

    def enter(self, pages: NDArray[Any]) -> None:
        """Add pages that are not in the frontier, with their shared priorities."""
        self._apply(heaps.enter, pages, False)

    def remove(self, page: int) -> None:
        """Remove a page, if it is in the frontier."""
        if page in self:
            heaps.remove(*self._heaps(), int(page), self._connections(), self._now)

    def take(self, now: float, only_quick: bool = False) -> tuple[int, float] | None:
        """Take the best page whose host may be requested now, with its priority; None if there is none.

        It opens one connection of the host, until `release`.
        """
        taken = self.take_entry(now, only_quick)
        return None if taken is None else (taken[0], taken[1])

    def take_entry(self, now: float, only_quick: bool = False) -> tuple[int, float, bool] | None:
        """Do the same as `take`, and also return whether the priority overrides the shared one."""
        self._now = float(now)
        taken: tuple[int, float, bool] = heaps.take(*self._heaps(), bool(only_quick), self._connections(), self._now)
        return None if taken[0] < 0 else taken

    def release(self, host: int, now: float, delay_s: float | None = None, page: int | None = None) -> None:
        """End a request to the host and start its delay (or `delay_s`, if given).

        With the `page` that was taken, this ends the request of the slot it was taken from, even if the host has
        another slot by now.
        """
        if self.politeness.per_host:
            slot = self._slot(host)
            if page is not None and page + 1 < len(self._pages) and page not in self:
                slot = int(self._pages["after"][page + 1]) or slot
            wait = self.politeness.delay_s if delay_s is None else delay_s
            heaps.release(
                *self._heaps(), slot, float(now), float(wait), delay_s is not None, self._connections(), self._now
            )

    def take_slot(self, host: int, now: float) -> int | None:
        """Take the slot of a host for a request other than a page; None if the host may not be requested now.

        It opens one connection of the host, until `end_slot`.
        """
        if not self.politeness.per_host:
            return 0
        slot = self._slot(host)
        state = self._slots[slot]
        if state["n_open"] >= self.politeness.connections or state["free_at"] > now:
            return None
        state["n_open"] += 1
        heaps.snooze(*self._heaps(), slot, -np.inf, self._connections(), self._now)
        return slot

    def end_slot(self, slot: int, now: float) -> None:
        """End a request of `take_slot`: as `release`, even if the host has another slot by now."""
        if self.politeness.per_host:
            delay_s = float(self.politeness.delay_s)
            heaps.release(*self._heaps(), slot, float(now), delay_s, False, self._connections(), self._now)

    def slot_free_at(self, host: int) -> float:
        """Return when the host may be requested next; infinity while all its connections are in use."""
        if not self.politeness.per_host:
            return -np.inf
        state = self._slots[self._slot(host)]
        return np.inf if state["n_open"] >= self.politeness.connections else float(state["free_at"])

    def is_snoozed_indefinitely(self, host: int) -> bool:
        """Whether the host is snoozed until `wake`, without a time."""
        return self.politeness.per_host and float(self._slots[self._slot(host)]["free_at"]) == np.inf

    def set_delay(self, host: int, delay_s: float) -> None:
        """Give the host its own delay from now on, such as the Crawl-delay of its robots.txt."""
        if not 0 <= delay_s < float("inf"):
            raise InputError(f"delay_s is {delay_s}; it must be 0 or more seconds")
        slot = self._slot(host)
        self._slots[slot]["delay_s"] = delay_s
        self._slots[slot]["has_delay"] = True

    def snooze(self, host: int, until: float) -> None:
        """Return no page of the host from `take` before that time."""
        if self.politeness.per_host:
            slot = self._slot(host)  # before `_heaps`: a new host may reallocate the arrays
            heaps.snooze(*self._heaps(), slot, float(until), self._connections(), self._now)

    def wake(self, host: int) -> None:
        """End the snooze of the host: it may be requested now."""
        if self.politeness.per_host:
            slot = self._slot(host)
            heaps.wake(*self._heaps(), slot, self._connections(), self._now)

    def set_quick(self, host: int, is_quick: bool) -> None:
        """Mark the host as one that responds quickly, or not."""
        if self.politeness.per_host:
            slot = self._slot(host)
            if bool(self._slots["is_quick"][slot]) != is_quick:
                heaps.set_quick(*self._heaps(), slot, is_quick, self._connections(), self._now)

    @property
    def n_quick_waiting(self) -> int:
        """The number of quick hosts that have pages in the frontier, ready or not."""
        return int(self._counts[heaps.QUICK_WAITING])

    def has_pages(self, host: int) -> bool:
        """Whether a page waits for the slot of this host."""
        slot = self._slot(host)
        return bool(self._slots[slot]["best"])

    def n_waiting_by_slot(self) -> NDArray[np.int64]:
        """Count the pages that wait for each slot."""
        return self.n_by_slot(np.flatnonzero(self._pages["before"][1:]))

    def n_by_slot(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count these pages by slot; without politeness per host there is one slot for all."""
        if not self.politeness.per_host:
            return np.array([len(pages)])
        return np.bincount(self._slot_of[self._hosts.array[pages]])

    def share_slot(self, hosts: ArrayLike, pages: ArrayLike, with_host: int | None = None) -> None:
        """Let these hosts share one slot from now on: that of `with_host`, or else a new one.

        `pages` are all their pages in the frontier, which move to that slot; others are ignored.
        """
        ids = np.asarray(hosts, np.int64)
        if not self.politeness.per_host or len(ids) == 0:
            return
        self._grow_hosts(int(max(ids.max(), -1 if with_host is None else with_host)) + 1)
        moved = _page_ids(pages)
        moved = moved[self.contains_each(moved)]
        overrides = self._pages["before"][moved.astype(np.int64) + 1] & heaps.APART != 0
        for page in moved.tolist():
            heaps.remove(*self._heaps(), page, self._connections(), self._now)
        self._slot_of[ids] = self._new_slots(1)[0] if with_host is None else self._slot_of[with_host]
        self._apply(heaps.enter, moved[~overrides], False)
        self._apply(heaps.enter, moved[overrides], True)

    def next_time(self) -> float | None:
        """Return when the next snoozed host with pages and a free connection becomes ready; None if there is none.

        Once `take` has returned None, this is the earliest time to call it again, unless a request ends before.
        """
        return -float(self._snoozed[1]["key"]) if self._counts[heaps.SNOOZED] else None

    def all(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return all pages in order of their ids, and their priorities."""
        pages = np.flatnonzero(self._pages["before"][1:])
        return pages.astype(np.uint32), self._values(pages)

    def best_first(self, n: int) -> list[tuple[int, float]]:
        """Return the n best pages with their priorities, ignoring hosts. It scans all pages."""
        pages, priorities = self.all()
        if 0 < n < len(pages):
            is_candidate = priorities >= np.partition(priorities, len(pages) - n)[len(pages) - n]
            pages, priorities = pages[is_candidate], priorities[is_candidate]
        order = np.lexsort((pages, -priorities))[: max(n, 0)]
        return list(zip(pages[order].tolist(), priorities[order].tolist(), strict=True))

    def position(self, page: int) -> int:
        """Return how many pages come before this one, ignoring hosts. It scans all pages."""
        own = self.priority(page)
        pages, priorities = self.all()
        return int(np.count_nonzero((priorities > own) | ((priorities == own) & (pages < page))))

    def _values(self, pages: NDArray[Any]) -> NDArray[np.float64]:
        """Return the priorities of pages in the frontier."""
        values: NDArray[np.float64] = self._priority[pages]
        for k in np.flatnonzero(self._pages["before"][pages + 1] & heaps.APART).tolist():
            own = self._apart.get(int(pages[k]))
            values[k] = LAST if own is None else own
        return values

    def contains_each(self, pages: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the pages that are in the frontier."""
        rows = pages.astype(np.int64) + 1
        is_row = (rows > 0) & (rows < len(self._pages))
        mask: NDArray[np.bool_] = is_row & (self._pages["before"][np.where(is_row, rows, 0)] != 0)
        return mask

    def _set_overrides(self, pages: NDArray[Any], values: NDArray[np.float64]) -> None:
        """Insert pages with priorities that override the shared ones."""
        if np.isnan(values).any():
            raise _NOT_ORDERED
        if len(pages) and not 0 <= int(pages.min()) <= int(pages.max()) < heaps.MAX_PAGES:
            raise _NOT_AN_ID
        for page in pages[self.contains_each(pages)].tolist():
            self.remove(page)
        if self._apart.n or not (values == LAST).all():  # a page without an entry is LAST
            self._apart.set(pages, values)
        self._apply(heaps.enter, pages, True)

    def _heaps(self) -> tuple[NDArray[Any], ...]:
        return (
            self._pages, self._priority, self._apart.keys, self._apart.values, self._hosts.array, self._slot_of,
            self._slots, self._ready, self._quick, self._snoozed, self._counts,
        )  # fmt: skip

    def _connections(self) -> int:
        return self.politeness.connections if self.politeness.per_host else heaps.ANY_NUMBER

    def _apply(self, kernel: Any, pages: NDArray[Any], *others: Any) -> None:
        """Call the kernel with a batch; if the arrays are too small, grow them and call it again."""
        status = kernel(*self._heaps(), pages, *others, self._connections(), self._now)
        while status == heaps.LACKS_ROOM:
            n_pages = int(self._counts[heaps.ROOM_FOR_PAGES])
            self._pages = grown(self._pages, n_pages)
            if not self._is_shared:
                self._priority = grown(self._priority, n_pages)
            elif len(self._priority) < n_pages - 1:
                raise ValueError(f"there are {len(self._priority)} priorities, and none of page {n_pages - 2}")
            self._hosts.grow_to(n_pages)
            self._grow_hosts(int(self._counts[heaps.ROOM_FOR_HOSTS]))
            status = kernel(*self._heaps(), pages, *others, self._connections(), self._now)
        if status == heaps.NOT_ORDERED:
            raise _NOT_ORDERED
        if status == heaps.NOT_AN_ID:
            raise _NOT_AN_ID

    def _slot(self, host: int) -> int:
        if host < 0:
            raise ValueError(f"host is {host}; hosts are numbered from 0")
        if host >= len(self._slot_of) or not self._slot_of[host]:
            self._grow_hosts(int(host) + 1)
        return int(self._slot_of[host])

    def _grow_hosts(self, n_hosts: int) -> None:
        """Make room for `n_hosts` hosts; each new one gets its own slot."""
        n_known = int(self._counts[heaps.HOSTS])
        if n_hosts > n_known:
            self._slot_of = grown(self._slot_of, n_hosts)
            self._slot_of[n_known:n_hosts] = self._new_slots(n_hosts - n_known)
            self._counts[heaps.HOSTS] = n_hosts

    def _new_slots(self, n: int) -> NDArray[np.int64]:
        first = int(self._counts[heaps.SLOTS]) + 1
        self._counts[heaps.SLOTS] += n
        self._slots = grown(self._slots, first + n)
        self._ready, self._quick = grown(self._ready, first + n), grown(self._quick, first + n)
        self._snoozed = grown(self._snoozed, first + n)
        return np.arange(first, first + n)


def _page_ids(pages: ArrayLike) -> NDArray[Any]:
    """Return page ids as uint32 or int64, the types that kernels are compiled for; arrays of these are not copied."""
    ids = np.ascontiguousarray(pages)
    if ids.dtype == np.uint32 or ids.dtype == np.int64:
        return ids
    if ids.dtype.kind not in "iu" and len(ids) > 0:
        raise TypeError(f"pages are whole numbers, not {ids.dtype}")
    return ids.astype(np.int64)
