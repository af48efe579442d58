"""Workers fetch and parse pages. All kinds of workers have the same interface:

    workers.start(request)          begin a fetch
    results = workers.poll(0.25)    results, as soon as there are any, or none after this time
    workers.n_in_flight             requests that were started and are not returned by `poll` yet
    workers.browser_requests()      new requests of pages being rendered
    workers.fulfill(response)       the response to one of them
    workers.cancel()                abort everything in flight; `poll` reports it as cancelled
    workers.close()                 cancel, then close connections and processes

`poll` returns exactly one `FetchResult` for each started request, with the same request object.

A worker renders pages while it continues to fetch. The browser has no network: each of its requests goes to the
coordinator, which fetches an asset under the rules of the crawl (robots.txt, delays, scope), and sends a response back.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, Protocol, TypeVar

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from orienteer.browser.renderer import Renderer
from orienteer.errors import InputError
from orienteer.extract.documents.document import Document, DocumentReading, UnreadableDocumentError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import extract_page
from orienteer.extract.script_signs import is_sparse
from orienteer.fetch.fetcher import Fetcher
from orienteer.kernel import runs_plain
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.reading import is_html
from orienteer.responses.response import PageRequest, Request, Response
from orienteer.responses.verdict import Verdict, VerdictKind, verdict_kind_of
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response

_Read = TypeVar("_Read")

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
        self._renderer = _open_renderer(reading) if self.uses_network else None
        self._rendering: dict[int, RenderJob] = {}  # by page
        self._n_rendered = 0  # jobs so far
        self._browser_requests: list[BrowserRequest] = []
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
        return self._documents.n_in_flight + self._pages.n_in_flight + len(self._rendering)

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
        for rendered in self._rendered():
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
            self._start_rendering(self._renderer, response)
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

    # -- rendering ----------------------------------------------------------------------------------------------

    def _start_rendering(self, renderer: Renderer, response: Response) -> None:
        settings = self._reading.render
        assert settings is not None
        pictures = settings.screenshots or self._reading.assets
        job = RenderJob(self._n_rendered, response, settings, self._reading.user_agent, pictures)
        self._n_rendered += 1
        self._rendering[job.page] = job
        self._browser_requests.append(BrowserRequest(job.page, -1, "", ""))
        renderer.start(job)

    def _rendered(self) -> list[Response]:
        """Return the responses that a browser has rendered, and collect its requests."""
        rendered_responses = []
        for event in () if self._renderer is None else self._renderer.events():
            if isinstance(event, BrowserRequest):
                if event.page in self._rendering:
                    self._browser_requests.append(event)
                continue
            job, rendered = event
            if self._rendering.get(job.page) is job:  # else it was cancelled
                del self._rendering[job.page]
                rendered_responses.append(replace(job.response, rendered=rendered))
        return rendered_responses

    def browser_requests(self) -> list[BrowserRequest]:
        browser_requests, self._browser_requests = self._browser_requests, []
        return browser_requests

    def fulfill(self, response: BrowserResponse) -> None:
        if self._renderer is not None and response.page in self._rendering:  # else it was cancelled, or timed out
            self._renderer.fulfill(response)

    # -- end ----------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        self._fetcher.cancel()
        dropped = self._documents.cancel() + self._pages.cancel()
        dropped += [job.response for job in self._rendering.values()]
        self._rendering, self._browser_requests = {}, []
        if self._renderer is not None:
            self._renderer.cancel()
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


def _open_renderer(reading: ReadSettings) -> Renderer | None:
    """Return a renderer; None if no page is to be rendered, or if this machine of a cluster has no browser."""
    try:
        return None if reading.render is None else Renderer(reading.browser)
    except InputError:
        return None


def should_render(response: Response, verdict: Verdict) -> bool:
    """Whether a browser has to render a page that was parsed as sent by the server."""
    request = response.request
    why = request.render if isinstance(request, PageRequest) else RenderReason.NONE
    if not why or response.rendered is not None or verdict.kind is not VerdictKind.FETCHED or verdict.page is None:
        return False
    if not is_html(response.content_type):
        return False
    if why == RenderReason.SUSPECT:
        return verdict.page.is_suspect
    if why == RenderReason.SPARSE:
        return verdict.page.is_suspect or (verdict.page.has_code and _is_sparse(response))
    return verdict.page.has_code or verdict.page.is_suspect or why in (RenderReason.REQUESTED, RenderReason.ROUTE)


def _is_sparse(response: Response) -> bool:
    """Read the text of a page, which its result may not have, and return whether it is sparse. Few pages are asked."""
    text = extract_page(response.content, response.request.url, response.charset).text
    return is_sparse(text, response.content)


def needs_document_reader(response: Response) -> bool:
    """Whether a response is a document that has to be parsed."""
    is_page = isinstance(response.request, PageRequest)
    if not is_page or verdict_kind_of(response.outcome, response.status) is not VerdictKind.FETCHED:
        return False
    return bool(response.content) and is_document(response.content_type)


class ReadingThread(Generic[_Read]):
    """Reads responses in a thread while the worker goes on fetching: one at a time, in the order of submission.

    A document may take seconds: the thread waits for the process that parses it (`extract/documents/limited`), and the
    worker completes the result afterwards. While kernels run as plain Python (`kernel`), large pages are slow, too.

        thread.submit(response, read)    `read()` is called in the thread
        thread.n_in_flight               submitted and not returned by `completed` yet
        thread.completed()               responses with the return values of `read`
        thread.descriptor                is readable when a response is completed
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Response, Callable[[], _Read]] | None] = SimpleQueue()
        self._ready: SimpleQueue[tuple[Response, _Read | BaseException]] = SimpleQueue()
        self._in_flight: dict[Request, Response] = {}
        self._thread: threading.Thread | None = None
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)

    @property
    def n_in_flight(self) -> int:
        return len(self._in_flight)

    def submit(self, response: Response, read: Callable[[], _Read]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="reading")
            self._thread.start()
        self._in_flight[response.request] = response
        self._waiting.put((response, read))

    def completed(self) -> list[tuple[Response, _Read]]:
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 4096)
        results = []
        with contextlib.suppress(Empty):
            while True:
                response, read = self._ready.get_nowait()
                if isinstance(read, BaseException):
                    raise read
                if self._in_flight.get(response.request) is response:  # else it was cancelled
                    del self._in_flight[response.request]
                    results.append((response, read))
        return results

    def cancel(self) -> list[Response]:
        """Drop everything submitted and return the responses that were not completed."""
        with contextlib.suppress(Empty):
            while True:
                self._waiting.get_nowait()
        dropped, self._in_flight = list(self._in_flight.values()), {}
        return dropped

    def close(self) -> None:
        """Stop the thread after the response that it is reading."""
        self.cancel()
        if self._thread is None:
            self._close_pipe()
        else:
            self._waiting.put(None)

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            response, read = task
            results: _Read | BaseException
            try:
                results = read()
            except BaseException as error:  # raised again in `completed`, as it would be without a thread
                results = error
            self._ready.put((response, results))
            with contextlib.suppress(BlockingIOError):  # the pipe is full: the worker will be woken anyway
                os.write(self._wake, b".")
        self._close_pipe()

    def _close_pipe(self) -> None:
        os.close(self.descriptor)
        os.close(self._wake)


def document_reading(response: Response) -> DocumentReading:
    """Parse a document now and return a DocumentReading that returns, or raises, the result."""
    read: Document | UnreadableDocumentError
    try:
        read = read_document(response.content, response.content_type)
    except UnreadableDocumentError as error:
        read = error

    def read_result(content: bytes, media_type: str) -> Document:
        if isinstance(read, UnreadableDocumentError):
            raise read
        return read

    return read_result
