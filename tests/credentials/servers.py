"""A server on loopback for HTTP and TLS on one port, for any host, that records all requests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Self
from urllib.parse import parse_qsl

_TLS_HANDSHAKE = 0x16


class RecordedRequest(NamedTuple):
    """A request as received; `certificate` is the name in the client certificate, "" without one."""

    scheme: str
    host: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    certificate: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target}"

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.headers.get("cookie", "").split("; "))
        return {name: value for name, _, value in pairs if name}

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass
class Reply:
    body: str = ""
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    content_type: str = "text/html; charset=utf-8"

    def packed(self) -> bytes:
        body = self.body.encode()
        lines = [f"HTTP/1.1 {self.status} -", f"Content-Length: {len(body)}", f"Content-Type: {self.content_type}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode() + body


def moved(location: str, *headers: tuple[str, str]) -> Reply:
    return Reply("", 302, [("Location", location), *headers])


Site = Callable[[RecordedRequest], Reply]


class Recorder:
    """Serves a site; `asked` is every request in the order of arrival."""

    def __init__(self, site: Site, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[RecordedRequest] = []
        self._site = site
        self._tls = tls
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)
        self._listener.close()

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            self._connections.append(connection)
            self._run(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            first = connection.recv(1, socket.MSG_PEEK)
            is_tls = bool(first) and first[0] == _TLS_HANDSHAKE
            if is_tls:
                assert self._tls is not None
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                name = _name_of_client(connection)
                while (line := stream.readline()).strip():
                    method, target, _ = line.decode("latin-1").split(" ", 2)
                    headers = {}
                    while (line := stream.readline()).strip():
                        key, _, value = line.decode("latin-1").partition(":")
                        headers[key.lower()] = value.strip()
                    body = stream.read(int(headers.get("content-length", 0)))
                    scheme = "https" if is_tls else "http"
                    asked = RecordedRequest(scheme, headers["host"], method, target, headers, body, name)
                    with self._lock:
                        self.asked.append(asked)
                        reply = self._site(asked)
                    connection.sendall(reply.packed())


def _name_of_client(connection: socket.socket) -> str:
    certificate = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    names = (certificate or {}).get("subjectAltName", ())
    return ", ".join(str(name) for _, name in names)
