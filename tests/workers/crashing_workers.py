"""Workers that crash or hang on some pages, as after a crash in a library or without memory."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from orienteer.fetch.settings import FetchSettings
from orienteer.processes.child import Child
from orienteer.workers import serving
from orienteer.workers.fetch_result import ReadSettings, read_response
from orienteer.workers.remote_workers import ProcessBackend


def serve_crashing(channel: Connection, settings: FetchSettings, reading: ReadSettings) -> None:
    """As `serve`, but a page with "deadly" in its URL kills the process, and one with "stuck" stops it."""
    from orienteer.workers import worker

    def read_or_die(response: Any, *drained: Any) -> Any:
        if "deadly" in response.request.url:
            os.kill(os.getpid(), signal.SIGKILL)
        if "stuck" in response.request.url:
            os.kill(os.getpid(), signal.SIGSTOP)
        return read_response(response, *drained)

    worker.read_response = read_or_die  # type: ignore[assignment]
    serving.serve(channel, settings, reading)


def fail(channel: Connection, settings: FetchSettings, reading: ReadSettings) -> None:
    raise ValueError("nothing works here")


class CrashingBackend(ProcessBackend):
    def begin(self) -> Child:
        return Child(serve_crashing, *self._arguments)


class FailingBackend(ProcessBackend):
    def begin(self) -> Child:
        return Child(fail, *self._arguments)


class FailingFirstBackend(ProcessBackend):
    """The first `n_failing` workers crash at start, as on a lost machine."""

    def __init__(self, settings: FetchSettings, reading: ReadSettings, n_failing: int) -> None:
        super().__init__(settings, reading)
        self._n_failing = n_failing

    def begin(self) -> Child:
        self._n_failing -= 1
        return Child(fail if self._n_failing >= 0 else serving.serve, *self._arguments)
