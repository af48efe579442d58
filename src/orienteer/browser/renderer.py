"""Render pages; the owner fulfills the requests that they make.

    renderer = Renderer()
    renderer.start(job)
    while renderer.n_in_flight:
        select([renderer.descriptor], [], [])
        for event in renderer.events():
            if isinstance(event, BrowserRequest): renderer.fulfill(...)
            else: job, page = event                             # a RenderedPage
    renderer.close()

A separate thread communicates with the browser, so that no call here blocks. The browser starts with the first page. It
is restarted after a crash or hang, if it takes too much memory, and after many pages. Pages that were being rendered at
a crash are retried one at a time; a page that crashes the browser again gets that as its trouble. Every job returns
exactly one RenderedPage.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import threading
import time
from collections import deque

from orienteer.browser.browser import Browser
from orienteer.browser.connection import BrowserGoneError
from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from orienteer.browser.process import BrowserProcess, find_browser
from orienteer.errors import ProcessError
from orienteer.processes.supervisor import CrashRecord, StartLimit
from orienteer.responses.rendered import RenderedPage

BrowserEvent = BrowserRequest | tuple[RenderJob, RenderedPage]

_TICK_S = 0.25
_MEMORY_CHECK_S = 1.0


class Renderer:
    """All calls come from one thread; only `close` blocks.

    `path` is the program, detected if empty. `tabs` pages are rendered in parallel. The browser is restarted if it
    takes more than `max_memory_mb`, and after `restart_after` pages. `isolates_network`: see `process`.
    """

    def __init__(
        self,
        path: str = "",
        *,
        tabs: int = 2,
        max_memory_mb: int = 2_000,
        restart_after: int = 500,
        isolates_network: bool = True,
    ) -> None:
        self._program = find_browser(path)
        self._tabs, self._max_memory_mb, self._restart_after = tabs, max_memory_mb, restart_after
        self._is_cut_off = isolates_network
        self._events: deque[BrowserEvent] = deque()
        self.descriptor, self._wake_up_fd = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._wake_up_fd, False)
        self.n_in_flight = 0
        self.n_browsers = 0  # started so far
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._numbers = itertools.count()
        # Used only in the thread:
        self._waiting: deque[RenderJob] = deque()
        self._suspects: deque[RenderJob] = deque()  # their browser crashed; each is rendered alone
        self._crashes: CrashRecord[int] = CrashRecord(suspect_after=1, refused_after=1)  # by number of the job
        self._starts = StartLimit()
        self._browser: Browser | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake: asyncio.Event | None = None
        self._is_exclusive = False
        self._n_cancelled = 0
        self._ended_cpu_s = 0.0
        atexit.register(self.close)

    # -- for the owner ----------------------------------------------------------------------------------------------

    def start(self, job: RenderJob) -> None:
        self.n_in_flight += 1
        if self._thread is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(ready,), name="browser", daemon=True)
            self._thread.start()
            ready.wait()
        self._call_in_thread(self._put, job)

    def fulfill(self, response: BrowserResponse) -> None:
        self._call_in_thread(self._fulfill, response)

    def events(self) -> list[BrowserEvent]:
        """Return the events since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 16)
        events = []
        while self._events:
            events.append(self._events.popleft())
        self.n_in_flight -= sum(not isinstance(event, BrowserRequest) for event in events)
        return events

    def cancel(self) -> None:
        """Stop all jobs; their results have the trouble "cancelled"."""
        self._call_in_thread(self._cancel)

    @property
    def cpu_s(self) -> float:
        """CPU time of all browsers and their child processes so far."""
        browser = self._browser
        return self._ended_cpu_s + (browser.process.cpu_s if browser is not None else 0.0)

    @property
    def memory_bytes(self) -> int:
        """Memory of the current browser."""
        browser = self._browser
        return browser.process.memory_bytes if browser is not None else 0

    def close(self) -> None:
        """Stop the browser and drop all jobs. The renderer cannot be used again."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        if self._thread is not None and self._loop is not None:
            self._call_in_thread(self._shut)
            self._thread.join()
        os.close(self.descriptor)
        os.close(self._wake_up_fd)

    def _call_in_thread(self, function: object, *arguments: object) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function, *arguments)  # type: ignore[arg-type]

    # -- in the thread ----------------------------------------------------------------------------------------------

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        ticking = asyncio.ensure_future(self._tick())
        try:
            while not self._is_closed:
                await self._wake.wait()
                self._wake.clear()
                await self._begin()
        finally:
            ticking.cancel()
            self._end_browser("closed")
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _begin(self) -> None:
        """Start waiting jobs, as far as there are free tabs."""
        while not self._is_closed and (self._waiting or self._suspects):
            n_tabs = len(self._tasks)
            exclusive = bool(self._suspects)
            if n_tabs >= (1 if exclusive or self._is_exclusive else self._tabs):
                return
            browser = self._browser
            if browser is not None and (browser.death_cause or browser.n_pages >= self._restart_after):
                if n_tabs:
                    return
                self._end_browser("worn")
                browser = None
            job = (self._suspects if exclusive else self._waiting).popleft()
            n_cancelled = self._n_cancelled
            if browser is None:
                browser = await self._new_browser(job.user_agent)
                if browser is None:
                    self._emit((job, RenderedPage(job.url, trouble="crashed")))
                    continue
            self._is_exclusive = exclusive
            task = asyncio.ensure_future(self._render(browser, job, n_cancelled))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def _new_browser(self, user_agent: str) -> Browser | None:
        while not self._starts.is_reached and not self._is_closed:
            started_at = time.monotonic()
            try:
                process = BrowserProcess(self._program, user_agent, isolates_network=self._is_cut_off)
            except ProcessError:
                self._starts.add_failure(started_at)
                continue
            self.n_browsers += 1
            self._browser = Browser(process, user_agent, self._emit, lambda: next(self._numbers))
            try:
                await self._browser.open()
            except BrowserGoneError:
                self._end_browser("does not start")
                self._starts.add_failure(started_at)
                continue
            self._starts.reset()
            return self._browser
        self._starts.allow_one()  # by the next job
        return None

    async def _render(self, browser: Browser, job: RenderJob, n_cancelled: int) -> None:
        if n_cancelled != self._n_cancelled:  # cancelled before it started
            return self._emit((job, RenderedPage(job.url, trouble="cancelled")))
        try:
            rendered = await browser.render(job)
        except BrowserGoneError:
            if self._is_closed:
                return
            self._crashes.add(job.number)
            if not self._crashes.is_refused(job.number):
                return self._suspects.append(job)
            problem = "memory" if browser.death_cause == "memory" else "crashed"
            self._emit((job, RenderedPage(job.url, trouble=problem)))
        except Exception:  # an unexpected reply of another browser version: the job must still return
            self._emit((job, RenderedPage(job.url, trouble="crashed")))
        else:
            self._emit((job, rendered))
        self._crashes.drop(job.number)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._is_exclusive = False
        self._wake_up()

    async def _tick(self) -> None:
        before = memory_checked = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            now = time.monotonic()
            browser = self._browser
            if browser is not None and not browser.death_cause:
                browser.tick(min(now - before, 2 * _TICK_S))  # the time of a suspended machine does not count
                if browser.n_tabs and now - memory_checked > _MEMORY_CHECK_S:
                    memory_checked = now
                    if browser.process.memory_bytes > self._max_memory_mb << 20:
                        browser.kill("memory")
            before = now

    def _end_browser(self, why: str) -> None:
        if self._browser is not None:
            self._browser.kill(why)
            self._ended_cpu_s += self._browser.process.cpu_s
            self._browser = None

    def _put(self, job: RenderJob) -> None:
        self._waiting.append(job)
        self._wake_up()

    def _fulfill(self, response: BrowserResponse) -> None:
        if self._browser is not None:
            self._browser.fulfill(response)

    def _shut(self) -> None:
        if self._browser is not None:  # `_begin` may be waiting for it
            self._browser.kill("closed")
        self._wake_up()

    def _cancel(self) -> None:
        self._n_cancelled += 1
        for job in (*self._waiting, *self._suspects):
            self._crashes.drop(job.number)
            self._emit((job, RenderedPage(job.url, trouble="cancelled")))
        self._waiting.clear()
        self._suspects.clear()
        if self._browser is not None:
            self._browser.stop_all("cancelled")

    def _wake_up(self) -> None:
        if self._wake is not None:
            self._wake.set()

    def _emit(self, event: BrowserEvent) -> None:
        self._events.append(event)
        with contextlib.suppress(OSError):  # the pipe is full: the owner will wake anyway
            os.write(self._wake_up_fd, b"!")
