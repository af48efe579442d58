"""Workers in other processes, with the interface of a single worker.

A worker may crash at any moment: the kernel kills it, its machine fails, a page triggers a bug. Its requests in flight
are reported as LOST, and the crawl retries them under its politeness rules. One of the pages may be the cause, so a URL
that was in flight at two crashes is fetched by an isolated worker, which has one request at a time. A page that crashes
the isolated worker three times is UNREADABLE and is not retried.

The coordinator enforces timeouts, not the worker. A worker aborts its own fetches after `timeout_s`; a worker that has
not responded `grace_s` later is considered crashed and is stopped, and its late results are ignored. Time in which
`poll` was not called does not count.

A worker on another machine may be unreachable but still running. Its requests are LOST only once its fetches must have
ended, so that no host gets two connections at a time.

Only workers that are ready get requests: on a cluster, a worker may have to wait for free CPUs.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.errors import ProcessError
from orienteer.fetch.fetcher import LoopClock
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.processes.child import Child, ForkServer
from orienteer.processes.supervisor import CrashRecord, StartLimit
from orienteer.responses.response import PageRequest, Request, Response
from orienteer.responses.verdict import Verdict, verdict_kind_of
from orienteer.url import canonical_host_of
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.serving import WorkerOrders, packed, serve, unpack_results, with_request
from orienteer.workers.worker import NO_LIMIT, WorkerFigures

_PIPE_BYTES = 32 << 10  # a message up to this size always fits into the buffer of the pipe


class WorkerEvent(NamedTuple):
    """Results of a worker, or None if it has crashed, and why.

    A worker that is unreachable but may be alive can go on with its requests in flight until `busy_until`.
    """

    worker: Any
    results: bytes | None
    why: str = ""
    busy_until: float = 0.0


class WorkerBackend(Protocol):
    """Starts workers outside this process. A worker is whatever `begin` returns."""

    start_s: float  # how long a worker may take to become ready

    def begin(self) -> Any:
        """Start a worker. It is ready when its first message arrives, with or without results."""

    def send(self, worker: Any, orders: bytes) -> None:
        """Send orders without waiting for the worker."""

    def wait(self, workers: Sequence[Any], timeout_s: float) -> list[WorkerEvent]:
        """Return the events of these workers as soon as there are any, at the latest after this time."""

    def end(self, worker: Any, at_once: bool) -> None:
        """Stop a worker; with `at_once` it is killed."""

    def location(self, worker: Any) -> tuple[str, int]:
        """The worker's machine and its process id there; 0 while that is unknown."""


class _Outbox:
    """Sends to a worker in a thread: large messages block until the worker reads them.

    The worker may block at the same time, until this process reads its results: without the thread that is a deadlock.
    """

    def __init__(self, worker: Child) -> None:
        self.is_idle = True
        self._channel = worker.channel
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._send, daemon=True, name="orders")
        self._thread.start()

    def put(self, orders: bytes) -> None:
        self.is_idle = False
        self._queue.put(orders)

    def close(self) -> None:
        """Stop the thread: everything is sent by now, or the worker is dead and sending fails."""
        self._queue.put(None)
        self._thread.join()

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while (orders := self._queue.get()) is not None:
                self._channel.send_bytes(orders)
                self.is_idle = self._queue.empty()


class ProcessBackend:
    """Workers on this machine, as child processes, which `forks` starts quickly."""

    start_s = 60.0

    def __init__(self, settings: FetchSettings, reading: ReadSettings, forks: ForkServer | None = None) -> None:
        self._arguments = (settings, reading)
        self._forks = forks
        self._outboxes: dict[Child, _Outbox] = {}

    def begin(self) -> Child:
        return Child(serve, *self._arguments, forks=self._forks)

    def send(self, worker: Child, orders: bytes) -> None:
        if worker not in self._outboxes and len(orders) > _PIPE_BYTES:
            self._outboxes[worker] = _Outbox(worker)
        if worker in self._outboxes:
            return self._outboxes[worker].put(orders)
        with contextlib.suppress(OSError):  # a dead worker is reported by `wait`
            worker.channel.send_bytes(orders)

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[WorkerEvent]:
        by_channel = {worker.channel: worker for worker in workers}
        events = []
        for channel in wait(list(by_channel), max(0.0, timeout_s)):
            worker = by_channel[channel]  # type: ignore[index]
            try:
                events.append(WorkerEvent(worker, worker.channel.recv_bytes()))
            except (EOFError, OSError):
                events.append(WorkerEvent(worker, None, worker.why_ended()))
        return events

    def end(self, worker: Child, at_once: bool) -> None:
        outbox = self._outboxes.pop(worker, None)
        if at_once or (outbox is not None and not outbox.is_idle):
            worker.kill()
        if outbox is not None:
            outbox.close()
        worker.close()

    def location(self, worker: Child) -> tuple[str, int]:
        return "this machine", worker.pid


