"""The server: one loopback port for any number of hosts, distinguished by the Host header, or by an absolute request
line, so that it can also serve as a proxy.

    with FakeWeb(GraphSite(graph)) as web:
        ...                                  # fetch http://h0.test/ with all connections going to web.address
        assert web.count("http://h0.test/") == 1

Plain responses are written in the same callback in which their request arrives. Others are sent by a task of the
connection, and further requests on the connection wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
import threading
import time
from collections import Counter
from types import TracebackType

from orienteer.errors import InputError
from tests.fake_web.fake_response import FakeResponse, chunk
from tests.fake_web.site import RequestHeaders, Site, host_and_target

MAX_HEAD_BYTES = 1 << 18
_POLL_EVERY_S = 0.01  # check whether a response is still held
_DRIP_S = 0.02  # minimum pause; slower rates wait longer, one byte at a time
_ENDLESS_PIECE_BYTES = 1 << 16
_BACKLOG = 4096
_LINGER_OFF = struct.pack("ii", 1, 0)  # makes close() reset the connection


class FakeWeb:
    """Serves a site in a separate thread during the `with` block.

    `requests` is (time, host, target) of every request in order of arrival. `max_open_per_host` is the maximum number
    of open connections whose latest request was to that host; `max_in_flight_per_host` the maximum number of requests
    with an unfinished response. An exception in the site becomes a 500, and is raised at the end.
    """

    def __init__(self, site: Site, port: int = 0, records_requests: bool = True, interface: str = "127.0.0.1") -> None:
        self.site = site
        self.port = port
        self.interface = interface
        self.records_requests = records_requests
        self.requests: list[tuple[float, str, str]] = []
        self.max_open_per_host: dict[str, int] = {}
        self.max_in_flight_per_host: dict[str, int] = {}
        self.error: BaseException | None = None
        self.connections: set[_Connection] = set()
        self.n_open: Counter[str] = Counter()
        self.n_in_flight: Counter[str] = Counter()
        self._counted: Counter[tuple[str, str]] = Counter()
        self._n_counted = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake-web", daemon=True)

    @property
    def address(self) -> str:
        return f"{self.interface}:{self.port}"

    def count(self, url: str) -> int:
        """Return the number of requests for the URL."""
        new = self.requests[self._n_counted :]
        self._n_counted += len(new)
        self._counted.update((host, target) for _, host, target in new)
        return self._counted[host_and_target(url)]

    def __enter__(self) -> FakeWeb:
        self._thread.start()
        self._listening.wait()
        if self.error is not None:
            self._thread.join()
            raise InputError(f"the fake web cannot listen on port {self.port}: {self.error}") from self.error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        if error is None and self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except (OSError, OverflowError) as error:
            self.error = error
        finally:
            self._listening.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), self.interface, self.port, backlog=_BACKLOG)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._stopping.wait()
        # Stop accepting. A connection that was just accepted is still a task of asyncio, not yet one of ours, and would
        # stay open if the server were closed first.
        for listener in server.sockets:
            self._loop.remove_reader(listener.fileno())
        while self.connections or len(asyncio.all_tasks()) > 1:
            for connection in list(self.connections):
                connection.abort()
            await asyncio.sleep(0)
        server.close()


class _Connection(asyncio.Protocol):
    """One connection, whose requests are answered in order."""

    def __init__(self, web: FakeWeb) -> None:
        self._web = web
        self._transport: asyncio.Transport
        self._input = b""
        self._host: str | None = None  # of the latest request
        self._task: asyncio.Task[None] | None = None  # sends a response that is not plain
        self._drained: asyncio.Future[None] | None = None  # while the client does not read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._web.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._uncount_host()
        self._web.connections.discard(self)
        if self._task is not None:
            self._task.cancel()

    def eof_received(self) -> None:
        # The client may open a new connection to the host before connection_lost is called.
        self._uncount_host()

    def pause_writing(self) -> None:
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
        if self._task is None:
            self._answer_pending()

    def data_received(self, data: bytes) -> None:
        self._input += data
        if self._task is None and self._drained is None:
            self._answer_pending()
        elif len(self._input) > MAX_HEAD_BYTES:
            self._transport.pause_reading()

    def abort(self) -> None:
        self._transport.abort()

    def _answer_pending(self) -> None:
        """Answer the complete requests in the buffer, until a response is not plain."""
        data, start = self._input, 0
        while self._task is None and self._drained is None and not self._transport.is_closing():
            end = data.find(b"\r\n\r\n", start)
            if end < 0:
                if len(data) - start > MAX_HEAD_BYTES:
                    self._refuse(431)
                break
            head = data[start:end]
            start = end + 4
            self._response(head)
        self._input = data[start:] if start else data
        if self._task is None:
            self._transport.resume_reading()

    def _response(self, head: bytes) -> None:
        line = head.lstrip(b"\r\n").partition(b"\r\n")[0].split(b" ")
        if len(line) != 3 or not line[2].startswith(b"HTTP/1."):
            return self._refuse(400)
        method, target, version = line[0], line[1].decode("latin-1"), line[2]
        if method not in (b"GET", b"HEAD"):
            return self._refuse(405)
        host = _host_of(head)
        if target[:1] != "/":
            if "://" not in target:
                return self._refuse(400)
            host, target = _absolute(target)
        web = self._web
        if web.records_requests:
            web.requests.append((time.time(), host, target))
        if host != self._host:
            self._count_host(host)
        n_in_flight = web.n_in_flight[host] + 1
        if n_in_flight > web.max_in_flight_per_host.get(host, 0):
            web.max_in_flight_per_host[host] = n_in_flight
        headers = RequestHeaders(head)
        response = self._site_response(host, target, headers)
        closes = version != b"HTTP/1.1" or (b"close" in head and (headers.get("connection") or "").lower() == "close")
        if response.is_plain and not closes:
            self._transport.write(b"".join(response.encode(method == b"HEAD")))
        else:
            web.n_in_flight[host] += 1
            self._task = asyncio.get_running_loop().create_task(self._send(response, method == b"HEAD", closes))

    def _site_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        try:
            return self._web.site.response(host, target, headers)
        except Exception as error:
            self._web.error = self._web.error or error
            return FakeResponse(repr(error), 500, content_type="text/plain")

    def _refuse(self, status: int) -> None:
        head, body = FakeResponse(status=status, close=True).encode()
        self._transport.write(head + body)
        self._transport.close()

    def _count_host(self, host: str) -> None:
        self._uncount_host()
        web = self._web
        self._host = host
        web.n_open[host] += 1
        web.max_open_per_host[host] = max(web.max_open_per_host.get(host, 0), web.n_open[host])

    def _uncount_host(self) -> None:
        if self._host is not None:
            self._web.n_open[self._host] -= 1
            self._host = None

    async def _send(self, response: FakeResponse, head_only: bool, closes: bool) -> None:
        host = self._host or ""
        try:
            await self._send_head_and_body(response, head_only)
            if response.hold:
                await asyncio.get_running_loop().create_future()  # until the client or the server closes it
        finally:
            self._web.n_in_flight[host] -= 1
            self._task = None
        if response.reset and not self._transport.is_closing():
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
            self._transport.abort()
        elif closes or response.ends_connection:
            self._transport.close()
        else:
            self._answer_pending()

    async def _send_head_and_body(self, response: FakeResponse, head_only: bool) -> None:
        await asyncio.sleep(response.delay_s)
        while response.held_until is not None and not response.held_until.is_set():
            await asyncio.sleep(_POLL_EVERY_S)
        if response.reset and response.cut_after is None:
            return
        head, body = response.encode(head_only)
        body = body[: response.cut_after]
        if response.bytes_per_s is None:
            await self._write(head + body)
        elif response.drips_head:
            await self._drip(head + body, response.bytes_per_s)
        else:
            await self._write(head)
            await self._drip(body, response.bytes_per_s)
        if response.endless and not head_only:
            await self._repeat(chunk(response.endless) if response.chunked else response.endless, response)

    async def _write(self, data: bytes) -> None:
        self._transport.write(data)
        if self._drained is not None:
            await self._drained

    async def _drip(self, data: bytes, bytes_per_s: float) -> None:
        pause_s = max(_DRIP_S, 1 / bytes_per_s)
        n_bytes = max(1, int(bytes_per_s * pause_s))
        for k in range(0, len(data), n_bytes):
            await self._write(data[k : k + n_bytes])
            await asyncio.sleep(pause_s)

    async def _repeat(self, data: bytes, response: FakeResponse) -> None:
        if response.bytes_per_s is not None:
            for _ in range(0, response.endless_limit, len(data)):
                await self._drip(data, response.bytes_per_s)
            return
        piece = data * (1 + _ENDLESS_PIECE_BYTES // len(data))
        n_bytes = response.endless_limit - response.endless_limit % len(data)
        while n_bytes > 0:
            await self._write(piece[:n_bytes])
            await asyncio.sleep(0)
            n_bytes -= len(piece)


def allow_many_connections() -> None:
    """Raise the limit of open files to its hard limit, since each connection needs one."""
    with contextlib.suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _host_of(head: bytes) -> str:
    start = head.find(b"\r\nHost: ")
    if start < 0:
        value = RequestHeaders(head).get("host") or ""
    else:
        end = head.find(b"\r\n", start + 8)
        value = head[start + 8 : end if end >= 0 else len(head)].decode("latin-1")
    return value.strip().lower().removesuffix(":80")


def _absolute(target: str) -> tuple[str, str]:
    """Return host and target of the URL in a proxy request."""
    host, slash, path = target.partition("://")[2].partition("/")
    return host.lower().removesuffix(":80"), slash + path or "/"
