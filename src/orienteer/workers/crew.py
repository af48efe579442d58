"""The workers of a crawl: one in its own process, and several beside it when that is busy.

A polite crawl of a few hosts waits most of its time, and a process beside it would only cost memory. So, unless a
number of processes is asked for, it begins in its own process. When that has been busy for some seconds, processes
take over the requests from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from orienteer.answers.answer import Request
from orienteer.fetch.choice import make_fetcher
from orienteer.fetch.fetcher import Fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.processes.how_many import usable_cores
from orienteer.workers.pool import Pool
from orienteer.workers.processes import Elsewhere, Processes
from orienteer.workers.received import Reading, Received
from orienteer.workers.showing import Supply, Wish
from orienteer.workers.worker import NO_LIMIT, Worker, WorkerFigures, Workers

MOST_BY_DEFAULT = 4  # more than these are seldom of use to one crawl

_LOOK_S = 2.0  # how long a process must have been busy
_BUSY = 0.7  # of the time
_GLANCE_S = 0.002  # at workers that hold the last requests from before


class Crew:
    """Workers for a crawl with these fetch settings.

    `processes`: 1 works in this process, more in so many beside it, 0 in as many as are of use. `elsewhere` makes
    workers somewhere else than on this machine.
    """

    def __init__(
        self, settings: FetchSettings, processes: int = 1, elsewhere: Callable[[Reading], Elsewhere] | None = None
    ) -> None:
        self._settings = settings
        self._fetcher: Fetcher | None = make_fetcher(settings)  # whatever is wrong with the settings is said now
        self.asks_web = self._fetcher.asks_web
        self._most_each: int = getattr(self._fetcher, "max_under_way", NO_LIMIT)
        self._elsewhere = elsewhere or (lambda reading: Processes(settings, reading))
        self._n = processes or min(usable_cores(), MOST_BY_DEFAULT)
        self._waits = processes == 0 and elsewhere is None and self._n > 1  # for the first process to be busy
        self._is_here = self._waits or (self._n == 1 and elsewhere is None)
        self._workers: list[Workers] = []  # the last one gets all requests

    def begin(self, reading: Reading) -> None:
        """From now on there are workers, who read pages like this."""
        assert self._fetcher is not None
        self._reading = reading
        self._since, self._cpu_then = time.monotonic(), time.process_time()
        if self._is_here:
            self._workers = [Worker(self._fetcher, reading)]
        else:
            self._fetcher.close()
            self._workers = [self._pool()]
        self._fetcher = None

    @property
    def max_under_way(self) -> int:
        return self._workers[-1].max_under_way

    @property
    def record_headers(self) -> Mapping[str, str]:
        return self._workers[-1].record_headers

    @record_headers.setter
    def record_headers(self, headers: Mapping[str, str]) -> None:
        for workers in self._workers:
            workers.record_headers = headers

    @property
    def n_died(self) -> int:
        return sum(workers.n_died for workers in self._workers)

    @property
    def n_under_way(self) -> int:
        return sum(workers.n_under_way for workers in self._workers)

    def start(self, request: Request) -> None:
        self._workers[-1].start(request)

    def poll(self, timeout_s: float) -> list[Received]:
        if self._waits:
            self._see_whether_busy()
        if len(self._workers) == 1:
            return self._workers[0].poll(timeout_s)
        answers = [answer for before in self._workers[:-1] for answer in before.poll(_GLANCE_S)]
        answers += self._workers[-1].poll(0.0 if answers else min(timeout_s, 5 * _GLANCE_S))
        for idle in [workers for workers in self._workers[:-1] if not workers.n_under_way]:
            self._workers.remove(idle)
            idle.close()
        return answers

    def wishes(self) -> list[Wish]:
        return [wish for workers in self._workers for wish in workers.wishes()]

    def supply(self, supply: Supply) -> None:
        for workers in self._workers:  # all but one do not know the page
            workers.supply(supply)

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

    def figures(self) -> list[WorkerFigures]:
        return [figures for workers in self._workers for figures in workers.figures()]

    def _pool(self) -> Pool:
        settings = self._settings
        pool = Pool(self._elsewhere(self._reading), self._n, settings.timeout_s, self.asks_web, sticks=settings.cookies)
        pool.max_under_way = self._n * self._most_each
        return pool

    def _see_whether_busy(self) -> None:
        now = time.monotonic()
        if now - self._since < _LOOK_S:
            return
        cpu_s = time.process_time()
        if cpu_s - self._cpu_then >= _BUSY * (now - self._since):
            self._waits = False
            self._workers.append(self._pool())
            self._workers[-1].record_headers = self._workers[0].record_headers
        self._since, self._cpu_then = now, cpu_s
