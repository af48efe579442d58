"""The HTTP server of the application: listening sockets and a shutdown that does not wait for open streams."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from orienteer.errors import InputError

_MAX_PORT = 65_535
DEFAULT_PORT = 8765
PORTS_TRIED = 20  # if the user chose none
_TIMEOUT_S = 2  # for responses in flight at shutdown


class ServedContent(Protocol):
    """The content of an application, in `app.state.served`: a crawl, or all crawls of a library."""

    def end(self) -> None:
        """End all streaming responses."""

    def close(self) -> None:
        """Close the content after the server has ended."""


class PageServer(uvicorn.Server):
    """A server that shuts down cleanly on Ctrl-C and SIGTERM, and ends streaming responses first.

    It listens on two ports: archived pages have their own port, and so their own origin (see `archived/origin`).
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                self._by_port,
                interface="asgi3",
                log_level="warning",
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=_TIMEOUT_S,
            )
        )
        self._served: ServedContent = app.state.served

    def serve_on(self, listener: socket.socket, archive_listener: socket.socket) -> None:
        """Serve on these sockets until the server ends; archived pages on the second."""
        self._app.state.archived.port = archive_listener.getsockname()[1]
        self.run(sockets=[listener, archive_listener])

    async def _by_port(self, scope: Scope, receive: Receive, send: Send) -> None:
        archived = self._app.state.archived
        is_archived = (scope.get("server") or ("", None))[1] == archived.port
        await (archived.origin if is_archived else self._app)(scope, receive, send)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._served.end()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as uvicorn does, but without raising them again: here they are the normal way to stop."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def next_listener(listener: socket.socket) -> socket.socket:
    """Return a socket that listens at the same address, on the next free port, or on any."""
    host, port = listener.getsockname()[:2]
    try:
        return listening(host, port + 1, n_tried=PORTS_TRIED)
    except InputError:
        return listening(host, 0)


def listening(host: str, port: int, option: str = "--host", n_tried: int = 1) -> socket.socket:
    """Return a listening socket on the first free of `n_tried` ports from `port` on; 0 is any free port."""
    if not 0 <= port <= _MAX_PORT:
        raise InputError(f"--port is {port}; a port is a number from 0 (any free one) to {_MAX_PORT:,}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"{option} {host}: there is no such address here ({error})") from None
    last = min(port + n_tried - 1, _MAX_PORT) if port else 0
    for number in range(port, last + 1):
        # asyncio sets TCP_NODELAY only if the protocol is given; without it each small response takes 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], number, *address[2:]))
            listener.listen()
            return listener
        except OSError as error:
            listener.close()
            why = error.strerror or str(error)
    ports = f"port {port} cannot" if last == port else f"no port from {port} to {last} can"
    raise InputError(f"{option} {host}: {ports} be used: {why}")
