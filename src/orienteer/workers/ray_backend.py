"""Workers as Ray actors, on this machine or on others; Ray schedules and supervises them."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orienteer.errors import ProcessError
from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import Child
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.ray_cluster import expect_usable
from orienteer.workers.ray_relay import BEGIN, END, ORDERS, PENDING_S, Joined, Rejected, RelayMessage, relay
from orienteer.workers.remote_workers import WorkerEvent

DEFAULT_MAX_WORKERS = 16

_MAX_EVENTS = 64  # returned by one `wait`


class RayCluster:
    """A Ray cluster that a crawl has joined through a relay process (see `ray_relay`)."""

    def __init__(self, on: str) -> None:
        expect_usable(on)
        self._child = Child(relay, on)
        try:
            response = self.receive(None)
        except BaseException:
            self.close()
            raise
        assert isinstance(response, Joined)
        self.n_cpus = response.n_cpus

    @property
    def n_workers(self) -> int:
        """The default number of workers."""
        return max(1, min(self.n_cpus, DEFAULT_MAX_WORKERS))

    def workers(self, settings: FetchSettings, reading: ReadSettings) -> RayBackend:
        return RayBackend(self, settings, reading)

    def send(self, *message: Any) -> None:
        try:
            self._child.channel.send(message)
        except OSError:
            raise self._lost() from None

    def receive(self, timeout_s: float | None) -> Joined | RelayMessage | None:
        """Return the next message, or None if there is none within this time."""
        try:
            if not self._child.channel.poll(timeout_s):
                return None
            message: Joined | RelayMessage | Rejected = self._child.channel.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if isinstance(message, Rejected):
            raise ProcessError(message.why)
        return message

    def _lost(self) -> ProcessError:
        # Ray terminates a process that cannot reach the head node, with a long line in its log.
        why = self._child.why_ended().rpartition("] ")[2].partition(". ")[0]
        return ProcessError(f"the connection to the Ray cluster is lost ({why}); run the same command again to resume")

    def close(self) -> None:
        self._child.close()


@dataclass(eq=False)
class _ActorWorker:
    number: int
    location: tuple[str, int] = ("", 0)


class RayBackend:
    """Workers on a Ray cluster. A new worker may have to wait for free CPUs."""

    start_s = PENDING_S + 60.0

    def __init__(self, cluster: RayCluster, settings: FetchSettings, reading: ReadSettings) -> None:
        self._cluster = cluster
        self._arguments = pickle.dumps((settings, reading))
        self._n_begun = 0
        self._workers: dict[int, _ActorWorker] = {}

    def begin(self) -> _ActorWorker:
        worker = self._workers[self._n_begun] = _ActorWorker(self._n_begun)
        self._n_begun += 1
        self._cluster.send(BEGIN, worker.number, self._arguments)
        return worker

    def send(self, worker: _ActorWorker, orders: bytes) -> None:
        with contextlib.suppress(ProcessError):  # `wait` raises it again
            self._cluster.send(ORDERS, worker.number, orders)

    def wait(self, workers: Sequence[_ActorWorker], timeout_s: float) -> list[WorkerEvent]:
        events: list[WorkerEvent] = []
        message = self._cluster.receive(max(0.0, timeout_s))
        while message is not None:
            assert isinstance(message, RelayMessage)
            worker = self._workers.get(message.number)
            if worker is not None:
                worker.location = message.location or worker.location
                busy_until = time.monotonic() + message.busy_s
                events.append(WorkerEvent(worker, message.results, message.why, busy_until))
            message = self._cluster.receive(0.0) if len(events) < _MAX_EVENTS else None
        return events

    def end(self, worker: _ActorWorker, at_once: bool) -> None:
        if self._workers.pop(worker.number, None) is None:
            return
        with contextlib.suppress(ProcessError):
            self._cluster.send(END, worker.number, b"")

    def location(self, worker: _ActorWorker) -> tuple[str, int]:
        return worker.location
