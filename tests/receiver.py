"""A receiver of webhooks, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Message(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """What came, and what is answered: these statuses one after the other, the last one again and again."""

    def __init__(self, url: str, statuses: list[int], location: str) -> None:
        self.url = url
        self.messages: list[Message] = []
        self._statuses = statuses
        self._location = location

    def take(self, message: Message) -> tuple[int, str]:
        self.messages.append(message)
        return (self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]), self._location


@contextmanager
def receiving(*statuses: int, location: str = "", kind: type[Receiver] = Receiver) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, target = receiver.take(Message(self.path, dict(self.headers), body))
            self.send_response(status)
            if target:
                self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            with suppress(BrokenPipeError, ConnectionResetError):  # the sender is gone
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = kind(f"http://127.0.0.1:{server.server_port}/", list(statuses) or [204], location)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
