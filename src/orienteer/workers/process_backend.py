"""Workers that are processes on this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import Child
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.serving import serve

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
    """Workers on this machine, as child processes."""

    start_s = 60.0

    def __init__(self, settings: FetchSettings, reading: ReadSettings) -> None:
        self._arguments = (settings, reading)
        self._outboxes: dict[Child, _Outbox] = {}

    def begin(self) -> Child:
        return Child(serve, *self._arguments)

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
