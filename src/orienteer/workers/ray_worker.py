"""A worker inside a Ray actor: a thread fetches and reads, and each call brings orders and takes results.

A call may be held up for a minute on its way, when a network falls apart and heals. By then the crawl may have asked
another worker for the same pages, and no host is to have two connections at once. Clocks of different machines cannot
be compared; so each reply carries the time by this worker's own clock, as a token, and each call hands the newest one
back. A request whose token is older than `LEASE_S` when its turn comes is refused.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from orienteer.fetch.settings import FetchSettings
from orienteer.workers.messages import orders_in, packed
from orienteer.workers.received import Reading
from orienteer.workers.serving import Served

LEASE_S = 10.0

_LONG_S = 1.0  # to wait for answers where orders wake the fetcher
_SHORT_S = 0.01  # where they do not
_FULL_BYTES = 64 << 10  # of a reply: beyond 100 kB Ray takes another, longer way


class Reply(NamedTuple):
    """`refused` are orders that came too late. `failed`: why it works no more."""

    token: float
    results: list[bytes]
    refused: list[bytes]
    failed: str = ""


class RayWorker:
    """Calls of `exchange` come from several threads; they are numbered from 0, and orders are taken in that order."""

    def __init__(self, settings: FetchSettings, reading: Reading, clock: Callable[[], float] = time.monotonic) -> None:
        self._served = Served(settings, reading)
        self._clock = clock
        self._changed = threading.Condition()
        self._calls: dict[int, tuple[float, list[bytes]]] = {}  # that brought orders which are not taken yet
        self._next = 0  # the call whose orders are taken next
        self._newest = -1
        self._results: deque[bytes] = deque()
        self._refused: list[bytes] = []
        self._failed = ""
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wakes, False)
        wake_on = getattr(self._served.fetcher, "wake_on", None)
        if wake_on is not None:
            wake_on(self._woken)
        self._wait_s = _SHORT_S if wake_on is None else _LONG_S
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def token(self) -> float:
        return self._clock()

    def exchange(self, number: int, token: float, orders: list[bytes], wait_s: float) -> Reply:
        """What is there, once there is something, or after this time, or when the next call has come."""
        with self._changed:
            self._calls[number] = token, orders
            self._newest = max(self._newest, number)
            self._changed.notify_all()
            self._wake()
            self._changed.wait_for(lambda: self._has_news or self._newest > number, wait_s)
            results, n_bytes = [], 0
            while self._results and n_bytes < _FULL_BYTES:
                results.append(self._results.popleft())
                n_bytes += len(results[-1])
            refused, self._refused = self._refused, []
            return Reply(self._clock(), results, refused, self._failed)

    @property
    def _has_news(self) -> bool:
        return bool(self._results or self._refused or self._failed)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full: somebody has woken it already
            os.write(self._wakes, b"!")

    def _work(self) -> None:
        try:
            while True:
                self._take(self._orders())
                results = self._served.results(self._wait_s) if self._served.n_under_way else None
                if results is not None:
                    with self._changed:
                        self._results.append(packed(results))
                        self._changed.notify_all()
        except Exception as error:
            with self._changed:
                self._failed = f"{type(error).__name__}: {error}"
                self._changed.notify_all()

    def _orders(self) -> list[tuple[float, bytes]]:
        """With their tokens; it waits for some where there is nothing else to do."""
        with self._changed:
            if not self._served.n_under_way:
                self._changed.wait_for(lambda: self._next in self._calls)
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 1 << 16)
            found = []
            while self._next in self._calls:
                token, orders = self._calls.pop(self._next)
                found += [(token, data) for data in orders]
                self._next += 1
            return found

    def _take(self, found: list[tuple[float, bytes]]) -> None:
        for token, data in found:
            orders = orders_in(data)
            is_late = bool(orders.requests) and self._clock() - token > LEASE_S
            self._served.take(orders._replace(requests=[]) if is_late else orders)
            if is_late:
                with self._changed:
                    self._refused.append(data)
                    self._changed.notify_all()
