"""Workers that are Ray actors, on this machine or on others; Ray places them, and watches over them."""

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
from orienteer.workers.processes import Event
from orienteer.workers.ray_cluster import expect_usable
from orienteer.workers.ray_relay import BEGIN, END, ORDERS, PENDING_S, Joined, Refused, Said, relay
from orienteer.workers.received import Reading

MOST_BY_DEFAULT = 16

_MOST_EVENTS = 64  # at a time


class RayCluster:
    """A cluster that a crawl has joined, by a process beside it (see `ray_relay`)."""

    def __init__(self, on: str) -> None:
        expect_usable(on)
        self._child = Child(relay, on)
        try:
            answer = self.heard(None)
        except BaseException:
            self.close()
            raise
        assert isinstance(answer, Joined)
        self.n_cpus = answer.n_cpus

    @property
    def n_workers(self) -> int:
        """How many are of use, where nobody says how many."""
        return max(1, min(self.n_cpus, MOST_BY_DEFAULT))

    def workers(self, settings: FetchSettings, reading: Reading) -> RayActors:
        return RayActors(self, settings, reading)

    def tell(self, *message: Any) -> None:
        try:
            self._child.channel.send(message)
        except OSError:
            raise self._lost() from None

    def heard(self, timeout_s: float | None) -> Joined | Said | None:
        """The next message, if there is one within this time."""
        try:
            if not self._child.channel.poll(timeout_s):
                return None
            message: Joined | Said | Refused = self._child.channel.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if isinstance(message, Refused):
            raise ProcessError(message.why)
        return message

    def _lost(self) -> ProcessError:
        # Ray ends a process that cannot reach the head of its cluster, with a long line in its log.
        why = self._child.why_ended().rpartition("] ")[2].partition(". ")[0]
        return ProcessError(f"the connection to the Ray cluster is lost ({why}); run the same command again to resume")

    def close(self) -> None:
        self._child.close()


@dataclass(eq=False)
class _Worker:
    number: int
    place: tuple[str, int] = ("", 0)


class RayActors:
    """Workers on a cluster. One that is begun may have to wait until there is room for it."""

    start_s = PENDING_S + 60.0

    def __init__(self, cluster: RayCluster, settings: FetchSettings, reading: Reading) -> None:
        self._cluster = cluster
        self._arguments = pickle.dumps((settings, reading))
        self._n_begun = 0
        self._workers: dict[int, _Worker] = {}

    def begin(self) -> _Worker:
        worker = self._workers[self._n_begun] = _Worker(self._n_begun)
        self._n_begun += 1
        self._cluster.tell(BEGIN, worker.number, self._arguments)
        return worker

    def send(self, worker: _Worker, orders: bytes) -> None:
        with contextlib.suppress(ProcessError):  # the cluster is lost: `wait` says so
            self._cluster.tell(ORDERS, worker.number, orders)

    def wait(self, workers: Sequence[_Worker], timeout_s: float) -> list[Event]:
        events: list[Event] = []
        message = self._cluster.heard(max(0.0, timeout_s))
        while message is not None:
            assert isinstance(message, Said)
            worker = self._workers.get(message.number)
            if worker is not None:
                worker.place = message.place or worker.place
                busy_until = time.monotonic() + message.busy_s
                events.append(Event(worker, message.results, message.why, busy_until))
            message = self._cluster.heard(0.0) if len(events) < _MOST_EVENTS else None
        return events

    def end(self, worker: _Worker, at_once: bool) -> None:
        if self._workers.pop(worker.number, None) is None:
            return
        with contextlib.suppress(ProcessError):
            self._cluster.tell(END, worker.number, b"")

    def place_of(self, worker: _Worker) -> tuple[str, int]:
        return worker.place
