"""A running browser: its tabs, the dispatch of its events to them, and its health."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from orienteer.browser.connection import BrowserConnection, BrowserGoneError, CommandError, Params
from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from orienteer.browser.process import BrowserProcess
from orienteer.browser.requests import PausedRequest
from orienteer.browser.tab import Tab
from orienteer.responses.rendered import RenderedPage

_START_S = 120.0  # on a busy machine
_HANG_TIMEOUT_S = 60.0  # without a reply to a ping for this long, the browser counts as hanging
_PING_EVERY_S = 10.0
_UNCLAIMED_TIMEOUT_S = 2.0  # a request of an unknown frame is refused after that
_PAGES_ONLY = [{"type": "page"}, {"exclude": True}]
_WORKERS_ONLY = [{"type": "worker"}, {"type": "shared_worker"}, {"type": "service_worker"}, {"exclude": True}]


class Browser:
    """`on_request` is called with each request of a page. `death_cause` is "" while the browser runs."""

    def __init__(
        self,
        process: BrowserProcess,
        user_agent: str,
        on_request: Callable[[BrowserRequest], None],
        next_number: Callable[[], int],
    ) -> None:
        self.process = process
        self.n_pages = 0
        self.death_cause = ""
        self._user_agent, self._on_request, self._next_number = user_agent, on_request, next_number
        self._connection = BrowserConnection(process.reading, process.writing, self._on_event, self._closed)
        self._tabs: list[Tab] = []
        self._unclaimed: list[tuple[float, PausedRequest]] = []
        self._ping: asyncio.Future[Params] | None = None
        self._pinged_s = 0.0
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def n_tabs(self) -> int:
        return len(self._tabs)

    async def open(self) -> None:
        """Wait until the browser has started; raises BrowserGoneError if it does not."""
        call = self._connection.call
        try:
            async with asyncio.timeout(_START_S):
                targets = await call("Target.getTargets")
                auto = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": _PAGES_ONLY}
                first = {target["targetId"] for target in targets["targetInfos"]}
                # For the whole browser: intercepts all pages, frames and workers from their first request on.
                await call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
                await call("Target.setDiscoverTargets", {"discover": True, "filter": _WORKERS_ONLY})
                await call("Target.setAutoAttach", auto)
                for target in first:
                    self._connection.notify("Target.closeTarget", {"targetId": target})
        except (TimeoutError, CommandError):  # a browser without these commands is too old
            self.kill("does not start")
            raise BrowserGoneError from None

    async def render(self, job: RenderJob) -> RenderedPage:
        """Render a page; raises BrowserGoneError if the browser dies meanwhile."""
        self.n_pages += 1
        tab = Tab(self._connection, job, job.user_agent == self._user_agent, self._on_request, self._next_number)
        self._tabs.append(tab)
        try:
            rendering = asyncio.ensure_future(tab.render())
            tasks: set[asyncio.Future[Any]] = {rendering, self._gone}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self.death_cause:
                tab.stop("crashed")
                await asyncio.wait({rendering})
                rendering.exception()
                raise BrowserGoneError
            return rendering.result()
        finally:
            self._tabs.remove(tab)

    def fulfill(self, response: BrowserResponse) -> None:
        for tab in self._tabs:
            tab.fulfill(response)

    def stop_all(self, problem: str) -> None:
        for tab in self._tabs:
            tab.stop(problem)

    def tick(self, passed_s: float) -> None:
        for tab in self._tabs:
            tab.tick(passed_s)
        self._unclaimed = [(left_s - passed_s, request) for left_s, request in self._unclaimed]
        for left_s, request in self._unclaimed:
            if left_s <= 0:
                self._refuse(request)
        self._unclaimed = [(left_s, request) for left_s, request in self._unclaimed if left_s > 0]
        self._pinged_s += passed_s
        if self._ping is None or self._ping.done():
            if self._pinged_s >= _PING_EVERY_S:
                self._ping, self._pinged_s = self._connection.call("Browser.getVersion"), 0.0
        elif self._pinged_s >= _HANG_TIMEOUT_S:
            self.kill("hangs")

    def kill(self, why: str = "closed") -> None:
        self.death_cause = self.death_cause or why
        self.process.kill()
        self._connection.close()

    # -- events -----------------------------------------------------------------------------------------------------

    def _closed(self) -> None:
        self.death_cause = self.death_cause or "crashed"
        if not self._gone.done():
            self._gone.set_result(None)
        self.process.kill()

    def _on_event(self, session: str, method: str, params: Params) -> None:
        if method == "Fetch.requestPaused":
            self._on_paused(PausedRequest.of(params))
        elif method == "Target.attachedToTarget":
            self._attached(params["sessionId"], params["targetInfo"])
        elif method == "Target.targetCreated":
            self._add_worker(params["targetInfo"])
        else:
            session = params["sessionId"] if method == "Target.detachedFromTarget" else session
            for tab in self._tabs:
                if session and tab.session == session:
                    tab.on_event(method, params)
                    if method == "Page.frameAttached":
                        self._dispatch_unclaimed()

    def _attached(self, session: str, info: Params) -> None:
        """Attach a page to its tab; a window that a page opened is closed before it runs."""
        for tab in self._tabs:
            if tab.context == info.get("browserContextId") and tab.context and not tab.session:
                tab.attach(session, info["targetId"])
                self._dispatch_unclaimed()
                return
            if tab.context == info.get("browserContextId") and tab.context:
                tab.add_window(info.get("url", ""))
        self._connection.notify("Target.closeTarget", {"targetId": info["targetId"]})

    def _add_worker(self, info: Params) -> None:
        """Add a worker to the tab of its browser context."""
        for tab in self._tabs:
            if tab.context and tab.context == info.get("browserContextId"):
                tab.add_worker(info)
        self._dispatch_unclaimed()

    def _on_paused(self, request: PausedRequest) -> None:
        self._unclaimed.append((_UNCLAIMED_TIMEOUT_S, request))
        self._dispatch_unclaimed()

    def _dispatch_unclaimed(self) -> None:
        waiting, self._unclaimed = self._unclaimed, []
        for left_s, request in waiting:
            tab = next((tab for tab in self._tabs if request.frame in tab.frames), None)
            if tab is None:
                self._unclaimed.append((left_s, request))
            else:
                tab.handle_request(request)

    def _refuse(self, request: PausedRequest) -> None:
        params = {"requestId": request.id, "errorReason": "BlockedByClient"}
        self._connection.notify("Fetch.failRequest", params)
