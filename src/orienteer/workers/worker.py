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

from orienteer.answers.answer import Fetched, Request
from orienteer.fetch.fetcher import Fetcher
from orienteer.pages.outcome import Outcome
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.documents_aside import DocumentsAside, is_read_aside
from orienteer.workers.received import Reading, Received

NO_LIMIT = 1 << 30
_GLANCE_S = 0.01  # to wait for a fetcher that documents cannot wake


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
    """Fetches by a `fetcher`, in this process. It goes on fetching while a document is read, if it asks the web."""

    n_died = 0

    def __init__(self, fetcher: Fetcher, reading: Reading) -> None:
        self.asks_web = fetcher.asks_web
        self.max_under_way: int = getattr(fetcher, "max_under_way", NO_LIMIT)
        self.record_headers: Mapping[str, str] = {}
        self._fetcher = fetcher
        self._reading = reading
        self._n_answers = 0
        self._aside = DocumentsAside()
        self._cancelled: list[Fetched] = []
        wake_on = getattr(fetcher, "wake_on", None)
        self._is_woken = wake_on is not None
        if wake_on is not None:
            wake_on(self._aside.descriptor)

    @property
    def n_under_way(self) -> int:
        return self._fetcher.n_under_way + self.n_documents + len(self._cancelled)

    @property
    def n_documents(self) -> int:
        """How many of them are fetched, and being read."""
        return self._aside.n_under_way

    def start(self, request: Request) -> None:
        self._fetcher.start(request)

    def poll(self, timeout_s: float) -> list[Received]:
        if self._cancelled:
            timeout_s = 0.0
        elif self.n_documents and not self._is_woken:
            timeout_s = min(timeout_s, _GLANCE_S)
        received = []
        for answer in self._fetcher.poll(timeout_s) + self._cancelled:
            if self.asks_web and is_read_aside(answer):
                self._aside.give(answer)
            else:
                received.append(read_answer(answer, self._reading, self.record_headers))
        self._cancelled = []
        for answer, read in self._aside.taken():
            received.append(read_answer(answer, self._reading, self.record_headers, read))
        self._n_answers += len(received)
        return received

    def cancel(self) -> None:
        self._fetcher.cancel()
        self._cancelled += [Fetched(answer.request, Outcome.CANCELLED) for answer in self._aside.cancel()]

    def close(self) -> None:
        self._fetcher.close()
        self._aside.close()

    def figures(self) -> list[WorkerFigures]:
        return [WorkerFigures("here", 0, self.n_under_way, self._n_answers, time.process_time())]
