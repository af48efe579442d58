"""Concurrent fetches, file descriptors, and signals while fetches are in flight."""

from __future__ import annotations

import gc
import gzip
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from orienteer.fetch.libcurl import MAX_IDLE_CONNECTIONS, MAX_RETURNED_BYTES, LibcurlFetcher
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import KeepAliveServer, ScriptedServer, response, silence


def echo(host: str, path: str) -> bytes:
    return response(f"{host}{path}".encode())


def n_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_300_hosts_at_once():
    with KeepAliveServer(echo) as server, LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
        names = [f"host-{n}.example/{n}" for n in range(300)]
        results = fetched(fetcher, *(f"http://{name}" for name in names))
    assert [result.content.decode() for result in results] == names
    assert server.n_connections == 300


def test_1000_requests_with_200_in_flight():
    with KeepAliveServer(echo) as server, LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
        seen: Counter[int] = Counter()
        n_started = 0
        while len(seen) < 1000:
            while n_started < 1000 and fetcher.n_in_flight < 200:
                fetcher.start(PageRequest(f"http://host-{n_started % 250}.example/{n_started}", n_started))
                n_started += 1
            for result in fetcher.poll(10):
                assert result.outcome is Outcome.OK
                assert result.content.decode() == result.request.url.removeprefix("http://")
                seen[result.request.page] += 1
        assert fetcher.n_in_flight == 0
    assert set(seen.values()) == {1}
    assert server.n_requests == 1000
    assert server.most_open <= 200 + MAX_IDLE_CONNECTIONS


def test_large_responses_are_decoded_in_batches():
    size, n_pages = MAX_RETURNED_BYTES // 2, 12
    body = gzip.compress(bytes(size), compresslevel=1)
    with (
        KeepAliveServer(lambda host, path: response(body, "200 OK", "Content-Encoding: gzip")) as server,
        LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher,
    ):
        for page in range(n_pages):
            fetcher.start(PageRequest(f"http://host.example/{page}", page))
        seen: Counter[int] = Counter()
        while fetcher.n_in_flight:
            results = fetcher.poll(10)
            assert sum(len(result.content) for result in results) <= MAX_RETURNED_BYTES + size
            assert all(len(result.content) == size for result in results)
            seen.update(result.request.page for result in results)
            assert fetcher.n_in_flight == n_pages - len(seen)
    assert seen == Counter(range(n_pages))


def test_a_fetcher_can_be_closed_before_its_answers_were_taken():
    with KeepAliveServer(lambda host, path: response(b"x" * 1000)) as server:
        with LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
            for page in range(20):
                fetcher.start(PageRequest(f"http://host-{page}.example/", page))
            assert fetcher.poll(10)
        fetcher.close()


def test_open_files_stay_few_and_all_are_closed():
    with KeepAliveServer(echo) as server:
        gc.collect()
        before = n_open_files()
        with LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
            most = 0
            for start in range(0, 1000, 50):
                fetched(fetcher, *(f"http://host-{start + n}.example/" for n in range(50)))
                most = max(most, n_open_files() - before)
        # Each connection has two ends, and both are in this process.
        assert most <= 2 * (MAX_IDLE_CONNECTIONS + 50) + 20
    gc.collect()
    assert n_open_files() <= before


def test_failed_and_forbidden_fetches_leave_no_files_open():
    with ScriptedServer(b"") as server:
        before = n_open_files()
        with (
            LibcurlFetcher(loopback(allow_private=False)) as strict,
            LibcurlFetcher(loopback(timeout_s=0.2)) as lenient,
        ):
            for _ in range(20):
                fetched(strict, server.url)
                fetched(lenient, server.url, "http://no-such-name.invalid/", "http://[::1]:1/")
        deadline = time.monotonic() + 300
        while n_open_files() > before and time.monotonic() < deadline:
            time.sleep(0.01)  # until the server has closed its ends
        assert n_open_files() <= before


class Interrupted(BaseException):
    pass


@pytest.fixture
def on_alarm():
    """Have a function called, by a signal, every millisecond."""

    def begin(handler) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    old = signal.getsignal(signal.SIGALRM)
    yield begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def test_signals_whose_handlers_set_a_flag_disturb_nothing(on_alarm, capfd):
    flags = []
    with KeepAliveServer(echo) as server, LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
        on_alarm(lambda *_: flags.append(1))
        results = fetched(fetcher, *(f"http://host-{n % 40}.example/{n}" for n in range(400)))
    assert flags
    assert {result.outcome for result in results} == {Outcome.OK}
    assert capfd.readouterr().err == ""


def test_an_interrupt_while_waiting_is_raised_by_poll():
    with ScriptedServer(silence) as server, LibcurlFetcher(loopback()) as fetcher:
        fetcher.start(PageRequest(server.url, 0))
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            fetcher.poll(10)
        timer.join()
        fetcher.cancel()
        assert [result.outcome for result in fetcher.poll(1)] == [Outcome.CANCELLED]


@pytest.mark.parametrize("callback", ["_on_header", "_on_body", "_on_open"])
def test_an_interrupt_in_a_callback_is_raised_by_poll(monkeypatch, capfd, callback):
    def interrupted(*_):
        raise Interrupted

    with ScriptedServer(response(b"page")) as server:
        with monkeypatch.context() as patched:
            patched.setattr(f"orienteer.fetch.transfer.Transfer.{callback}", interrupted)
            fetcher = LibcurlFetcher(loopback(allow_private=callback != "_on_open", timeout_s=300))
        with fetcher:
            fetcher.start(PageRequest(server.url, 7))
            with pytest.raises(Interrupted):
                fetcher.poll(10)
            assert [(result.request.page, result.outcome) for result in fetcher.poll(10)] == [(7, Outcome.CANCELLED)]
    assert capfd.readouterr().err == ""


def test_after_an_interrupt_in_the_socket_callback_the_fetcher_is_reset(capfd):
    class Interrupting:
        """A poller that is interrupted when the first socket is registered."""

        def __init__(self, poller) -> None:
            self.poller, self.n_times = poller, 0

        def register(self, *arguments) -> None:
            self.n_times += 1
            if self.n_times == 1:
                raise Interrupted
            self.poller.register(*arguments)

        def __getattr__(self, name: str):
            return getattr(self.poller, name)

    with KeepAliveServer(echo) as server, LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
        fetcher._poller = Interrupting(fetcher._poller)
        for page in range(3):
            fetcher.start(PageRequest(f"http://host-{page}.example/", page))
        with pytest.raises(Interrupted):
            fetcher.poll(10)
        cancelled = fetcher.poll(10)
        assert sorted(result.request.page for result in cancelled) == [0, 1, 2]
        assert {result.outcome for result in cancelled} == {Outcome.CANCELLED}
        assert fetched(fetcher, "http://again.example/")[0].outcome is Outcome.OK
    assert capfd.readouterr().err == ""


def test_a_fetch_started_after_an_interrupt_is_reported_too():
    with KeepAliveServer(echo) as server, LibcurlFetcher(loopback(connect_to=f"127.0.0.1:{server.port}")) as fetcher:
        fetcher._multi.close()  # what libcurl then refuses with the same error as after an interrupt
        fetcher.start(PageRequest("http://one.example/", 1))
        assert [result.outcome for result in fetcher.poll(5)] == [Outcome.CANCELLED]
        assert fetched(fetcher, "http://two.example/")[0].outcome is Outcome.OK
