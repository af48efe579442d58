"""The loop of a worker in another process: requests come over a channel, answers go back."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection

from orienteer.fetch.choice import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import be_killed_first
from orienteer.workers.messages import Orders, Results, orders_in, packed
from orienteer.workers.received import Reading
from orienteer.workers.worker import Worker

_LONG_S = 1.0  # to wait for answers where orders wake the fetcher
_SHORT_S = 0.01  # where they do not
_SIGN_OF_LIFE_S = 10.0  # between answers, while documents are read and pages are shown


class Served:
    """A worker that takes orders, and numbers its answers as they say."""

    def __init__(self, settings: FetchSettings, reading: Reading) -> None:
        self.fetcher = make_fetcher(settings)
        self._worker = Worker(self.fetcher, reading)
        self._numbers: dict[int, int] = {}  # of requests, by page
        self._last_results = time.monotonic()

    @property
    def n_under_way(self) -> int:
        return self._worker.n_under_way

    def take(self, orders: Orders) -> None:
        if orders.record_headers is not None:
            self._worker.record_headers = orders.record_headers
        if orders.cancel:
            self._worker.cancel()
        for supply in orders.supplies:
            self._worker.supply(supply)
        for number, request in orders.requests:
            self._numbers[request.page] = number
            self._worker.start(request)

    def results(self, timeout_s: float) -> Results | None:
        """What is finished or wished for, once there is something, or after this time. Nothing: documents take long."""
        answers, wishes = self._worker.poll(timeout_s), tuple(self._worker.wishes())
        is_reading = self._worker.n_aside and time.monotonic() - self._last_results > _SIGN_OF_LIFE_S
        if not answers and not wishes and not is_reading:
            return None
        self._last_results = time.monotonic()
        numbered = [(self._numbers.pop(answer.request.page), answer) for answer in answers]
        return Results(numbered, self._worker.cpu_s, wishes)


def serve(channel: Connection, settings: FetchSettings, reading: Reading) -> None:
    """Fetch and read until the channel is closed."""
    be_killed_first()
    served = Served(settings, reading)
    wake_on = getattr(served.fetcher, "wake_on", None)
    if wake_on is not None:
        wake_on(channel.fileno())
    wait_s = _SHORT_S if wake_on is None else _LONG_S
    channel.send_bytes(packed(Results([])))  # ready
    while True:
        while channel.poll(0 if served.n_under_way else None):
            served.take(orders_in(channel.recv_bytes()))
        results = served.results(wait_s)
        if results is not None:
            channel.send_bytes(packed(results))
