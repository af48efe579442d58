"""Runs the application: a place to listen, and an end that waits for nobody."""

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
_PORTS_TRIED = 20
_PATIENCE_S = 2  # for answers under way, when the server is to end


class Served(Protocol):
    """What an application shows, in `app.state.served`: a crawl, or all crawls of a library."""

    def end(self) -> None:
        """Let answers without an end come to one."""

    def close(self) -> None:
        """When the server has ended."""


class PageServer(uvicorn.Server):
    """Ends in good order on Ctrl-C and SIGTERM, and tells answers without an end to come to one.

    It listens on two ports: archived pages have one of their own (see `archived/origin`), and so an origin.
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
                timeout_graceful_shutdown=_PATIENCE_S,
            )
        )
        self._served: Served = app.state.served

    def serve_on(self, listener: socket.socket, beside: socket.socket) -> None:
        """Serve there until the end; archived pages `beside`."""
        self._app.state.archived.port = beside.getsockname()[1]
        self.run(sockets=[listener, beside])

    async def _by_port(self, scope: Scope, receive: Receive, send: Send) -> None:
        archived = self._app.state.archived
        is_archived = (scope.get("server") or ("", None))[1] == archived.port
        await (archived.origin if is_archived else self._app)(scope, receive, send)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._served.end()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but a signal that was obeyed is not raised again: this is how a server is meant to end."""
        if threading.current_thread() is not threading.main_thread():  # where there are none
            yield
            return
        before = {sign: signal.signal(sign, self.handle_exit) for sign in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)


def listening_beside(listener: socket.socket) -> socket.socket:
    """A socket that listens at the same address, on the next port that is free, or on any."""
    host, port = listener.getsockname()[:2]
    try:
        return listening(host, port + 1)
    except InputError:
        return listening(host, 0)


def listening(host: str, port: int, option: str = "--host", n_tried: int = _PORTS_TRIED) -> socket.socket:
    """A socket that listens there, or on one of the next ports, `n_tried` in all; 0 is any free port."""
    if not 0 <= port <= _MAX_PORT:
        raise InputError(f"--port is {port}; a port is a number from 0 (any free one) to {_MAX_PORT:,}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"{option} {host}: there is no such address here ({error})") from None
    last = min(port + n_tried - 1, _MAX_PORT) if port else 0
    for number in range(port, last + 1):
        # Named as TCP, or asyncio does not send small answers at once (TCP_NODELAY): each would take 40 ms.
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
