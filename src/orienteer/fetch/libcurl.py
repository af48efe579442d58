"""Many fetches at once, in one thread, by libcurl's multi interface.

libcurl says which sockets it waits for and when it wants to be called at the latest; `poll` waits for either. A fetch
costs a few dozen microseconds of Python, however many are under way.

Each address is checked when libcurl is about to connect to it, after DNS: what a name resolved to a moment ago does
not matter. An address that the user names (`connect_to`, `proxy`) is not checked. Behind a proxy it is the proxy that
resolves names, so that only URLs with a literal address can be refused.

Signals: a handler should set a flag, to be looked at after `poll`. If one raises (anything but an `Exception`, which
pycurl only prints), it comes out of `poll`; where it hits libcurl at work, all that is under way is cancelled.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import time
from collections import deque
from pathlib import Path

import pycurl

from orienteer.answers.answer import Fetched, Request
from orienteer.errors import InputError
from orienteer.fetch.open_files import room_for_connections
from orienteer.fetch.settings import FetchSettings
from orienteer.fetch.transfer import Transfer
from orienteer.pages.outcome import Outcome

# Answers that are handed out together hold no more than this, but for the last of them. The others wait as they came,
# which is packed: they are unpacked when it is their turn.
MAX_HANDED_OUT_BYTES = 32 << 20

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_EVENTS = {pycurl.POLL_IN: _READ, pycurl.POLL_OUT: _WRITE, pycurl.POLL_INOUT: _READ | _WRITE}
# An error on a socket comes as both: libcurl finds out by itself what it is.
_TO_CURL = {
    _READ: pycurl.CSELECT_IN,
    _WRITE: pycurl.CSELECT_OUT,
    _READ | _WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}


class LibcurlFetcher:
    """Fetches pages from the web, as `fetch/fetcher.py` promises it.

    For more than `max_under_way` fetches at once there may be no files left.
    """

    asks_web = True
    takes_secrets = True

    def __init__(self, settings: FetchSettings | None = None) -> None:
        self.settings = settings or FetchSettings()
        if self.settings.ca_file is not None and not Path(self.settings.ca_file).is_file():
            raise InputError(f"ca_file is {self.settings.ca_file!r}; there is no such file")
        self.max_under_way, self._max_idle = room_for_connections()
        self._cookies: pycurl.CurlShare | None = None
        if self.settings.cookies:
            self._cookies = pycurl.CurlShare()
            self._cookies.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._under_way: dict[pycurl.Curl, Transfer] = {}
        self._ended: deque[tuple[Transfer, int, str]] = deque()  # with libcurl's code and message
        self._done: list[Fetched] = []
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, int] = {}  # events by socket, 0: none
        self._wakes: list[int] = []  # descriptors
        self._is_woken = False
        # libcurl's wishes when to be called: a built-in function as the callback cannot be interrupted.
        self._timer_ms: deque[int] = deque(maxlen=1)
        self._due = math.inf
        self._multi = self._new_multi()
        try:
            self._idle = [Transfer(self.settings, self._cookies)]
        except pycurl.error as error:
            raise InputError(f"libcurl does not accept the fetch settings: {error.args[-1]}") from None

    @property
    def n_under_way(self) -> int:
        """Fetches started and not yet handed out by `poll`."""
        return len(self._under_way) + len(self._ended) + len(self._done)

    def start(self, request: Request) -> None:
        """Begin a fetch; it goes on in `poll`."""
        transfer = self._idle.pop() if self._idle else Transfer(self.settings, self._cookies)
        try:
            transfer.begin(request)
        except (pycurl.error, ValueError) as error:
            self._done.append(transfer.failed(Outcome.NO_ADDRESS, f"libcurl does not accept the URL: {error}"))
            self._put_back(transfer)
            return
        forbidden = transfer.refused_address()
        if forbidden is not None:
            self._done.append(transfer.failed(Outcome.FORBIDDEN_ADDRESS, forbidden))
            self._put_back(transfer)
            return
        self._under_way[transfer.curl] = transfer
        try:
            self._multi.add_handle(transfer.curl)
        except pycurl.error:
            self._start_over()
        self._note_timer()

    def poll(self, timeout_s: float) -> list[Fetched]:
        """What is finished, once there is something, or after this time."""
        until = time.monotonic() + timeout_s
        self._is_woken = False
        self._drive(0.0)
        while not self._done and not self._ended and not self._is_woken:
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            self._drive(left_s)
        self._unpack(MAX_HANDED_OUT_BYTES)
        done, self._done = self._done, []
        return done

    def wake_on(self, descriptor: int) -> None:
        """From now on `poll` returns early when there is something to be read here."""
        self._wakes.append(descriptor)
        self._selector.register(descriptor, _READ)

    def _unpack(self, max_bytes: int) -> None:
        """Make answers of what has ended, until they hold so much."""
        n_bytes = 0
        while self._ended and n_bytes < max_bytes:
            transfer, code, message = self._ended.popleft()
            answer = transfer.finished(code, message)
            n_bytes += len(answer.body) + (len(answer.content) if answer.content is not answer.body else 0)
            self._done.append(answer)
            self._put_back(transfer)

    def cancel(self) -> None:
        """Break off all fetches under way; `poll` reports them as cancelled."""
        while self._under_way:
            curl, transfer = self._under_way.popitem()
            with contextlib.suppress(pycurl.error):
                self._multi.remove_handle(curl)
            self._done.append(transfer.failed(Outcome.CANCELLED, ""))
            self._put_back(transfer)

    def _put_back(self, transfer: Transfer) -> None:
        """For the next fetch; but a handle that was told secrets is not used again."""
        if transfer.has_sent_secrets:
            transfer.close()
        else:
            self._idle.append(transfer)

    def close(self) -> None:
        """Break off what is under way and close all connections."""
        self.cancel()
        self._multi.close()
        for transfer in (*self._idle, *(ended[0] for ended in self._ended)):
            transfer.close()
        self._ended.clear()
        self._idle.clear()
        if self._cookies is not None:
            self._cookies.close()
        self._selector.close()

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

    def _start_over(self) -> None:
        """After an exception in the midst of things, libcurl may have given up for good."""
        self.cancel()
        self._multi.close()
        self._selector.close()
        self._watched.clear()
        self._selector, self._multi = selectors.DefaultSelector(), self._new_multi()
        for descriptor in self._wakes:
            self._selector.register(descriptor, _READ)

    def _drive(self, wait_s: float) -> None:
        """Wait for sockets and timers, let libcurl do what there is to do, and take in what is finished."""
        now = time.monotonic()
        ready = self._selector.select(max(0.0, min(wait_s, self._due - now)))
        n_running = len(self._under_way)
        try:
            if self._due <= time.monotonic():
                self._due = math.inf
                n_running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
            for key, events in ready:
                if key.fd in self._wakes:
                    self._is_woken = True
                    continue
                n_running = self._multi.socket_action(key.fd, _TO_CURL[events])[1]
            if n_running < len(self._under_way):
                self._take_in()
            self._note_timer()
        except pycurl.error:
            self._start_over()
        except BaseException:
            self._start_over()
            raise

    def _take_in(self) -> None:
        n_left = 1
        while n_left:
            n_left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._finish(curl, 0, "")
            for curl, code, message in failed:
                self._finish(curl, code, message)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._under_way.pop(curl)
        self._multi.remove_handle(curl)
        self._ended.append((transfer, code, message))

    def _note_timer(self) -> None:
        if self._timer_ms:
            timer_ms = self._timer_ms.pop()
            self._due = math.inf if timer_ms < 0 else time.monotonic() + timer_ms / 1000

    def _on_socket(self, what: int, fd: int, multi: pycurl.CurlMulti, data: object) -> None:
        """libcurl begins, changes or ends to wait for a socket."""
        before, events = self._watched.get(fd, 0), _EVENTS.get(what, 0)
        if before and not events:
            self._selector.unregister(fd)
        elif not before and events:
            self._selector.register(fd, events)
        elif before != events:
            self._selector.modify(fd, events)
        self._watched[fd] = events
