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
from orienteer.workers.received import Reading
from orienteer.workers.serving import serve

_MUCH_BYTES = 32 << 10  # beyond what surely fits into a channel, with what else is in it


class Event(NamedTuple):
    """Something came from a worker: results, or None where it has died, and why.

    One that is out of reach, and not known to be dead, may go on with what it has in hand until `busy_until`.
    """

    worker: Any
    results: bytes | None
    why: str = ""
    busy_until: float = 0.0


class Elsewhere(Protocol):
    """Where workers run that are not in this process. A worker is whatever `begin` returns."""

    start_s: float  # how long one may take until it is ready

    def begin(self) -> Any:
        """A new worker. It may not be there yet; the first that comes from it, results or none, says that it is."""

    def send(self, worker: Any, orders: bytes) -> None:
        """Never waits for the worker."""

    def wait(self, workers: Sequence[Any], timeout_s: float) -> list[Event]:
        """What came from these workers, once there is something, or after this time."""

    def end(self, worker: Any, at_once: bool) -> None:
        """It is not needed any more; `at_once`: nor may it go on for a moment."""

    def place_of(self, worker: Any) -> tuple[str, int]:
        """The machine it is on, and the number of its process there; 0 while that is not known."""


class _Outbox:
    """Sends to a worker in a thread: what is much may have to wait until the worker takes it in.

    The worker may wait at the same time until this process takes in its results.
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
        """All is sent, or the worker is dead by now, so that sending to it fails."""
        self._queue.put(None)
        self._thread.join()

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            while (orders := self._queue.get()) is not None:
                self._channel.send_bytes(orders)
                self.is_idle = self._queue.empty()


class Processes:
    """On this machine, as children of this process."""

    start_s = 60.0

    def __init__(self, settings: FetchSettings, reading: Reading) -> None:
        self._arguments = (settings, reading)
        self._outboxes: dict[Child, _Outbox] = {}

    def begin(self) -> Child:
        return Child(serve, *self._arguments)

    def send(self, worker: Child, orders: bytes) -> None:
        if worker not in self._outboxes and len(orders) > _MUCH_BYTES:
            self._outboxes[worker] = _Outbox(worker)
        if worker in self._outboxes:
            return self._outboxes[worker].put(orders)
        with contextlib.suppress(OSError):  # it is dead: `wait` says so
            worker.channel.send_bytes(orders)

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[Event]:
        by_channel = {worker.channel: worker for worker in workers}
        events = []
        for channel in wait(list(by_channel), max(0.0, timeout_s)):
            worker = by_channel[channel]  # type: ignore[index]
            try:
                events.append(Event(worker, worker.channel.recv_bytes()))
            except (EOFError, OSError):
                events.append(Event(worker, None, worker.why_ended()))
        return events

    def end(self, worker: Child, at_once: bool) -> None:
        outbox = self._outboxes.pop(worker, None)
        if at_once or (outbox is not None and not outbox.is_idle):
            worker.kill()
        if outbox is not None:
            outbox.close()
        worker.close()

    def place_of(self, worker: Child) -> tuple[str, int]:
        return "this machine", worker.pid
