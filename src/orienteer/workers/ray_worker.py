"""A worker inside a Ray actor: a thread fetches and parses, and each call delivers orders and returns results.

A call may be delayed for a minute by a network partition. By then the coordinator may have assigned its requests to
another worker, and no host may get two connections at a time. Clocks of different machines cannot be compared; so each
reply carries the time of this worker's own clock as a token, and each call returns the newest one. Requests whose token
is older than `LEASE_S` when they are taken from the queue are refused.
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
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.serving import WorkerServer, packed, unpack_orders, warm_up_reading

LEASE_S = 10.0

_LONG_S = 1.0  # poll timeout if new orders wake the fetcher
_SHORT_S = 0.01  # poll timeout otherwise
_FULL_BYTES = 64 << 10  # of a reply: beyond 100 kB Ray uses its object store, which is slower


class Reply(NamedTuple):
    """`refused` are orders that arrived too late. `failed` is the error that stopped the worker, or ""."""

    token: float
    results: list[bytes]
    refused: list[bytes]
    failed: str = ""


class RayWorker:
    """Calls of `exchange` come from several threads; they are numbered from 0, and orders are taken in that order."""

    def __init__(
        self, settings: FetchSettings, reading: ReadSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        warm_up_reading()  # before the first request: no other process of this machine compiles the kernels
        self._served = WorkerServer(settings, reading)
        self._clock = clock
        self._changed = threading.Condition()
        self._calls: dict[int, tuple[float, list[bytes]]] = {}  # calls whose orders are not taken yet
        self._next = 0  # number of the call whose orders are taken next
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
        """Return the results as soon as there are any, when the next call arrives, or after this time."""
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
        with contextlib.suppress(BlockingIOError):  # the pipe is full: the worker will wake anyway
            os.write(self._wakes, b"!")

    def _work(self) -> None:
        try:
            while True:
                self._take(self._orders())
                results = self._served.results(self._wait_s) if self._served.n_in_flight else None
                if results is not None:
                    with self._changed:
                        self._results.append(packed(results))
                        self._changed.notify_all()
        except Exception as error:
            with self._changed:
                self._failed = f"{type(error).__name__}: {error}"
                self._changed.notify_all()

    def _orders(self) -> list[tuple[float, bytes]]:
        """Return new orders with their tokens; blocks while there are no requests in flight."""
        with self._changed:
            if not self._served.n_in_flight:
                self._changed.wait_for(lambda: self._next in self._calls)
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 1 << 16)
            orders_with_tokens = []
            while self._next in self._calls:
                token, orders = self._calls.pop(self._next)
                orders_with_tokens += [(token, data) for data in orders]
                self._next += 1
            return orders_with_tokens

    def _take(self, orders_with_tokens: list[tuple[float, bytes]]) -> None:
        for token, data in orders_with_tokens:
            orders = unpack_orders(data)
            is_late = bool(orders.requests) and self._clock() - token > LEASE_S
            self._served.take(orders._replace(requests=[]) if is_late else orders)
            if is_late:
                with self._changed:
                    self._refused.append(data)
                    self._changed.notify_all()
