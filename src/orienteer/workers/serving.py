"""The main loop of a worker process: it receives requests over a channel and sends results back, as bytes.

Both ends run the same version of the program, and no other process can write into the channel: pickles are safe here.

A worker process does not compile the kernels that it needs to parse pages: the coordinator does, and each worker would
repeat the same work while its requests are in flight. It runs them as plain Python until they are in the cache.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any, NamedTuple

from orienteer import kernel_folder
from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page, extract_page
from orienteer.extract.page_fields import NO_FIELDS
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.kernel import NotCompiled, never_waiting, only_loading, substituted
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.processes.child import prefer_oom_kill
from orienteer.responses.response import PageRequest, Request
from orienteer.responses.verdict import Verdict, VerdictKind
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.worker import Worker

_NOT_SENT = Request("")


class WorkerOrders(NamedTuple):
    """Requests by number. `record_headers` replace those used so far; None keeps them. `cancel` aborts all requests in
    flight. `browser_responses` are for pages being rendered."""

    requests: list[tuple[int, Request]]
    record_headers: Mapping[str, str] | None = None
    cancel: bool = False
    browser_responses: tuple[BrowserResponse, ...] = ()


class WorkerResults(NamedTuple):
    """Results by the numbers of their requests, which are not sent back. `cpu_s` is the CPU time of the worker so far.

    An empty message reports that the worker is ready, or is a heartbeat while it parses documents or renders pages.
    """

    responses: list[tuple[int, FetchResult]]
    cpu_s: float = 0.0
    browser_requests: tuple[BrowserRequest, ...] = ()


def packed(message: WorkerOrders | WorkerResults) -> bytes:
    if isinstance(message, WorkerResults):
        flat = [(number, _flat(result)) for number, result in message.responses]
        return pickle.dumps((flat, message.cpu_s, message.browser_requests), 5)
    requests = [_flat_request(*numbered) for numbered in message.requests]
    return pickle.dumps((requests, *message[1:]), 5)


def unpack_orders(data: bytes) -> WorkerOrders:
    requests, *others = pickle.loads(data)
    return WorkerOrders([_numbered_request(*values) for values in requests], *others)


def _flat_request(number: int, request: Request) -> tuple[Any, ...]:
    """Return the fields of a usual page request: to pickle the object takes four times as long."""
    if type(request) is PageRequest and request.secrets is None and request.max_body_bytes is None:
        return number, request.url, request.page, request.headers, request.render.value
    return number, request


def _numbered_request(number: int, request: Request | str, *fields: Any) -> tuple[int, Request]:
    if not isinstance(request, str):
        return number, request
    page, headers, reason = fields
    return number, PageRequest(request, page, headers=headers, render=_RENDER_REASONS[reason])


def unpack_results(data: bytes) -> WorkerResults:
    """Unpack results; they have no requests (see `with_request`)."""
    flat, cpu_s, browser_requests = pickle.loads(data)
    return WorkerResults([(number, _from_flat(*values)) for number, values in flat], cpu_s, browser_requests)


def with_request(response: FetchResult, request: Request) -> FetchResult:
    """Put the request back into a result that was received from a worker."""
    response.request = request
    if response.full_response is not None:
        response.full_response = replace(response.full_response, request=request)
    return response


# A result is sent as plain tuples, of everything but the request: to pickle and unpickle an object by its class and the
# names of its fields takes two to three times as long.
_result_values = attrgetter(*(field.name for field in fields(FetchResult)[3:]))  # after request, outcome and verdict
_verdict_values = attrgetter(*(field.name for field in fields(Verdict)[3:]))  # after kind, reason and page
_PAGE_FIELDS = [field.name for field in fields(Page)]
_page_values = attrgetter(*_PAGE_FIELDS[1:])  # after links
_METADATA = _PAGE_FIELDS.index("fields") - 1  # its position in these values
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_KINDS = {kind.value: kind for kind in VerdictKind}
_RENDER_REASONS = {reason.value: reason for reason in RenderReason}


def _flat(result: FetchResult) -> tuple[Any, ...]:
    if result.full_response is not None:
        result = replace(result, full_response=replace(result.full_response, request=_NOT_SENT))
    verdict, page = result.verdict, result.verdict.page
    flat_page = None
    if page is not None:  # a canonical URL has no line breaks
        values = list(_page_values(page))
        values[_METADATA] = None if page.fields is NO_FIELDS else page.fields
        flat_page = "\n".join(page.links), values
    return (
        result.outcome.value, _result_values(result), verdict.kind.value, verdict.reason, flat_page,
        _verdict_values(verdict),
    )  # fmt: skip


def _from_flat(
    outcome: str, result_values: tuple[Any, ...], kind: str, reason: str, flat_page: tuple[str, list[Any]] | None,
    verdict_values: tuple[Any, ...],
) -> FetchResult:  # fmt: skip
    page = None
    if flat_page is not None:
        links, values = flat_page
        values[_METADATA] = values[_METADATA] or NO_FIELDS
        page = Page(links.split("\n") if links else [], *values)
    return FetchResult(
        _NOT_SENT, _OUTCOMES[outcome], Verdict(_KINDS[kind], reason, page, *verdict_values), *result_values
    )


_URL = "http://a.example/"
_PAGE = b"<title>A</title><a href=/1>b</a><a href=/2>c</a><a href=/3>d</a><p>" + b" ".join(
    b"%d" % k for k in range(200)
)
_MIN_CHECK_INTERVAL_S, _MAX_CHECK_INTERVAL_S = 1.0, 16.0  # doubled after each check of the cache


def warm_up_reading() -> tuple[Page, bytes]:
    """Parse a page as a worker does, so that each kernel is called once; return the page and its signature."""
    page = extract_page(_PAGE, _URL)
    signature = near_duplicates.signature(page.text)
    assert signature is not None
    return page, signature


def prepare_workers() -> None:
    """Load in advance what every worker needs: modules, and the kernels that are compiled."""
    import orienteer.fetch.libcurl  # noqa: F401

    folder = kernel_folder.folder()
    if folder is not None and any(folder.iterdir()):
        with suppress(NotCompiled), only_loading():
            warm_up_reading()


@contextmanager
def reading_kernels() -> Iterator[None]:
    """Load the kernels from the cache, now or when they appear there; meanwhile they run as plain Python."""
    if kernel_folder.folder() is None:  # without a cache each process compiles its own
        warm_up_reading()
        yield
        return
    with substituted(_CachePoller()), never_waiting():
        yield


class _CachePoller:
    """Polls the cache of compiled kernels."""

    def __init__(self) -> None:
        self._is_loaded = False
        self._wait_s = _MIN_CHECK_INTERVAL_S
        self._next_check = 0.0

    def poll(self) -> bool | None:
        if not self._is_loaded and time.monotonic() >= self._next_check:
            self._load()
        return self._is_loaded or None

    def wait(self) -> None:
        raise NotImplementedError("a worker never waits for the kernels")

    def _load(self) -> None:
        self._next_check = time.monotonic() + self._wait_s
        self._wait_s = min(2 * self._wait_s, _MAX_CHECK_INTERVAL_S)
        folder = kernel_folder.folder()
        if folder is None or not any(folder.iterdir()):
            return
        try:
            with only_loading():
                warm_up_reading()
        except NotCompiled:
            return
        self._is_loaded = True


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
