"""The frontier: which page to fetch now.

Each host has a heap of its pages by priority. A host is *ready* when it may be asked now and has a page; ready hosts
are in a heap by their best page. A host that must rest is in a heap by the time it may be asked again; one whose
connections are all in use is in neither. So the best page whose host may be asked now is found in O(log) of the hosts
and pages. The heaps are in `host_heaps.py`.

Hosts may share a turn: then they are asked as if they were one host (`probation.py` says which do, and why). Hosts may
be called quick: when few workers are free, only the pages of these are handed out.
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
        return 0 <= page < len(self._pages) - 1 and bool(self._pages[int(page) + 1]["turn"])

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

    def take(self, now: float, only_quick: bool = False) -> tuple[int, float] | None:
        """The best page whose host may be asked now, and its priority; the host has one connection more. Or None."""
        self._now = float(now)
        page, priority = heaps.take(*self._heaps(), bool(only_quick), self._connections(), self._now)
        return None if page < 0 else (page, priority)

    def release(self, host: int, now: float, delay_s: float | None = None, page: int | None = None) -> None:
        """A request to the host has ended: it rests for its delay (another one, if given).

        With the `page` that was taken, that is the turn it took, whosever turn the host's pages wait for by now.
        """
        if self.politeness.per_host:
            turn = self._turn(host)
            if page is not None and page + 1 < len(self._pages) and page not in self:
                turn = int(self._pages[page + 1]["after"]) or turn
            wait = self.politeness.delay_s if delay_s is None else delay_s
            heaps.release(
                *self._heaps(), turn, float(now), float(wait), delay_s is not None, self._connections(), self._now
            )

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

    def share_turn(self, hosts: ArrayLike, pages: ArrayLike, with_host: int | None = None) -> None:
        """From now on these hosts have one turn, that which `with_host` has now, or else a new one.

        `pages` are all their pages that are here, and perhaps others; they wait for that turn.
        """
        ids = np.asarray(hosts, np.int64)
        if not self.politeness.per_host or len(ids) == 0:
            return
        self._know_hosts(int(max(ids.max(), -1 if with_host is None else with_host)) + 1)
        self._turn_of[ids] = self._new_turns(1)[0] if with_host is None else self._turn_of[with_host]
        moved = _page_ids(pages)
        moved = moved[[page in self for page in moved.tolist()]]
        kept = self._pages["priority"][moved.astype(np.int64) + 1]
        self._apply(heaps.put, moved, kept, np.full(len(moved), ids[0], np.int32))

    def next_time(self) -> float | None:
        """When the next rest ends of a host that has pages and a free connection; None if no such host rests.

        Once `take` has answered None, this is the earliest time to ask it again, unless a request ends before.
        """
        return -float(self._resting[1]["key"]) if self._counts[heaps.RESTING] else None

    def all(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """All pages in order of their ids, and their priorities."""
        pages = np.flatnonzero(self._pages["turn"][1:])
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
        is_here, priorities = self._pages["turn"][1:] != 0, self._pages["priority"][1:]
        before = np.count_nonzero(is_here & (priorities > own))
        return int(before + np.count_nonzero(is_here[:page] & (priorities[:page] == own)))

    def _heaps(self) -> tuple[NDArray[Any], ...]:
        return self._pages, self._turns, self._ready, self._quick, self._resting, self._counts

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
        answer = kernel(*self._heaps(), self._turn_of, *batch, self._connections(), self._now)
        if answer == heaps.LACKS_ROOM:
            self._pages = grown(self._pages, int(self._counts[heaps.ROOM_FOR_PAGES]))
            self._know_hosts(int(self._counts[heaps.ROOM_FOR_HOSTS]))
            answer = kernel(*self._heaps(), self._turn_of, *batch, self._connections(), self._now)
        if answer == heaps.NOT_ORDERED:
            raise ValueError("a priority is not a number")
        if answer == heaps.NOT_AN_ID:
            raise ValueError("pages are numbered from 0 to 4,294,967,294, hosts from 0 to 2,147,483,647")

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
