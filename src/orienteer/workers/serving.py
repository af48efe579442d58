"""The main loop of a worker process: it receives requests over a channel and sends results back."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection

from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import prefer_oom_kill
from orienteer.responses.response import Request
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.messages import WorkerOrders, WorkerResults, packed, unpack_orders
from orienteer.workers.reading_kernels import reading_kernels
from orienteer.workers.worker import Worker

_LONG_S = 1.0  # poll timeout if new orders wake the fetcher
_SHORT_S = 0.01  # poll timeout otherwise
_HEARTBEAT_S = 10.0  # without results, while documents are parsed and pages rendered


class WorkerServer:
    """Executes orders with a worker; results have the numbers of their requests."""

    def __init__(self, settings: FetchSettings, reading: ReadSettings) -> None:
        self.fetcher = make_fetcher(settings)
        self._worker = Worker(self.fetcher, reading)
        self._numbers: dict[Request, int] = {}
        self._last_results = time.monotonic()

    @property
    def n_in_flight(self) -> int:
        return self._worker.n_in_flight

    def take(self, orders: WorkerOrders) -> None:
        if orders.record_headers is not None:
            self._worker.record_headers = orders.record_headers
        if orders.cancel:
            self._worker.cancel()
        for response in orders.browser_responses:
            self._worker.fulfill(response)
        for number, request in orders.requests:
            self._numbers[request] = number
            self._worker.start(request)

    def results(self, timeout_s: float) -> WorkerResults | None:
        """Return finished results and requests of browsers, or an empty heartbeat; None if there is nothing to send."""
        responses, browser_requests = self._worker.poll(timeout_s), tuple(self._worker.browser_requests())
        is_heartbeat_due = self._worker.n_reading and time.monotonic() - self._last_results > _HEARTBEAT_S
        if not responses and not browser_requests and not is_heartbeat_due:
            return None
        self._last_results = time.monotonic()
        numbered = [(self._numbers.pop(response.request), response) for response in responses]
        return WorkerResults(numbered, self._worker.cpu_s, browser_requests)


def serve(channel: Connection, settings: FetchSettings, reading: ReadSettings) -> None:
    """Fetch and parse until the channel is closed."""
    prefer_oom_kill()
    with reading_kernels():
        _serve(channel, WorkerServer(settings, reading))


def _serve(channel: Connection, served: WorkerServer) -> None:
    wake_on = getattr(served.fetcher, "wake_on", None)
    if wake_on is not None:
        wake_on(channel.fileno())
    wait_s = _SHORT_S if wake_on is None else _LONG_S
    channel.send_bytes(packed(WorkerResults([])))  # ready
    while True:
        while channel.poll(0 if served.n_in_flight else None):
            served.take(unpack_orders(channel.recv_bytes()))
        results = served.results(wait_s)
        if results is not None:
            channel.send_bytes(packed(results))
