"""A client that returns every byte on the wire."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass

from tests.fake_web.site import host_and_target


@dataclass(frozen=True)
class Received:
    """The received bytes, and the end: "closed", "reset", "silence" (timeout) or "enough" (limit reached)."""

    data: bytes
    end: str

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]


CLOSE = "Connection: close\r\n"


def request_for(url: str, method: str = "GET", more: str = "") -> bytes:
    """Return the bytes of a request; `more` is further header lines."""
    host, target = host_and_target(url)
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def exchange(
    port: int, request: bytes, max_bytes: int = 1 << 20, timeout_s: float = 300.0, first_timeout_s: float = 300.0
) -> Received:
    """Send bytes on a new connection and read until the server closes it or a limit is reached."""
    chunks, n_bytes = [], 0
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall(request)
        while n_bytes < max_bytes:
            connection.settimeout(timeout_s if chunks else first_timeout_s)
            try:
                chunk = connection.recv(min(1 << 16, max_bytes - n_bytes))
            except TimeoutError:
                return Received(b"".join(chunks), "silence")
            except ConnectionResetError:
                return Received(b"".join(chunks), "reset")
            if not chunk:
                return Received(b"".join(chunks), "closed")
            chunks.append(chunk)
            n_bytes += len(chunk)
    return Received(b"".join(chunks), "enough")


def fetch(
    port: int, url: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers (lower-case names) and body, read by http.client."""
    host, target = host_and_target(url)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, target, headers={"Host": host, **(headers or {})})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()
