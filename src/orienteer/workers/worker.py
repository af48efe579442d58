"""A worker: it fetches pages and reads them. Those of a crawl look all alike, wherever they work:

    workers.start(request)          begin a fetch
    answers = workers.poll(0.25)    what is finished and read, once there is something, or after this time
    workers.n_under_way             started, and not handed out by `poll` yet
    workers.cancel()                break off all that is under way; `poll` reports it as cancelled
    workers.close()                 the same, and let go of connections and processes

Every request that was started comes back from `poll` once, as a `Received` with that very request.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from orienteer.answers.answer import Request
from orienteer.fetch.fetcher import Fetcher
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading, Received

NO_LIMIT = 1 << 30


class WorkerFigures(NamedTuple):
    """How a worker is doing: the machine it is on, its process, what it has in hand, what it has done in this run."""

    where: str
    process: int
    n_in_hand: int
    n_answers: int
    cpu_s: float


class Workers(Protocol):
    """Whoever fetches and reads for a crawl."""

    asks_web: bool
    max_under_way: int
    record_headers: Mapping[str, str]  # of the records that are made from now on
    n_died: int  # workers that ended before their time

    @property
    def n_under_way(self) -> int: ...
    def start(self, request: Request) -> None: ...
    def poll(self, timeout_s: float) -> list[Received]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def figures(self) -> list[WorkerFigures]: ...


class Worker:
    """Fetches by a `fetcher`, in this process."""

    n_died = 0

    def __init__(self, fetcher: Fetcher, reading: Reading) -> None:
        self.asks_web = fetcher.asks_web
        self.max_under_way: int = getattr(fetcher, "max_under_way", NO_LIMIT)
        self.record_headers: Mapping[str, str] = {}
        self._fetcher = fetcher
        self._reading = reading
        self._n_answers = 0

    @property
    def n_under_way(self) -> int:
        return self._fetcher.n_under_way

    def start(self, request: Request) -> None:
        self._fetcher.start(request)

    def poll(self, timeout_s: float) -> list[Received]:
        answers = self._fetcher.poll(timeout_s)
        self._n_answers += len(answers)
        return [read_answer(answer, self._reading, self.record_headers) for answer in answers]

    def cancel(self) -> None:
        self._fetcher.cancel()

    def close(self) -> None:
        self._fetcher.close()

    def figures(self) -> list[WorkerFigures]:
        return [WorkerFigures("here", 0, self.n_under_way, self._n_answers, time.process_time())]
