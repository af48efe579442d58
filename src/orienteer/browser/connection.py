"""The Chrome DevTools protocol over two pipes: JSON messages, each terminated by a zero byte.

With pipes there is no listening port, so no other process can send commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
from collections import deque
from collections.abc import Callable
from typing import Any

_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031

Params = dict[str, Any]


class BrowserGoneError(Exception):
    """The browser has crashed, hangs, or was closed."""


class CommandError(Exception):
    """A command failed, mostly because its page or request is gone."""


class BrowserConnection:
    """`on_event(session, method, params)` is called for each event, `on_closed()` once at the end."""

    def __init__(
        self, reading: int, writing: int, on_event: Callable[[str, str, Params], None], on_closed: Callable[[], None]
    ) -> None:
        self._reading, self._writing = reading, writing
        self._on_event, self._on_closed = on_event, on_closed
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, asyncio.Future[Params]] = {}
        self._n_sent = 0
        self._fragments: list[bytes] = []  # of an incomplete message
        self._unsent: deque[memoryview] = deque()
        self._is_closed = False
        for pipe in (reading, writing):
            os.set_blocking(pipe, False)
            with contextlib.suppress(OSError):
                fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE_BYTES)
        self._loop.add_reader(reading, self._read)

    def call(self, method: str, params: Params | None = None, session: str = "") -> asyncio.Future[Params]:
        """Send a command; the future has its result, a CommandError or a BrowserGoneError."""
        result: asyncio.Future[Params] = self._loop.create_future()
        if self._is_closed:
            result.set_exception(BrowserGoneError())
            return result
        self._pending[self._send(method, params, session)] = result
        return result

    def notify(self, method: str, params: Params | None = None, session: str = "") -> None:
        """Send a command and ignore its result."""
        if not self._is_closed:
            self._send(method, params, session)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._reading)
        self._loop.remove_writer(self._writing)
        os.close(self._reading)
        os.close(self._writing)
        self._unsent.clear()
        pending, self._pending = self._pending, {}
        for result in pending.values():
            if not result.done():
                result.set_exception(BrowserGoneError())
                result.exception()  # mark as retrieved: a future that is not awaited must not log an error
        self._on_closed()

    def _send(self, method: str, params: Params | None, session: str) -> int:
        self._n_sent += 1
        message: Params = {"id": self._n_sent, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._unsent.append(memoryview(json.dumps(message).encode() + b"\0"))
        if len(self._unsent) == 1:
            self._write()
        return self._n_sent

    def _write(self) -> None:
        try:
            while self._unsent:
                n_written = os.write(self._writing, self._unsent[0])
                if n_written < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][n_written:]
                else:
                    self._unsent.popleft()
        except BlockingIOError:
            self._loop.add_writer(self._writing, self._write)
            return
        except OSError:
            self._loop.call_soon(self.close)
            self._unsent.clear()
        self._loop.remove_writer(self._writing)

    def _read(self) -> None:
        try:
            received = os.read(self._reading, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self.close()
            return
        *complete, tail = received.split(b"\0")
        for fragment in complete:
            message = b"".join([*self._fragments, fragment])
            self._fragments.clear()
            self._on_message(json.loads(message))
        if tail:
            self._fragments.append(tail)

    def _on_message(self, message: Params) -> None:
        if "method" in message:
            self._on_event(message.get("sessionId", ""), message["method"], message.get("params", {}))
            return
        result = self._pending.pop(message.get("id", 0), None)
        if result is None or result.done():
            return
        if "error" in message:
            result.set_exception(CommandError(str(message["error"].get("message", ""))))
            result.exception()
        else:
            result.set_result(message.get("result", {}))