GRACE_S = 60.0  # added to the fetch timeout: a worker also parses pages, and its machine may be busy

_MAX_IMBALANCE = 8  # requests in flight of a host's own worker, minus those of the idlest one
_MAX_SENT_BYTES = 96 << 10  # of requests in flight, per worker: this always fits into the buffer of the pipe
_MAX_CRASHES = 2  # of workers with a URL in flight, before the isolated worker fetches it
_MAX_ISOLATED_CRASHES = 3  # before the page is UNREADABLE


@dataclass(eq=False)
class WorkerSlot:
    """A worker and its requests in flight."""

    worker: Any
    started_at: float
    ready_by: float  # deadline, by the LoopClock of the pool, like all due times
    is_ready: bool = False
    in_flight: dict[int, tuple[Request, float]] = field(default_factory=dict)  # request and due time, by number
    unsent: deque[int] = field(default_factory=deque)  # numbers of requests that wait for space in the pipe
    n_sent_bytes: int = 0  # of the requests in flight
    n_responses: int = 0
    cpu_s: float = 0.0
    rendering_pages: set[int] = field(default_factory=set)  # pages that wait for assets
    record_headers: Mapping[str, str] | None = None  # as last sent to the worker

    @property
    def due(self) -> float:
        """The time by which the next response must arrive. Requests are sent in order, so the first is due first."""
        if not self.is_ready:
            return self.ready_by
        return next(iter(self.in_flight.values()))[1] if self.in_flight else math.inf


