"""Workers fetch and parse pages. All kinds of workers have the same interface:

    workers.start(request)          begin a fetch
    results = workers.poll(0.25)    results, as soon as there are any, or none after this time
    workers.n_in_flight             requests that were started and are not returned by `poll` yet
    workers.browser_requests()      new requests of pages being rendered
    workers.fulfill(response)       the response to one of them
    workers.cancel()                abort everything in flight; `poll` reports it as cancelled
    workers.close()                 cancel, then close connections and processes

`poll` returns exactly one `FetchResult` for each started request, with the same request object.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, Protocol

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.extract.documents.document import DocumentReading
from orienteer.fetch.fetcher import Fetcher
from orienteer.kernel import runs_plain
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Request, Response
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.reading_thread import ReadingThread, document_reading, needs_document_reader
from orienteer.workers.rendering import open_renderer, should_render
from orienteer.workers.response_reader import read_response

NO_LIMIT = 1 << 30
_SHORT_POLL_S = 0.01  # for a fetcher that cannot be woken when a document is parsed
_MAX_PLAIN_BYTES = 64 << 10  # parsed per poll in this thread while kernels run as plain Python


class WorkerFigures(NamedTuple):
    """Status of a worker: its machine and process, requests in flight, and its totals in this run."""

    where: str
    process: int
    n_in_flight: int
    n_responses: int
    cpu_s: float


class Workers(Protocol):
    """The interface of one or several workers to a crawl."""

    uses_network: bool
    max_in_flight: int
    record_headers: Mapping[str, str]  # of the WARC records built from now on
    n_crashed: int  # workers that crashed and were replaced

    @property
    def n_in_flight(self) -> int: ...
    def start(self, request: Request) -> None: ...
    def poll(self, timeout_s: float) -> list[FetchResult]: ...
    def browser_requests(self) -> list[BrowserRequest]: ...
    def fulfill(self, response: BrowserResponse) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def figures(self) -> list[WorkerFigures]: ...


class Worker:
    """A worker in this process.

    With a fetcher that uses the network, fetching continues while threads parse documents, and large pages as long as
    the kernels are not compiled, and while a browser renders pages.
    """

    n_crashed = 0

    def __init__(self, fetcher: Fetcher, reading: ReadSettings) -> None:
        self.uses_network = fetcher.uses_network
        self.max_in_flight: int = getattr(fetcher, "max_in_flight", NO_LIMIT)
        self.record_headers: Mapping[str, str] = {}
        self._fetcher = fetcher
        self._reading = reading
        self._n_responses = 0
        self._documents: ReadingThread[DocumentReading] = ReadingThread()
        self._pages: ReadingThread[FetchResult] = ReadingThread()
        self._n_plain_bytes = 0  # of pages received in this poll, while kernels run as plain Python
        self._cancelled: list[Response] = []
        self._renderer = open_renderer(reading) if self.uses_network else None
        wake_on = getattr(fetcher, "wake_on", None)
        self._is_woken = wake_on is not None
        if wake_on is not None:
            wake_on(self._documents.descriptor)
            wake_on(self._pages.descriptor)
            if self._renderer is not None:
                wake_on(self._renderer.descriptor)

    @property
    def n_in_flight(self) -> int:
        return self._fetcher.n_in_flight + self.n_reading + len(self._cancelled)

    @property
    def n_reading(self) -> int:
        """The number of fetched responses that are being parsed or rendered."""
        n_read = self._documents.n_in_flight + self._pages.n_in_flight
        return n_read + (0 if self._renderer is None else self._renderer.n_in_flight)

    def start(self, request: Request) -> None:
        self._fetcher.start(request)

    def poll(self, timeout_s: float) -> list[FetchResult]:
        if self._cancelled:
            timeout_s = 0.0
        elif self.n_reading and not self._is_woken:
            timeout_s = min(timeout_s, _SHORT_POLL_S)
        received: list[FetchResult] = []
        self._n_plain_bytes = 0
        for response in self._fetcher.poll(timeout_s) + self._cancelled:
            if self.uses_network and needs_document_reader(response):
                self._documents.submit(response, partial(document_reading, response))
            elif self._needs_thread(response):
                self._pages.submit(response, partial(self._read, response))
            else:
                self._complete(response, self._read(response), received)
        self._cancelled = []
        for rendered in () if self._renderer is None else self._renderer.completed():
            if self._needs_thread(rendered):
                self._pages.submit(rendered, partial(self._read, rendered))
            else:
                received.append(self._read(rendered))
        for response, result in self._pages.completed():
            self._complete(response, result, received)
        for response, read in self._documents.completed():
            received.append(read_response(response, self._reading, self.record_headers, read))
        self._n_responses += len(received)
        return received

    def _read(self, response: Response) -> FetchResult:
        return read_response(response, self._reading, self.record_headers)

    def _complete(self, response: Response, result: FetchResult, received: list[FetchResult]) -> None:
        """Append a result to `received`, unless a browser has to render the page first."""
        if self._renderer is not None and should_render(response, result.verdict):
            self._renderer.submit(response)
        else:
            received.append(result)

    def _needs_thread(self, response: Response) -> bool:
        """Whether to parse a response in a thread: the kernels are not compiled, and this poll received many bytes."""
        if not self.uses_network or not response.content or not runs_plain():
            return False
        self._n_plain_bytes += len(response.content) + (
            0 if response.rendered is None else len(response.rendered.document)
        )
        return self._n_plain_bytes > _MAX_PLAIN_BYTES

    def browser_requests(self) -> list[BrowserRequest]:
        return [] if self._renderer is None else self._renderer.browser_requests()

    def fulfill(self, response: BrowserResponse) -> None:
        if self._renderer is not None:
            self._renderer.fulfill(response)

    def cancel(self) -> None:
        self._fetcher.cancel()
        dropped = self._documents.cancel() + self._pages.cancel()
        dropped += [] if self._renderer is None else self._renderer.cancel()
        self._cancelled += [Response(response.request, Outcome.CANCELLED) for response in dropped]

    def close(self) -> None:
        self._fetcher.close()
        self._documents.close()
        self._pages.close()
        if self._renderer is not None:
            self._renderer.close()

    @property
    def cpu_s(self) -> float:
        """CPU time so far, including the browser's."""
        return time.process_time() + (0.0 if self._renderer is None else self._renderer.cpu_s)

    def figures(self) -> list[WorkerFigures]:
        return [WorkerFigures("here", 0, self.n_in_flight, self._n_responses, self.cpu_s)]
