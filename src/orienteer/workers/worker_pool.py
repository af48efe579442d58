"""The workers of a crawl: one in its own process, and several in child processes when that one is busy.

A polite crawl of a few hosts is idle most of the time, and further processes would only cost memory. So, unless a
number of processes is given, a crawl starts with an inline worker. When its process has been busy for some seconds,
child processes get all further requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.fetch.fetcher import Fetcher, make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.kernel import runs_plain
from orienteer.processes.child import ForkServer
from orienteer.processes.pool import usable_cores
from orienteer.responses.response import Request
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.remote_workers import ProcessBackend, RemoteWorkers, WorkerBackend
from orienteer.workers.serving import prepare_workers
from orienteer.workers.worker import NO_LIMIT, Worker, WorkerFigures, Workers

DEFAULT_MAX_WORKERS = 4  # a crawl seldom keeps more of them busy

_CHECK_INTERVAL_S = 2.0  # the load is measured over this time
_BUSY_SHARE = 0.7  # CPU time per wall time above which the pool grows
_SHORT_POLL_S = 0.002  # for the inline worker, while it finishes its last requests


class WorkerPool:
    """Workers for a crawl with these fetch settings.

    `processes` is 1 for an inline worker, more for child processes, 0 for as many as are useful. `backend` creates
    workers that are not on this machine. `granted_origins` are the origins for which an archive, used as the fetcher,
    was crawled with credentials.
    """

    def __init__(
        self,
        settings: FetchSettings,
        processes: int = 1,
        backend: Callable[[ReadSettings], WorkerBackend] | None = None,
    ) -> None:
        self._settings = settings
        self._fetcher: Fetcher | None = make_fetcher(settings)  # raises now if the settings are wrong
        self.uses_network = self._fetcher.uses_network
        self.granted_origins: tuple[str, ...] = getattr(self._fetcher, "granted_origins", ())
        self._max_in_flight_each: int = getattr(self._fetcher, "max_in_flight", NO_LIMIT)
        self._backend = backend or self._process_backend
        self._n = processes or min(usable_cores(), DEFAULT_MAX_WORKERS)
        self._may_grow = processes == 0 and backend is None and self._n > 1  # once this process is busy
        self._is_inline = self._may_grow or (self._n == 1 and backend is None)
        self._forks: ForkServer | None = None  # of the child processes
        if not self._is_inline and backend is None:
            self._forks = ForkServer(prepare_workers)  # it imports while the folder is opened
        self._workers: list[Workers] = []  # the last one gets all requests

    def begin(self, reading: ReadSettings) -> None:
        """Start the workers with these settings for reading pages."""
        assert self._fetcher is not None
        self._reading = reading
        self._since, self._cpu_then = time.monotonic(), time.process_time()
        if self._is_inline:
            self._workers = [Worker(self._fetcher, reading)]
        else:
            self._fetcher.close()
            self._workers = [self._remote_pool()]
        self._fetcher = None

    @property
    def max_in_flight(self) -> int:
        return self._workers[-1].max_in_flight

    @property
    def record_headers(self) -> Mapping[str, str]:
        return self._workers[-1].record_headers

    @record_headers.setter
    def record_headers(self, headers: Mapping[str, str]) -> None:
        for workers in self._workers:
            workers.record_headers = headers

    @property
    def n_crashed(self) -> int:
        return sum(workers.n_crashed for workers in self._workers)

    @property
    def n_in_flight(self) -> int:
        return sum(workers.n_in_flight for workers in self._workers)

    def start(self, request: Request) -> None:
        self._workers[-1].start(request)

    def poll(self, timeout_s: float) -> list[FetchResult]:
        if self._may_grow:
            self._check_load()
        if len(self._workers) == 1:
            return self._workers[0].poll(timeout_s)
        responses = [response for before in self._workers[:-1] for response in before.poll(_SHORT_POLL_S)]
        responses += self._workers[-1].poll(0.0 if responses else min(timeout_s, 5 * _SHORT_POLL_S))
        for idle in [workers for workers in self._workers[:-1] if not workers.n_in_flight]:
            self._workers.remove(idle)
            idle.close()
        return responses

    def browser_requests(self) -> list[BrowserRequest]:
        return [request for workers in self._workers for request in workers.browser_requests()]

    def fulfill(self, response: BrowserResponse) -> None:
        for workers in self._workers:  # only one has the page; the others ignore it
            workers.fulfill(response)

    def cancel(self) -> None:
        for workers in self._workers:
            workers.cancel()

    def close(self) -> None:
        if self._fetcher is not None:
            self._fetcher.close()
            self._fetcher = None
        for workers in self._workers:
            workers.close()
        self._workers = []
        if self._forks is not None:
            self._forks.close()

    def figures(self) -> list[WorkerFigures]:
        return [figures for workers in self._workers for figures in workers.figures()]

    def _process_backend(self, reading: ReadSettings) -> WorkerBackend:
        self._forks = self._forks or ForkServer(prepare_workers)
        return ProcessBackend(self._settings, reading, self._forks)

    def _remote_pool(self) -> RemoteWorkers:
        settings = self._settings
        pool = RemoteWorkers(
            self._backend(self._reading), self._n, settings.timeout_s, self.uses_network, sticky_hosts=settings.cookies
        )
        pool.max_in_flight = self._n * self._max_in_flight_each
        return pool

    def _check_load(self) -> None:
        now = time.monotonic()
        if now - self._since < _CHECK_INTERVAL_S:
            return
        cpu_s = time.process_time()
        if runs_plain():
            pass  # the load is high only until the kernels are compiled
        elif cpu_s - self._cpu_then >= _BUSY_SHARE * (now - self._since):
            self._may_grow = False
            self._workers.append(self._remote_pool())
            self._workers[-1].record_headers = self._workers[0].record_headers
        self._since, self._cpu_then = now, cpu_s
