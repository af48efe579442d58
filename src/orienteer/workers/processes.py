"""Workers that are processes on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, NamedTuple, Protocol

from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import Child
from orienteer.workers.received import Reading
from orienteer.workers.serving import serve


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


class Processes:
    """On this machine, as children of this process."""

    start_s = 60.0

    def __init__(self, settings: FetchSettings, reading: Reading) -> None:
        self._arguments = (settings, reading)

    def begin(self) -> Child:
        return Child(serve, *self._arguments)

    def send(self, worker: Child, orders: bytes) -> None:
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
        if at_once:
            worker.kill()
        worker.close()

    def place_of(self, worker: Child) -> tuple[str, int]:
        return "this machine", worker.pid
