"""A fake web in a separate process, so that its CPU time is not counted as the client's.

    with FakeWebProcess(PageSite, "web.tar.gz") as web:
        ...                                  # all connections to web.address

The process ends with the `with` block, or when the parent process ends for any reason.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from orienteer.errors import InputError
from tests.fake_web.server import FakeWeb, allow_many_connections
from tests.fake_web.site import Site

_TIMEOUT_S = 5.0  # for a clean exit, before it is killed


class FakeWebProcess:
    """Serves `site_factory(*args, **named)`, an importable function, in a separate process."""

    start_method = "spawn"  # not forked: the parent may have threads and open files

    def __init__(self, site_factory: Callable[..., Site], *args: Any, port: int = 0, **named: Any) -> None:
        context = multiprocessing.get_context(self.start_method)
        self._pipe, self._far_end = context.Pipe()
        arguments = (self._far_end, site_factory, args, named, port)
        self._process = context.Process(target=_serve, args=arguments, name="fake-web", daemon=True)
        self.port = port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def __enter__(self) -> FakeWebProcess:
        try:
            self._process.start()
            self._far_end.close()
            response = self._pipe.recv()
        except BaseException as error:
            self._end()
            if isinstance(error, EOFError):
                raise InputError("the fake web ended before it could listen") from None
            raise
        if not isinstance(response, int):
            self._end()
            raise InputError(f"the fake web did not start: {response}")
        self.port = response
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._far_end.close()
        self._pipe.close()  # signals the process to stop
        if self._process.pid is None:
            return
        self._process.join(_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _serve(pipe: Connection, factory: Callable[..., Site], args: Any, named: Any, port: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and ends this process
    allow_many_connections()
    try:
        with FakeWeb(factory(*args, **named), port, records_requests=False) as web:
            pipe.send(web.port)
            with contextlib.suppress(EOFError, OSError):
                pipe.recv()  # until the parent closes its end or exits
    except Exception as error:
        with contextlib.suppress(OSError):
            pipe.send(f"{type(error).__name__}: {error}")
