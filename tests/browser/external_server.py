"""A substitute for all external servers: a port that records each connection and datagram."""

from __future__ import annotations

import select
import socket
import threading
from types import TracebackType


class ExternalServer:
    """Records in `asked` what arrived: the first line of each request, or "datagram"."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._listener.getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self._read, self._write = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ExternalServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._write.send(b"x")
        self._thread.join()
        for each in (self._listener, self._datagrams, self._read, self._write):
            each.close()

    def _run(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._datagrams, self._read], [], [])
            if self._read in ready:
                return
            if self._datagrams in ready:
                self._datagrams.recv(2048)
                self.asked.append("datagram")
            if self._listener in ready:
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(0.2)
                    try:
                        line = connection.recv(2048).partition(b"\r\n")[0].decode("latin-1")
                        connection.sendall(b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\r\n")
                    except OSError:
                        line = ""
                self.asked.append(line or "connection")
