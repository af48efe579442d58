"""Asset queues by host, and when each is due. Assets that a browser waits for are not in them. Time is an argument."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from orienteer.responses.response import Response

Callback = Callable[[Response | str], None]

_IDLE_CHECK_S = 0.25  # between checks of hosts whose next free slot is not known in advance


class AssetKey(NamedTuple):
    """The cache key of an asset: the URL, and the properties of the request that its response may depend on.

    `with_credentials`: the request carries the credentials of the crawl for the origin of the URL. `headers` are those
    that decide about CORS (`Origin`). `method` is GET, or OPTIONS for a preflight.
    """

    url: str
    with_credentials: bool = False
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_preflight(self) -> bool:
        return self.method == "OPTIONS"


@dataclass(eq=False, slots=True)
class QueuedAsset:
    """An asset to be requested. `row` is its id in the database if the request is durable.

    `callbacks` are called with its response. `depth` counts the style sheets and frames on the way from the page,
    `n_hops` the redirects.
    """

    key: AssetKey
    host: str
    row: int | None = None
    kind: str = ""
    depth: int = 0
    n_hops: int = 0
    n_attempts: int = 0
    n_lost: int = 0
    callbacks: list[Callback] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.key.url


@dataclass(eq=False, slots=True)
class AssetQueue:
    """The queued assets of one host; `due` is when the next may start."""

    host: str
    assets: dict[AssetKey, QueuedAsset] = field(default_factory=dict)
    due: float = math.inf
    is_page_next: bool = False  # an asset took the last slot: they alternate with pages

    @property
    def first(self) -> QueuedAsset:
        return next(iter(self.assets.values()))


class AssetQueues:
    """The asset queues of all hosts, ordered by due time."""

    def __init__(self) -> None:
        self._queues: dict[str, AssetQueue] = {}
        self._due: list[tuple[float, str]] = []  # a heap with stale entries: those that differ from queue.due
        self._idle: set[str] = set()  # hosts that are due after their next response
        self._next_idle_check = 0.0

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, asset: QueuedAsset) -> None:
        """Append an asset to the queue of its host."""
        queue = self._queues.get(asset.host)
        if queue is None:
            queue = self._queues[asset.host] = AssetQueue(asset.host)
            self.schedule(queue, 0.0)
        queue.assets[asset.key] = asset

    def remove(self, asset: QueuedAsset) -> bool:
        """Remove an asset; return whether it was queued."""
        queue = self._queues.get(asset.host)
        return queue is not None and queue.assets.pop(asset.key, None) is not None

    def remove_host(self, host: str) -> list[QueuedAsset]:
        queue = self._queues.pop(host, None)
        self._idle.discard(host)
        return [] if queue is None else list(queue.assets.values())

    def schedule(self, queue: AssetQueue, due: float) -> None:
        """Set when a queue is due; infinity: after the next response of its host, or at the next idle check."""
        queue.due = due
        if due == math.inf:
            self._idle.add(queue.host)
        else:
            self._idle.discard(queue.host)
            heapq.heappush(self._due, (due, queue.host))

    def on_slot_free(self, host: str, now: float, by_page: bool = False) -> None:
        """Make the queue of a host due after one of its requests has ended."""
        queue = self._queues.get(host)
        if queue is not None:
            queue.is_page_next = queue.is_page_next and not by_page
            self.schedule(queue, now)

    def due(self, now: float) -> Iterator[AssetQueue]:
        """Yield the queues that are due."""
        if now >= self._next_idle_check:
            self._next_idle_check = now + _IDLE_CHECK_S
            for host in list(self._idle):
                self.schedule(self._queues[host], now)
        while self._due and self._due[0][0] <= now:
            due, host = heapq.heappop(self._due)
            queue = self._queues.get(host)
            if queue is not None and queue.due == due:
                yield queue

    def next_time(self) -> float:
        """Return when the first queue is due; infinity if all wait for a response."""
        return self._due[0][0] if self._due else math.inf
