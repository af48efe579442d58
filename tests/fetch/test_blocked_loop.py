"""Time in which the loop was blocked does not count towards timeouts."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from typing import Self

import pytest

from orienteer.fetch import fetcher as loop_clock
from orienteer.fetch.libcurl import LibcurlFetcher, LoopClock
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest, Response
from tests.fetch.conftest import loopback
from tests.fetch.servers import ScriptedServer, response, silence

TIMEOUT_S = 1.0
_SHORT_POLL_S = 0.01


@pytest.fixture(autouse=True)
def _skip_computing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count only intended waits, so that the tests do not depend on the load of the machine."""
    monkeypatch.setattr(loop_clock, "_MAX_STEP_S", 0.0)


def next_response(fetcher: LibcurlFetcher) -> Response:
    while not (found := fetcher.poll(_SHORT_POLL_S)):
        pass
    return found[0]


def test_data_received_while_the_loop_was_blocked_are_read() -> None:
    asked, sent, may_send = threading.Event(), threading.Event(), threading.Event()
    body = b"x" * 100_000

    def script(connection: socket.socket) -> None:
        asked.set()
        may_send.wait()
        connection.sendall(response(body))
        sent.set()

    with ScriptedServer(script) as server, LibcurlFetcher(loopback(timeout_s=TIMEOUT_S)) as fetcher:
        fetcher.start(PageRequest(server.url, 0))
        while not asked.is_set():
            assert fetcher.poll(0.0) == []
        may_send.set()
        sent.wait()
        time.sleep(1.5 * TIMEOUT_S)
        found = next_response(fetcher)
    assert (found.outcome, found.body) == (Outcome.OK, body)


def test_a_silent_server_times_out() -> None:
    with ScriptedServer(silence) as server, LibcurlFetcher(loopback(timeout_s=TIMEOUT_S)) as fetcher:
        fetcher.start(PageRequest(server.url, 0))
        started = time.monotonic()
        found = next_response(fetcher)
    assert found.outcome is Outcome.TIMED_OUT
    assert found.detail.startswith("Operation timed out after ")
    assert found.detail.endswith(" milliseconds with 0 bytes received")
    assert time.monotonic() - started >= TIMEOUT_S


class SilentServer:
    """Accepts connections and says nothing in the first `n_silent` ones, so that no TLS handshake ends."""

    def __init__(self, n_silent: float) -> None:
        self.n_connections = 0
        self._n_silent = n_silent
        self._held: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for connection in (*self._held, self._listening):
            connection.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._listening.accept()[0]
                self.n_connections += 1
                if self.n_connections > self._n_silent:
                    connection.close()
                else:
                    self._held.append(connection)


def test_a_connection_that_had_no_time_is_made_again() -> None:
    with SilentServer(1) as server, LibcurlFetcher(loopback(connect_timeout_s=TIMEOUT_S)) as fetcher:
        fetcher.start(PageRequest(server.url, 0))
        while not server.n_connections:
            assert fetcher.poll(0.0) == []
        time.sleep(1.5 * TIMEOUT_S)
        found = next_response(fetcher)
        assert server.n_connections == 2
    assert found.outcome is not Outcome.TIMED_OUT


def test_a_connection_that_had_its_time_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_clock, "_MAX_STEP_S", math.inf)  # a busy machine may let this process wait, too
    with SilentServer(math.inf) as server, LibcurlFetcher(loopback(connect_timeout_s=TIMEOUT_S)) as fetcher:
        fetcher.start(PageRequest(server.url, 0))
        while not (found := fetcher.poll(600.0)):
            pass
        assert server.n_connections == 1
    assert found[0].outcome is Outcome.TIMED_OUT


def test_the_clock_counts_the_time_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_clock, "_MAX_STEP_S", 1.0)
    at = 100.0
    monkeypatch.setattr(loop_clock.time, "monotonic", lambda: at)
    clock = LoopClock()
    at += 0.5
    assert clock.advance() == 0.5
    at += 40.0
    assert (clock.advance(), clock.skipped_s) == (1.5, 39.0)
    at += 5.0
    assert (clock.advance(waited_s=10.0), clock.skipped_s) == (6.5, 39.0)
