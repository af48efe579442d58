"""Workers that die of some pages, or do not answer any more: as after a crash in a library, or for lack of memory."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import Child
from orienteer.workers import serving
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.processes import Processes
from orienteer.workers.received import Reading


def serve_deadly(channel: Connection, settings: FetchSettings, reading: Reading) -> None:
    """As `serve`, but whoever reads a page with "deadly" in its URL is killed, or stops where it says "stuck"."""
    from orienteer.workers import worker

    def read_or_die(answer: Any, *rest: Any) -> Any:
        if "deadly" in answer.request.url:
            os.kill(os.getpid(), signal.SIGKILL)
        if "stuck" in answer.request.url:
            os.kill(os.getpid(), signal.SIGSTOP)
        return read_answer(answer, *rest)

    worker.read_answer = read_or_die  # type: ignore[assignment]
    serving.serve(channel, settings, reading)


def fail(channel: Connection, settings: FetchSettings, reading: Reading) -> None:
    raise ValueError("nothing works here")


class DeadlyProcesses(Processes):
    def begin(self) -> Child:
        return Child(serve_deadly, *self._arguments)


class FailingProcesses(Processes):
    def begin(self) -> Child:
        return Child(fail, *self._arguments)


class FailingAtFirst(Processes):
    """So many workers do not come up, as on a machine that is lost; the others do."""

    def __init__(self, settings: FetchSettings, reading: Reading, n_failing: int) -> None:
        super().__init__(settings, reading)
        self._n_failing = n_failing

    def begin(self) -> Child:
        self._n_failing -= 1
        return Child(fail if self._n_failing >= 0 else serving.serve, *self._arguments)
