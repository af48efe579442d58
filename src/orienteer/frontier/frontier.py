"""The frontier: which page to fetch now.

Each host has a heap of its pages by priority. A host is *ready* when it may be asked now and has a page; ready hosts
are in a heap by their best page. A host that must rest is in a heap by the time it may be asked again; one whose
connections are all in use is in neither. So the best page whose host may be asked now is found in O(log) of the hosts
and pages. The heaps are in `host_heaps.py`.
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

__all__ = ["LAST", "Frontier"]


class Frontier:
    """Pages with priorities; `take` hands out the best whose host may be asked.

    Its whole state is in arrays and one number, so that it can be written down as it is.

    >>> frontier = Frontier(Politeness(delay_s=1.0))
    >>> frontier.put([0, 1, 2], [0.3, 0.9, 0.5], hosts=[7, 7, 8])
    >>> frontier.take(now=0.0), frontier.take(now=0.0), frontier.take(now=0.0)
    ((1, 0.9), (2, 0.5), None)
    """

    def __init__(self, politeness: Politeness = ANY_TIME) -> None:
        self.politeness = politeness
        self._pages: NDArray[Any] = np.zeros(1024, heaps.PAGE)
        self._hosts: NDArray[Any] = np.zeros(64, heaps.HOST)
        self._ready: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._resting: NDArray[Any] = np.zeros(64, heaps.ENTRY)
        self._counts: NDArray[np.int64] = np.zeros(6, np.int64)
        self._now = 0.0  # of the last `take`: rests that were over by then are over

    def __len__(self) -> int:
        return int(self._counts[heaps.PAGES])

    def __contains__(self, page: int) -> bool:
        return 0 <= page < len(self._pages) - 1 and bool(self._pages[int(page) + 1]["host"])

    def priority(self, page: int) -> float:
        if page not in self:
            raise KeyError(page)
        return float(self._pages[int(page) + 1]["priority"])

    def put(self, pages: ArrayLike, priorities: ArrayLike, hosts: ArrayLike) -> None:
        """Add pages, or change the priority of those that are here; of a page named twice the last counts."""
        values = np.ascontiguousarray(priorities, np.float64)
        self._apply(heaps.put, _page_ids(pages), values, np.ascontiguousarray(hosts, np.int32))

    def add(self, pages: ArrayLike, hosts: ArrayLike) -> None:
        """Add the pages that are not here, with priority 0; of those here, the LAST ones have it now, too."""
        self._apply(heaps.add, _page_ids(pages), np.ascontiguousarray(hosts, np.int32))

    def remove(self, page: int) -> None:
        """Forget a page, if it is here."""
        if page in self:
            heaps.remove(*self._heaps(), int(page), self._connections(), self._now)

    def take(self, now: float) -> tuple[int, float] | None:
        """The best page whose host may be asked now, and its priority; the host has one connection more. Or None."""
        self._now = float(now)
        page, priority = heaps.take(*self._heaps(), self._connections(), self._now)
        return None if page < 0 else (page, priority)

    def release(self, host: int, now: float, delay_s: float | None = None) -> None:
        """A request to the host has ended: it rests for its delay (another one, if given)."""
        if self.politeness.per_host:
            self._know_host(host)
            wait = self.politeness.delay_s if delay_s is None else delay_s
            heaps.release(
                *self._heaps(), int(host), float(now), float(wait), delay_s is not None, self._connections(), self._now
            )

    def set_delay(self, host: int, delay_s: float) -> None:
        """From now on the host has a delay of its own, such as its robots.txt asks for."""
        if not 0 <= delay_s < float("inf"):
            raise InputError(f"delay_s is {delay_s}; it must be 0 or more seconds")
        self._know_host(host)
        self._hosts[int(host) + 1]["delay_s"] = delay_s
        self._hosts[int(host) + 1]["has_delay"] = True

    def rest(self, host: int, until: float) -> None:
        """The host must not be asked before that time."""
        if self.politeness.per_host:
            self._know_host(host)
            heaps.rest(*self._heaps(), int(host), float(until), self._connections(), self._now)

    def wake(self, host: int) -> None:
        """The host may be asked again, however long it should have rested."""
        if self.politeness.per_host:
            self._know_host(host)
            heaps.wake(*self._heaps(), int(host), self._connections(), self._now)

    def next_time(self) -> float | None:
        """When the next rest ends of a host that has pages and a free connection; None if no such host rests.

        Once `take` has answered None, this is the earliest time to ask it again, unless a request ends before.
        """
        return -float(self._resting[1]["key"]) if self._counts[heaps.RESTING] else None

    def all(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """All pages in order of their ids, and their priorities."""
        pages = np.flatnonzero(self._pages["host"][1:])
        return pages.astype(np.uint32), self._pages["priority"][1:][pages]

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
        is_here, priorities = self._pages["host"][1:] != 0, self._pages["priority"][1:]
        before = np.count_nonzero(is_here & (priorities > own))
        return int(before + np.count_nonzero(is_here[:page] & (priorities[:page] == own)))

    def _heaps(self) -> tuple[NDArray[Any], ...]:
        return self._pages, self._hosts, self._ready, self._resting, self._counts

    def _connections(self) -> int:
        return self.politeness.connections if self.politeness.per_host else heaps.ANY_NUMBER

    def _apply(self, kernel: Any, *batch: NDArray[Any]) -> None:
        """Call the kernel with a batch, and again with room for it where there was none."""
        if len({len(values) for values in batch}) != 1:
            raise ValueError(
                f"a batch of {' and '.join(str(len(values)) for values in batch)}: expected as many of each"
            )
        if len(batch[0]) == 0:
            return
        answer = kernel(*self._heaps(), *batch, self._connections(), self._now)
        if answer == heaps.LACKS_ROOM:
            self._make_room(int(self._counts[heaps.ROOM_FOR_PAGES]), int(self._counts[heaps.ROOM_FOR_HOSTS]))
            answer = kernel(*self._heaps(), *batch, self._connections(), self._now)
        if answer == heaps.NOT_ORDERED:
            raise ValueError("a priority is not a number")
        if answer == heaps.NOT_AN_ID:
            raise ValueError("pages are numbered from 0 to 4,294,967,294, hosts from 0 to 2,147,483,647")

    def _know_host(self, host: int) -> None:
        if host < 0:
            raise ValueError(f"host is {host}; hosts are numbered from 0")
        if host + 2 > len(self._hosts):
            self._make_room(0, int(host) + 2)

    def _make_room(self, n_pages: int, n_hosts: int) -> None:
        self._pages = grown(self._pages, n_pages)
        self._hosts = grown(self._hosts, n_hosts)
        self._ready, self._resting = grown(self._ready, n_hosts), grown(self._resting, n_hosts)


def _page_ids(pages: ArrayLike) -> NDArray[Any]:
    """Page ids in one of the two widths that kernels are compiled for; arrays of these stay as they are."""
    ids = np.ascontiguousarray(pages)
    if ids.dtype == np.uint32 or ids.dtype == np.int64:
        return ids
    if ids.dtype.kind not in "iu" and len(ids) > 0:
        raise TypeError(f"pages are whole numbers, not {ids.dtype}")
    return ids.astype(np.int64)
