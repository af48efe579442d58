"""Servers on loopback that send exactly the bytes of a test, valid or hostile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Self

Script = bytes | Callable[[socket.socket], None]


def response(body: bytes = b"", status: str = "200 OK", *lines: str, kind: str | None = "text/html") -> bytes:
    """A response with Content-Length."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines]
    if kind is not None:
        head.append(f"Content-Type: {kind}")
    return "".join(f"{line}\r\n" for line in head).encode() + b"\r\n" + body


def drip(data: bytes, pause_s: float = 0.02) -> Callable[[socket.socket], None]:
    """Send the bytes one by one."""

    def script(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(pause_s)

    return script


def silence(connection: socket.socket) -> None:
    """Send nothing until the other side closes the connection."""
    while connection.recv(1 << 16):
        pass


class ScriptedServer:
    """One request and one response per connection; the last response is for all further connections.

    `requests` are the requests as received. With `tls`, failed handshakes are ignored.
    """

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None, family: int = socket.AF_INET) -> None:
        self.scripts = list(scripts)
        self.requests: list[bytes] = []
        self._tls = tls
        self._listener = socket.socket(family)
        self._listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        self._listener.listen(512)
        self.port = self._listener.getsockname()[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/"
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            self._connections.append(connection)
            self._run(self._serve, connection, self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0])

    def _serve(self, connection: socket.socket, script: Script) -> None:
        with connection, contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self.requests.append(_request_from(connection))
                if callable(script):
                    script(connection)
                else:
                    connection.sendall(script)
                    connection.shutdown(socket.SHUT_WR)
                    silence(connection)


def _request_from(connection: socket.socket) -> bytes:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        data = connection.recv(1 << 16)
        if not data:
            break
        request += data
    return request


class KeepAliveServer:
    """Responds to any number of requests per connection; `make` returns the bytes for a host and a path.

    None closes the connection without a response.
    """

    def __init__(self, make: Callable[[str, str], bytes | None]) -> None:
        self._make = make
        self.n_connections = 0
        self.n_requests = 0
        self.n_open = self.most_open = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        self.n_connections += 1
        self.n_open += 1
        self.most_open = max(self.most_open, self.n_open)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                    self.n_requests += 1
                    host = head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0]
                    reply = self._make(host, head.split(" ", 2)[1])
                    if reply is None:
                        return
                    writer.write(reply)
                    await writer.drain()
        finally:
            self.n_open -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
