"""A server for the town, on loopback: one port for all hosts, which are distinguished by the Host header."""

from __future__ import annotations

import re
import sys
import threading
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Protocol

from orienteer.fake_web.page import SiteResponse

_TAG = re.compile(r'"([^"]*)"')


class ServedSite(Protocol):
    def response(self, host: str, target: str) -> SiteResponse:
        """Return the response to a request for `target`, the path and query of a URL."""
        ...


class TownServer:
    """Serves a site in other threads during the `with` block; `requests` has host and target of every request.

    HTML pages have an ETag, and a request that has the current one gets a 304. An OSError: the port is in use.
    """

    def __init__(self, site: ServedSite, port: int = 0) -> None:
        self.site = site
        self.requests: list[tuple[str, str]] = []
        handler = type("TownHandler", (_Handler,), {"town": self})
        self._server = _TownConnections(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.port = self._server.server_port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> TownServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _TownConnections(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a crawl opens its connections at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error, but not that a client has closed its connection, as killed crawls do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    town: ClassVar[TownServer]
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        host = (self.headers["Host"] or "").lower().removesuffix(":80")
        self.town.requests.append((host, self.path))
        response = self.town.site.response(host, self.path)
        status, body, headers = response.status, response.body, list(response.headers)
        if status == 200 and response.content_type == "text/html":
            tag = blake2b(body, digest_size=8).hexdigest()
            headers.append(("ETag", f'"{tag}"'))
            if tag in _TAG.findall(self.headers["If-None-Match"] or ""):
                status, body = 304, b""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass
