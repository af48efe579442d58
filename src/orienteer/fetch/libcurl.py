"""Many concurrent fetches in one thread, with libcurl's multi interface.

libcurl reports the sockets it waits for and its next timer; `poll` waits for either. A fetch takes a few dozen
microseconds of Python, independent of the number of fetches in flight.

Each address is checked when libcurl is about to connect to it, after DNS, so DNS rebinding does not help an attacker.
Addresses configured by the user (`connect_to`, `proxy`) are not checked. A proxy resolves names itself, so with a proxy
only URLs with a literal address can be refused.

Timeouts count only the time in which `poll` is called (`LoopClock`): a caller that was blocked for a minute still
reads the data received meanwhile. The timeout of a whole fetch is checked here, that of connecting by libcurl; if
libcurl's expired while the caller was blocked, the fetch is restarted.

Signals: a handler should set a flag that is checked after `poll`. If a handler raises (anything but an `Exception`,
which pycurl only prints), `poll` raises it; if that interrupts libcurl, all fetches in flight are cancelled.

Connections need file descriptors, and so do the database, the archive and checkpoints: a crawl that uses all of them
for connections cannot store its results. So the soft limit (`ulimit -n`) is raised to the hard limit, some descriptors
are reserved, and the others are divided between fetches in flight and idle connections.
"""

from __future__ import annotations

import contextlib
import math
import select
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

import pycurl

from orienteer.errors import InputError
from orienteer.fetch.fetcher import LoopClock
from orienteer.fetch.settings import FetchSettings
from orienteer.fetch.transfer import Transfer
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Request, Response

# Limit for the decoded responses that one `poll` returns (exceeded by the last of them at most). The others stay
# compressed until the next `poll`.
MAX_RETURNED_BYTES = 32 << 20

_MAX_LOST_SHARE = 0.1  # of the connect timeout: if more was skipped by the clock, the fetch is restarted

_READ, _WRITE = select.POLLIN, select.POLLOUT  # of epoll, too
_EVENTS = {pycurl.POLL_IN: _READ, pycurl.POLL_OUT: _WRITE, pycurl.POLL_INOUT: _READ | _WRITE}
_TO_CURL = {_READ: pycurl.CSELECT_IN, _WRITE: pycurl.CSELECT_OUT}
_ANY = pycurl.CSELECT_IN | pycurl.CSELECT_OUT  # also for an error: libcurl finds out the cause
MAX_IDLE_CONNECTIONS = 256
MIN_FILES = 64

_RESERVED_FILES = 40  # the database, the archive, the log, a checkpoint, Python's own
_PER_FETCH = 3  # its socket, and a pair of sockets while its name is resolved
_MANY = 1 << 16


class ConnectionLimits(NamedTuple):
    n_fetches: int  # in flight
    n_idle: int  # connections kept open for reuse


def limits_within(n_files: int) -> ConnectionLimits:
    """Return the limits for a process that may open `n_files`; InputError if these are too few.

    >>> limits_within(64)
    ConnectionLimits(n_fetches=4, n_idle=12)
    >>> limits_within(20_000)
    ConnectionLimits(n_fetches=6568, n_idle=256)
    """
    if n_files < MIN_FILES:
        raise InputError(f"this process may open {n_files} files (ulimit -n); a crawl needs at least {MIN_FILES}")
    n_idle = min((n_files - _RESERVED_FILES) // 2, MAX_IDLE_CONNECTIONS)
    return ConnectionLimits((n_files - _RESERVED_FILES - n_idle) // _PER_FETCH, n_idle)


def connection_limits() -> ConnectionLimits:
    """Raise the soft limit of this process to its hard limit, and return the connection limits."""
    return limits_within(_raised_limit())


def _raised_limit() -> int:
    try:
        import resource
    except ImportError:  # a system without such limits
        return _MANY
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MANY if hard == resource.RLIM_INFINITY else min(hard, _MANY)
    if soft != resource.RLIM_INFINITY and soft < limit:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            soft = limit
        except (ValueError, OSError):  # some systems allow less than the hard limit
            pass
    return _MANY if soft == resource.RLIM_INFINITY else int(soft)


class LibcurlFetcher:
    """Fetches pages from the web by the protocol in `fetch/fetcher.py`.

    More than `max_in_flight` concurrent fetches may exhaust the file descriptors.
    """

    uses_network = True
    takes_secrets = True

    def __init__(self, settings: FetchSettings | None = None) -> None:
        self.settings = settings or FetchSettings()
        if self.settings.ca_file is not None and not Path(self.settings.ca_file).is_file():
            raise InputError(f"ca_file is {self.settings.ca_file!r}; there is no such file")
        self.max_in_flight, self._max_idle = connection_limits()
        self._cookies: pycurl.CurlShare | None = None
        if self.settings.cookies:
            self._cookies = pycurl.CurlShare()
            self._cookies.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._clock = LoopClock()
        self._in_flight: dict[pycurl.Curl, Transfer] = {}  # in the order in which they were started
        self._finished: deque[tuple[Transfer, int, str]] = deque()  # with libcurl's code and message
        self._done: list[Response] = []
        self._poller = _Poller()
        self._watched: dict[int, int] = {}  # events by socket, 0: none
        self._wake_descriptors: list[int] = []
        self._is_woken = False
        # libcurl's next timer. The callback is a built-in function, which signal handlers cannot interrupt.
        self._timer_ms: deque[int] = deque(maxlen=1)
        self._due = math.inf
        self._multi = self._new_multi()
        try:
            self._idle = [Transfer(self.settings, self._cookies)]
        except pycurl.error as error:
            raise InputError(f"libcurl does not accept the fetch settings: {error.args[-1]}") from None

    @property
    def n_in_flight(self) -> int:
        """Fetches started and not returned by `poll` yet."""
        return len(self._in_flight) + len(self._finished) + len(self._done)

    def start(self, request: Request) -> None:
        """Begin a fetch, which proceeds in `poll`."""
        transfer = self._idle.pop() if self._idle else Transfer(self.settings, self._cookies)
        try:
            transfer.begin(request)
        except (pycurl.error, ValueError) as error:
            self._done.append(transfer.failed(Outcome.NO_ADDRESS, f"libcurl does not accept the URL: {error}"))
            self._release(transfer)
            return
        forbidden = transfer.refused_address()
        if forbidden is not None:
            self._done.append(transfer.failed(Outcome.FORBIDDEN_ADDRESS, forbidden))
            self._release(transfer)
            return
        self._in_flight[transfer.curl] = transfer
        transfer.started_by_loop_s = self._clock.advance()
        transfer.skipped_then_s = self._clock.skipped_s
        try:
            self._multi.add_handle(transfer.curl)
        except pycurl.error:
            self._reset()
        self._update_timer()

    def poll(self, timeout_s: float) -> list[Response]:
        """Return finished responses, as soon as there are any, at the latest after this time."""
        until = time.monotonic() + timeout_s
        self._is_woken = False
        self._drive(0.0)
        while not self._done and not self._finished and not self._is_woken:
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            self._drive(left_s)
        self._decode(MAX_RETURNED_BYTES)
        done, self._done = self._done, []
        return done

    def wake_on(self, descriptor: int) -> None:
        """Make `poll` return early when this descriptor is readable."""
        self._wake_descriptors.append(descriptor)
        self._poller.register(descriptor, _READ)

    def _decode(self, max_bytes: int) -> None:
        """Decode finished transfers into responses, up to this size."""
        n_bytes = 0
        while self._finished and n_bytes < max_bytes:
            transfer, code, message = self._finished.popleft()
            response = transfer.finished(code, message)
            n_bytes += len(response.body) + (len(response.content) if response.content is not response.body else 0)
            self._done.append(response)
            self._release(transfer)

    def cancel(self) -> None:
        """Abort all fetches in flight; `poll` returns them as cancelled."""
        while self._in_flight:
            curl, transfer = self._in_flight.popitem()
            with contextlib.suppress(pycurl.error):
                self._multi.remove_handle(curl)
            self._done.append(transfer.failed(Outcome.CANCELLED, ""))
            self._release(transfer)

    def _release(self, transfer: Transfer) -> None:
        """Reuse a handle for the next fetch, unless it has sent secrets."""
        if transfer.has_sent_secrets:
            transfer.close()
        else:
            self._idle.append(transfer)

    def close(self) -> None:
        """Cancel, and close all connections."""
        self.cancel()
        self._multi.close()
        for transfer in (*self._idle, *(ended[0] for ended in self._finished)):
            transfer.close()
        self._finished.clear()
        self._idle.clear()
        if self._cookies is not None:
            self._cookies.close()
        self._poller.close()

    def __enter__(self) -> LibcurlFetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _new_multi(self) -> pycurl.CurlMulti:
        multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._timer_ms.append)
        multi.setopt(pycurl.M_MAXCONNECTS, self._max_idle)
        return multi

    def _reset(self) -> None:
        """Replace the multi handle: after an exception in a callback it may be unusable."""
        self.cancel()
        self._multi.close()
        self._poller.close()
        self._watched.clear()
        self._poller, self._multi = _Poller(), self._new_multi()
        for descriptor in self._wake_descriptors:
            self._poller.register(descriptor, _READ)

    def _drive(self, wait_s: float) -> None:
        """Wait for sockets and timers, let libcurl process them, and collect finished transfers."""
        wait_s = max(0.0, min(wait_s, self._due - time.monotonic(), self._next_timeout_s()))
        ready = self._poller.ready(wait_s)
        self._clock.advance(wait_s)
        n_running = len(self._in_flight)
        try:
            for descriptor, events in ready:
                if descriptor in self._wake_descriptors:
                    self._is_woken = True
                    continue
                n_running = self._multi.socket_action(descriptor, _TO_CURL.get(events, _ANY))[1]
            if self._due <= time.monotonic():
                self._due = math.inf
                n_running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
            if n_running < len(self._in_flight):
                self._collect_finished()
            self._expire()
            self._update_timer()
        except pycurl.error:
            self._reset()
        except BaseException:
            self._reset()
            raise

    def _next_timeout_s(self) -> float:
        """Return the seconds until the oldest fetch times out."""
        for transfer in self._in_flight.values():
            return transfer.started_by_loop_s + self.settings.timeout_s - self._clock.now
        return math.inf

    def _expire(self) -> None:
        """Abort the fetches that have timed out."""
        while self._in_flight and self._next_timeout_s() <= 0:
            curl = next(iter(self._in_flight))
            self._finish(curl, pycurl.E_OPERATION_TIMEDOUT, self._in_flight[curl].timeout_message)

    def _collect_finished(self) -> None:
        n_left = 1
        while n_left:
            n_left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._finish(curl, 0, "")
            for curl, code, message in failed:
                if not self._retry_connect(curl, code):
                    self._finish(curl, code, message)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._in_flight.pop(curl)
        self._multi.remove_handle(curl)
        self._finished.append((transfer, code, message))

    def _retry_connect(self, curl: pycurl.Curl, code: int) -> bool:
        """Restart a fetch whose connect timeout expired while `poll` was not called.

        libcurl's own timeouts apply only to connecting, so no request was sent yet.
        """
        transfer, clock, timeout_s = self._in_flight[curl], self._clock, self.settings.connect_timeout_s
        lost_much = clock.skipped_s - transfer.skipped_then_s > _MAX_LOST_SHARE * timeout_s
        has_time = clock.now - transfer.started_by_loop_s < timeout_s
        if code != pycurl.E_OPERATION_TIMEDOUT or not (lost_much and has_time):
            return False
        self._multi.remove_handle(curl)
        self._multi.add_handle(curl)
        return True

    def _update_timer(self) -> None:
        if self._timer_ms:
            timer_ms = self._timer_ms.pop()
            self._due = math.inf if timer_ms < 0 else time.monotonic() + timer_ms / 1000

    def _on_socket(self, what: int, fd: int, multi: pycurl.CurlMulti, data: object) -> None:
        """Register, modify or unregister a socket for libcurl."""
        before, events = self._watched.get(fd, 0), _EVENTS.get(what, 0)
        if before and not events:
            self._poller.unregister(fd)
        elif not before and events:
            self._poller.register(fd, events)
        elif before != events:
            self._poller.modify(fd, events)
        self._watched[fd] = events


class _Poller:
    """epoll where the system has it, else poll. The classes of `selectors` take several times as long to register."""

    def __init__(self) -> None:
        epoll = getattr(select, "epoll", None)
        self._of_system = select.poll() if epoll is None else epoll()
        self.register, self.modify = self._of_system.register, self._of_system.modify
        self.unregister = self._of_system.unregister
        self._per_second = 1000 if epoll is None else 1  # units of its timeout

    def ready(self, wait_s: float) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, with their events; waits up to this time."""
        if self._per_second > 1:
            return self._of_system.poll(math.ceil(wait_s * self._per_second))
        return self._of_system.poll(wait_s)

    def close(self) -> None:
        close = getattr(self._of_system, "close", None)
        if close is not None:
            close()
