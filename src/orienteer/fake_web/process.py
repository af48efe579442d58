"""A fake web in a process of its own, so that its work is not counted as the client's.

    with served_elsewhere(graph_site_at, "web.npz") as web:
        ...                                  # all connections to web.address

The process ends with the `with` statement, or when this process is gone, whatever happens.
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
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import Site

_PATIENCE_S = 5.0  # for an orderly end; then it is killed


class FakeWebProcess:
    """Serves `site_factory(*args, **named)`, a function that can be imported, in a process of its own."""

    def __init__(self, site_factory: Callable[..., Site], *args: Any, port: int = 0, **named: Any) -> None:
        # Spawned, not forked: the parent may have threads and open files.
        context = multiprocessing.get_context("spawn")
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
            answer = self._pipe.recv()
        except BaseException as error:
            self._end()
            if isinstance(error, EOFError):
                raise InputError("the fake web ended before it could listen") from None
            raise
        if not isinstance(answer, int):
            self._end()
            raise InputError(f"the fake web did not start: {answer}")
        self.port = answer
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._far_end.close()
        self._pipe.close()  # tells it to stop
        if self._process.pid is None:
            return
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


served_elsewhere = FakeWebProcess


def _serve(pipe: Connection, factory: Callable[..., Site], args: Any, named: Any, port: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    allow_many_connections()
    try:
        with FakeWeb(factory(*args, **named), port, remembers_requests=False) as web:
            pipe.send(web.port)
            with contextlib.suppress(EOFError, OSError):
                pipe.recv()  # until the parent closes its end, or is gone
    except Exception as error:
        with contextlib.suppress(OSError):
            pipe.send(f"{type(error).__name__}: {error}")


def allow_many_connections() -> None:
    """As many open files as the system lets this process have: each connection is one."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
