"""What is wanted of each host and waited for by nobody, and when the host is looked at next. Time is an argument."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from orienteer.answers.answer import Fetched

Then = Callable[[Fetched | str], None]

_LOOK_S = 0.25  # between looks at hosts of which nobody knows when they are free


@dataclass(eq=False, slots=True)
class Wish:
    """A part that somebody wants. `row` is where the table has it, if it is to survive; `thens` wait for it.

    `depth` is how many styles and frames lead to it, `n_hops` how many redirects.
    """

    url: str
    host: str
    row: int | None = None
    kind: str = ""
    depth: int = 0
    n_hops: int = 0
    n_tried: int = 0
    n_lost: int = 0
    thens: list[Then] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class PartQueue:
    """The wishes of a host, by URL; `due` is when it is looked at."""

    host: str
    wishes: dict[str, Wish] = field(default_factory=dict)
    due: float = math.inf
    owes_page: bool = False  # the last turn was taken by a part

    @property
    def first(self) -> Wish:
        return next(iter(self.wishes.values()))


class PartQueues:
    """The queues of all hosts; the one that is due first is in front."""

    def __init__(self) -> None:
        self._queues: dict[str, PartQueue] = {}
        self._due: list[tuple[float, str]] = []  # a heap; what is not as the queue has it is out of date
        self._idle: set[str] = set()  # hosts that are looked at when something has ended
        self._next_look = 0.0

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, wish: Wish) -> None:
        """It waits behind the others of its host."""
        queue = self._queues.get(wish.host)
        if queue is None:
            queue = self._queues[wish.host] = PartQueue(wish.host)
            self.look_at(queue, 0.0)
        queue.wishes[wish.url] = wish

    def remove(self, wish: Wish) -> bool:
        """Whether it was here."""
        queue = self._queues.get(wish.host)
        return queue is not None and queue.wishes.pop(wish.url, None) is not None

    def remove_host(self, host: str) -> list[Wish]:
        queue = self._queues.pop(host, None)
        self._idle.discard(host)
        return [] if queue is None else list(queue.wishes.values())

    def look_at(self, queue: PartQueue, due: float) -> None:
        """The queue is looked at then; at infinity, when something has ended, or a moment later."""
        queue.due = due
        if due == math.inf:
            self._idle.add(queue.host)
        else:
            self._idle.discard(queue.host)
            heapq.heappush(self._due, (due, queue.host))

    def freed(self, host: str, now: float, by_page: bool = False) -> None:
        """Something of the host has ended: it may be the turn of a part."""
        queue = self._queues.get(host)
        if queue is not None:
            queue.owes_page = queue.owes_page and not by_page
            self.look_at(queue, now)

    def due(self, now: float) -> Iterator[PartQueue]:
        """The queues that are due, one after the other."""
        if now >= self._next_look:
            self._next_look = now + _LOOK_S
            for host in list(self._idle):
                self.look_at(self._queues[host], now)
        while self._due and self._due[0][0] <= now:
            due, host = heapq.heappop(self._due)
            queue = self._queues.get(host)
            if queue is not None and queue.due == due:
                yield queue

    def next_time(self) -> float:
        """When the first of them is due; infinity: nobody knows."""
        return self._due[0][0] if self._due else math.inf