class RemoteWorkers:
    """`n` workers of a backend, started at once.

    A request times out `grace_s` after the `timeout_s` of its fetch.
    """

    def __init__(
        self, backend: WorkerBackend, n: int, timeout_s: float, uses_network: bool, sticky_hosts: bool = False,
        grace_s: float = GRACE_S,
    ) -> None:  # fmt: skip
        """With `sticky_hosts` a host always has the same worker, because workers keep the cookies of their hosts."""
        self.uses_network = uses_network
        self.max_in_flight = NO_LIMIT
        self.record_headers: Mapping[str, str] = {}
        self.n_crashed = 0
        self._clock = LoopClock()
        self._backend = backend
        self._response_timeout_s = timeout_s + grace_s
        self._sticky_hosts = sticky_hosts
        self._slots = [self._new_slot() for _ in range(n)]
        self._isolated: WorkerSlot | None = None  # gets one request at a time
        self._suspects: deque[Request] = deque()  # requests for the isolated worker
        self._waiting: list[Request] = []  # until a worker is ready
        self._presumed_lost: list[tuple[float, list[FetchResult]]] = []  # (time of the report, results)
        self._crashes: CrashRecord[str] = CrashRecord(_MAX_CRASHES, _MAX_ISOLATED_CRASHES)  # by URL
        self._starts = StartLimit()
        self._next_number = 0
        self._browser_requests: list[BrowserRequest] = []
        self._done: list[FetchResult] = []

    @property
    def n_in_flight(self) -> int:
        n_presumed_lost = sum(len(lost) for _, lost in self._presumed_lost)
        return self._n_assigned() + len(self._waiting) + len(self._suspects) + len(self._done) + n_presumed_lost

    def start(self, request: Request) -> None:
        if self._crashes.is_suspect(request.url):
            self._suspects.append(request)
        elif (slot := self._slot_for(request)) is not None:
            self._assign(slot, request)
        else:
            self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[FetchResult]:
        self._give_suspect()
        slots = self._all_slots()
        for slot in slots:
            self._send(slot)
        next_due_s = min((slot.due for slot in slots), default=math.inf) - self._clock.advance()
        next_end_s = min((due for due, _ in self._presumed_lost), default=math.inf) - time.monotonic()
        wait_s = 0.0 if self._done else min(timeout_s, next_due_s, next_end_s)
        for event in self._backend.wait([slot.worker for slot in slots], wait_s):
            slot = next(slot for slot in slots if slot.worker is event.worker)
            if event.results is None:
                self._replace_crashed(slot, event.why, event.busy_until)
            else:
                self._receive(slot, event.results)
        now = self._clock.advance(wait_s)
        for slot in [slot for slot in self._all_slots() if slot.due <= now]:
            self._replace_crashed(
                slot, f"no response for {self._response_timeout_s if slot.is_ready else self._backend.start_s:.0f} s"
            )
        self._report_lost(time.monotonic())
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self.start(request)
        done, self._done = self._done, []
        return done

    def browser_requests(self) -> list[BrowserRequest]:
        browser_requests, self._browser_requests = self._browser_requests, []
        return browser_requests

    def fulfill(self, response: BrowserResponse) -> None:
        slot = next((slot for slot in self._all_slots() if response.page in slot.rendering_pages), None)
        if slot is not None:  # the worker may have crashed since
            self._backend.send(slot.worker, packed(WorkerOrders([], browser_responses=(response,))))

    def cancel(self) -> None:
        self._browser_requests.clear()
        for slot in self._all_slots():
            slot.rendering_pages.clear()
            for request, _ in slot.in_flight.values():
                self._done.append(_without_response(request, Outcome.CANCELLED))
            slot.in_flight.clear()
            slot.unsent.clear()
            slot.n_sent_bytes = 0
            self._backend.send(slot.worker, packed(WorkerOrders([], cancel=True)))
        self._report_lost(math.inf)
        self._done += [_without_response(request, Outcome.CANCELLED) for request in (*self._suspects, *self._waiting)]
        self._suspects.clear()
        self._waiting.clear()

    def close(self) -> None:
        for slot in self._all_slots():
            self._backend.end(slot.worker, at_once=bool(slot.in_flight))
        self._slots, self._isolated = [], None

    def figures(self) -> list[WorkerFigures]:
        return [
            WorkerFigures(*self._backend.location(slot.worker), len(slot.in_flight), slot.n_responses, slot.cpu_s)
            for slot in self._all_slots()
        ]

    # -- assignment ---------------------------------------------------------------------------------------------

    def _all_slots(self) -> list[WorkerSlot]:
        return self._slots if self._isolated is None else [*self._slots, self._isolated]

    def _new_slot(self) -> WorkerSlot:
        worker = self._backend.begin()
        return WorkerSlot(worker, time.monotonic(), self._clock.advance() + self._backend.start_s)

    def _n_assigned(self) -> int:
        return sum(len(slot.in_flight) for slot in self._all_slots())

    def _slot_for(self, request: Request) -> WorkerSlot | None:
        """Choose a ready worker: the one with the host's connections, unless another has a much lower load."""
        home = self._slots[crc32(canonical_host_of(request.url).encode()) % len(self._slots)]
        if home.is_ready and (self._sticky_hosts or len(home.in_flight) < _MAX_IMBALANCE):
            return home
        ready = [] if self._sticky_hosts else [slot for slot in self._slots if slot.is_ready]
        if not ready:
            return None
        idlest = min(ready, key=lambda slot: len(slot.in_flight))
        return home if home.is_ready and len(home.in_flight) < len(idlest.in_flight) + _MAX_IMBALANCE else idlest

    def _assign(self, slot: WorkerSlot, request: Request) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
        slot.in_flight[number] = request, math.inf
        slot.unsent.append(number)

    def _give_suspect(self) -> None:
        if not self._suspects:
            return
        if self._isolated is None:
            self._isolated = self._new_slot()
        if self._isolated.is_ready and not self._isolated.in_flight:
            self._assign(self._isolated, self._suspects.popleft())

    def _send(self, slot: WorkerSlot) -> None:
        """Send as many requests as fit into the pipe; a blocking write to a busy worker would stop the crawl."""
        requests = []
        due = self._clock.advance() + self._response_timeout_s
        while slot.unsent and slot.n_sent_bytes < _MAX_SENT_BYTES:
            number = slot.unsent.popleft()
            request, _ = slot.in_flight[number]
            slot.in_flight[number] = request, due
            requests.append((number, request))
            slot.n_sent_bytes += _size(request)
        if requests:
            is_new = slot.record_headers is not self.record_headers
            slot.record_headers = self.record_headers
            orders = WorkerOrders(requests, self.record_headers if is_new else None)
            self._backend.send(slot.worker, packed(orders))

    # -- results and crashes ------------------------------------------------------------------------------------

    def _receive(self, slot: WorkerSlot, data: bytes) -> None:
        results = unpack_results(data)
        slot.is_ready = True
        self._starts.reset()
        slot.cpu_s = results.cpu_s or slot.cpu_s
        slot.rendering_pages.update(request.page for request in results.browser_requests)
        self._browser_requests += results.browser_requests
        if not results.responses:  # a heartbeat while documents are parsed or pages rendered: extend the deadlines
            due = self._clock.advance() + self._response_timeout_s
            slot.in_flight = {
                number: (request, due if before < math.inf else before)
                for number, (request, before) in slot.in_flight.items()
            }
        for number, response in results.responses:
            assigned = slot.in_flight.pop(number, None)
            if assigned is None:
                continue  # cancelled meanwhile
            slot.n_responses += 1
            request, _ = assigned
            if isinstance(request, PageRequest):
                slot.rendering_pages.discard(request.page)
            slot.n_sent_bytes -= _size(request)
            self._crashes.drop(request.url)
            self._done.append(with_request(response, request))

    def _replace_crashed(self, slot: WorkerSlot, why: str, busy_until: float = 0.0) -> None:
        """Replace a crashed worker. Its requests in flight are LOST, or UNREADABLE after too many crashes."""
        self.n_crashed += 1
        self._backend.end(slot.worker, at_once=True)
        self._browser_requests = [one for one in self._browser_requests if one.page not in slot.rendering_pages]
        lost = []
        for number, (request, _) in slot.in_flight.items():
            was_sent = number not in slot.unsent
            outcome = self._outcome_after_crash(request) if was_sent else Outcome.LOST
            lost.append(_without_response(request, outcome, why))
        self._presumed_lost.append((busy_until, lost))
        if not slot.is_ready:
            self._starts.add_failure(slot.started_at)
            if self._starts.is_reached:
                raise ProcessError(f"workers crash before they are ready: {why}")
        if slot is self._isolated:
            self._isolated = None
        else:
            self._slots[self._slots.index(slot)] = self._new_slot()

    def _report_lost(self, now: float) -> None:
        """Report the requests of crashed workers whose fetches must have ended by now."""
        for _, lost in (due := [pair for pair in self._presumed_lost if pair[0] <= now]):
            self._done += lost
        if due:
            self._presumed_lost = [pair for pair in self._presumed_lost if pair[0] > now]

    def _outcome_after_crash(self, request: Request) -> Outcome:
        """Count a crash for a request that was in flight; return its outcome."""
        self._crashes.add(request.url)
        return Outcome.UNREADABLE if self._crashes.is_refused(request.url) else Outcome.LOST


def _size(request: Request) -> int:
    size_bytes = 200 + len(request.url)
    if request.headers:
        size_bytes += sum(len(name) + len(value) for name, value in request.headers)
    return size_bytes if request.secrets is None else size_bytes + request.secrets.size_bytes


def _without_response(request: Request, outcome: Outcome, detail: str = "") -> FetchResult:
    verdict = Verdict(verdict_kind_of(outcome, 0), outcome.describe(0))
    now = time.time()
    is_page = isinstance(request, PageRequest)
    response = None if is_page else Response(request, outcome, started_at=now, detail=detail)
    return FetchResult(request, outcome, verdict, started_at=now, detail=detail, full_response=response)
