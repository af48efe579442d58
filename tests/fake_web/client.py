"""A client that shows every byte: what a test reads off the wire."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass

from orienteer.fake_web.site import place_of


@dataclass(frozen=True)
class Received:
    """What came, and how it ended: "closed", "reset", "silence" (nothing more within the patience) or "enough"."""

    data: bytes
    end: str

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]


CLOSE = "Connection: close\r\n"


def request_for(url: str, method: str = "GET", more: str = "") -> bytes:
    """The bytes of a request; `more` is further header lines."""
    host, target = place_of(url)
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def exchange(
    port: int, request: bytes, max_bytes: int = 1 << 20, patience_s: float = 300.0, patience_at_first_s: float = 300.0
) -> Received:
    """Send bytes on a new connection and read until the server closes it or a limit is reached."""
    parts, n_bytes = [], 0
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall(request)
        while n_bytes < max_bytes:
            connection.settimeout(patience_s if parts else patience_at_first_s)
            try:
                part = connection.recv(min(1 << 16, max_bytes - n_bytes))
            except TimeoutError:
                return Received(b"".join(parts), "silence")
            except ConnectionResetError:
                return Received(b"".join(parts), "reset")
            if not part:
                return Received(b"".join(parts), "closed")
            parts.append(part)
            n_bytes += len(part)
    return Received(b"".join(parts), "enough")


def fetch(port: int, url: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower-case names) and body, as Python's own client reads them."""
    host, target = place_of(url)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, target, headers={"Host": host})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()
