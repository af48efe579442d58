"""Pages go in, what they show comes out; in between the owner answers what they ask for.

    renderer = Renderer(BrowserSettings())
    renderer.start(job)
    while renderer.n_under_way:
        select([renderer.descriptor], [], [])
        for event in renderer.events():
            if isinstance(event, Wanted): renderer.supply(...)
            else: ...                                           # Rendered
    renderer.close()

A thread of its own speaks with the browser, so that no call here waits. The browser starts with the first page. It is
replaced when it dies, hangs, takes too much memory or has shown many pages. What was under way then is shown once more,
one page at a time; a page that a browser dies of again comes back with that trouble. Every job comes back once.
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
from orienteer.browser.finding import find_browser
from orienteer.browser.job import Rendered, RenderJob, Supplied, Wanted
from orienteer.browser.process import BrowserProcess
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import ProcessError

_TICK_S = 0.25
_WEIGH_EVERY_S = 1.0
_MAX_STILLBORN = 3  # browsers in a row that do not start


class Renderer:
    """All calls come from one thread; none of them blocks, but for `close`. `is_cut_off`: see `process`."""

    def __init__(self, settings: BrowserSettings, *, is_cut_off: bool = True) -> None:
        self._settings, self._is_cut_off = settings, is_cut_off
        self._program = find_browser(settings.path)
        self._events: deque[Wanted | Rendered] = deque()
        self.descriptor, self._bell = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._bell, False)
        self.n_under_way = 0
        self.n_browsers = 0  # that were started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._numbers = itertools.count()
        # Of the thread alone:
        self._waiting: deque[RenderJob] = deque()
        self._again: deque[RenderJob] = deque()  # their browser died; each is shown alone
        self._browser: Browser | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake: asyncio.Event | None = None
        self._is_alone = False
        self._n_stillborn = self._n_cancelled = 0
        self._ended_cpu_s = 0.0
        atexit.register(self.close)

    # -- for the owner ----------------------------------------------------------------------------------------------

    def start(self, job: RenderJob) -> None:
        self.n_under_way += 1
        if self._thread is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(ready,), name="browser", daemon=True)
            self._thread.start()
            ready.wait()
        self._tell(self._put, job)

    def supply(self, supplied: Supplied) -> None:
        self._tell(self._supply, supplied)

    def events(self) -> list[Wanted | Rendered]:
        """What has happened since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 16)
        found = []
        while self._events:
            found.append(self._events.popleft())
        self.n_under_way -= sum(isinstance(event, Rendered) for event in found)
        return found

    def cancel(self) -> None:
        """What is under way comes back as it is, with the trouble "cancelled"."""
        self._tell(self._cancel)

    @property
    def cpu_s(self) -> float:
        """CPU time of browsers and all their processes, so far."""
        browser = self._browser
        return self._ended_cpu_s + (browser.process.cpu_s if browser is not None else 0.0)

    @property
    def memory_bytes(self) -> int:
        """What the browser takes now."""
        browser = self._browser
        return browser.process.memory_bytes if browser is not None else 0

    def close(self) -> None:
        """End the browser. What is under way is lost; nothing can be started any more."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        if self._thread is not None and self._loop is not None:
            self._tell(self._shut)
            self._thread.join()
        os.close(self.descriptor)
        os.close(self._bell)

    def _tell(self, function: object, *arguments: object) -> None:
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
        """Start what can be started."""
        while not self._is_closed and (self._waiting or self._again):
            n_tabs = len(self._tasks)
            alone = bool(self._again)
            if n_tabs >= (1 if alone or self._is_alone else self._settings.tabs):
                return
            browser = self._browser
            if browser is not None and (browser.died_of or browser.n_pages >= self._settings.restart_after):
                if n_tabs:
                    return
                self._end_browser("worn")
                browser = None
            job = (self._again if alone else self._waiting).popleft()
            n_cancelled = self._n_cancelled
            if browser is None:
                browser = await self._new_browser(job.user_agent)
                if browser is None:
                    self._tell_event(Rendered(job.number, job.url, trouble="crashed"))
                    continue
            self._is_alone = alone
            task = asyncio.ensure_future(self._show(browser, job, alone, n_cancelled))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def _new_browser(self, user_agent: str) -> Browser | None:
        while self._n_stillborn < _MAX_STILLBORN and not self._is_closed:
            try:
                process = BrowserProcess(self._program, user_agent, is_cut_off=self._is_cut_off)
            except ProcessError:
                self._n_stillborn += 1
                continue
            self.n_browsers += 1
            self._browser = Browser(process, user_agent, self._tell_event, lambda: next(self._numbers))
            try:
                await self._browser.open()
            except BrowserGoneError:
                self._end_browser("does not start")
                self._n_stillborn += 1
                continue
            self._n_stillborn = 0
            return self._browser
        self._n_stillborn = max(0, self._n_stillborn - 1)  # the next job tries once
        return None

    async def _show(self, browser: Browser, job: RenderJob, alone: bool, n_cancelled: int) -> None:
        if n_cancelled != self._n_cancelled:  # while it was to begin
            return self._tell_event(Rendered(job.number, job.url, trouble="cancelled"))
        try:
            rendered = await browser.show(job)
        except BrowserGoneError:
            if self._is_closed:
                return
            if alone:
                trouble = "memory" if browser.died_of == "memory" else "crashed"
                self._tell_event(Rendered(job.number, job.url, trouble=trouble))
            else:
                self._again.append(job)
        except Exception:  # whatever a browser of another kind says: the job comes back
            self._tell_event(Rendered(job.number, job.url, trouble="crashed"))
        else:
            self._tell_event(rendered)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._is_alone = False
        self._wake_up()

    async def _tick(self) -> None:
        before = weighed = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            now = time.monotonic()
            browser = self._browser
            if browser is not None and not browser.died_of:
                browser.tick(min(now - before, 2 * _TICK_S))  # no page is to blame for a machine that slept
                if browser.n_tabs and now - weighed > _WEIGH_EVERY_S:
                    weighed = now
                    if browser.process.memory_bytes > self._settings.max_memory_mb << 20:
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

    def _supply(self, supplied: Supplied) -> None:
        if self._browser is not None:
            self._browser.supply(supplied)

    def _shut(self) -> None:
        if self._browser is not None:  # it may be waited for
            self._browser.kill("closed")
        self._wake_up()

    def _cancel(self) -> None:
        self._n_cancelled += 1
        for job in (*self._waiting, *self._again):
            self._tell_event(Rendered(job.number, job.url, trouble="cancelled"))
        self._waiting.clear()
        self._again.clear()
        if self._browser is not None:
            self._browser.stop_all("cancelled")

    def _wake_up(self) -> None:
        if self._wake is not None:
            self._wake.set()

    def _tell_event(self, event: Wanted | Rendered) -> None:
        self._events.append(event)
        with contextlib.suppress(OSError):  # it is full: there are events, and the owner knows
            os.write(self._bell, b"!")
