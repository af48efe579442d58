"""A worker: it fetches pages and reads them. Those of a crawl look all alike, wherever they work:

    workers.start(request)          begin a fetch
    answers = workers.poll(0.25)    what is finished and read, once there is something, or after this time
    workers.n_under_way             started, and not handed out by `poll` yet
    workers.wishes()                what pages need that are being shown in a browser
    workers.supply(supply)          here it is
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
from orienteer.workers.answer_reader import read_answer, read_shown
from orienteer.workers.documents_aside import DocumentsAside, is_read_aside
from orienteer.workers.received import Reading, Received
from orienteer.workers.showing import Supply, Wish, is_to_be_shown, opened_showing

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
    def wishes(self) -> list[Wish]: ...
    def supply(self, supply: Supply) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def figures(self) -> list[WorkerFigures]: ...


class Worker:
    """Fetches by a `fetcher`, in this process.

    It goes on fetching while a document is read or a page is shown in a browser, if it asks the web.
    """

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
        self._showing = opened_showing(reading.show) if self.asks_web else None
        wake_on = getattr(fetcher, "wake_on", None)
        self._is_woken = wake_on is not None
        if wake_on is not None:
            wake_on(self._aside.descriptor)
            if self._showing is not None:
                wake_on(self._showing.descriptor)

    @property
    def n_under_way(self) -> int:
        return self._fetcher.n_under_way + self.n_aside + len(self._cancelled)

    @property
    def n_aside(self) -> int:
        """How many are fetched: documents being read, and pages being shown."""
        return self._aside.n_under_way + (0 if self._showing is None else self._showing.n_under_way)

    def start(self, request: Request) -> None:
        self._fetcher.start(request)

    def poll(self, timeout_s: float) -> list[Received]:
        if self._cancelled:
            timeout_s = 0.0
        elif self.n_aside and not self._is_woken:
            timeout_s = min(timeout_s, _GLANCE_S)
        received = []
        for answer in self._fetcher.poll(timeout_s) + self._cancelled:
            if self.asks_web and is_read_aside(answer):
                self._aside.give(answer)
                continue
            found = read_answer(answer, self._reading, self.record_headers)
            if self._showing is not None and is_to_be_shown(answer, found.meaning):
                self._showing.give(answer)
            else:
                received.append(found)
        self._cancelled = []
        for shown in () if self._showing is None else self._showing.taken():
            received.append(read_shown(shown, self._reading, self.record_headers))
        for answer, read in self._aside.taken():
            received.append(read_answer(answer, self._reading, self.record_headers, read))
        self._n_answers += len(received)
        return received

    def wishes(self) -> list[Wish]:
        return [] if self._showing is None else self._showing.wishes()

    def supply(self, supply: Supply) -> None:
        if self._showing is not None:
            self._showing.supply(supply)

    def cancel(self) -> None:
        self._fetcher.cancel()
        aside = self._aside.cancel() + ([] if self._showing is None else self._showing.cancel())
        self._cancelled += [Fetched(answer.request, Outcome.CANCELLED) for answer in aside]

    def close(self) -> None:
        self._fetcher.close()
        self._aside.close()
        if self._showing is not None:
            self._showing.close()

    @property
    def cpu_s(self) -> float:
        """That was used so far, by its browser, too."""
        return time.process_time() + (0.0 if self._showing is None else self._showing.cpu_s)

    def figures(self) -> list[WorkerFigures]:
        return [WorkerFigures("here", 0, self.n_under_way, self._n_answers, self.cpu_s)]
