"""A browser that runs: its tabs, what it reports about each, and whether it is still well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from orienteer.browser.connection import BrowserGoneError, CommandError, Connection, Params
from orienteer.browser.job import Rendered, RenderJob, Supplied, Wanted
from orienteer.browser.process import BrowserProcess
from orienteer.browser.requests import Asked
from orienteer.browser.tab import Tab

_START_S = 120.0  # on a busy machine
_ANSWER_S = 60.0  # a browser that says nothing for so long hangs
_PING_EVERY_S = 10.0
_CLAIM_S = 2.0  # a request whose page is not known may wait so long for it
_PAGES_ONLY = [{"type": "page"}, {"exclude": True}]
_SHARED_ONLY = [{"type": "shared_worker"}, {"type": "service_worker"}, {"exclude": True}]


class Browser:
    """`want` hears what pages ask for. `died_of` is "" while it lives, and then why it does not."""

    def __init__(
        self, process: BrowserProcess, user_agent: str, want: Callable[[Wanted], None], next_number: Callable[[], int]
    ) -> None:
        self.process = process
        self.n_pages = 0
        self.died_of = ""
        self._user_agent, self._want, self._next_number = user_agent, want, next_number
        self._connection = Connection(process.reading, process.writing, self._heard, self._closed)
        self._tabs: list[Tab] = []
        self._unclaimed: list[tuple[float, Asked]] = []
        self._ping: asyncio.Future[Params] | None = None
        self._pinged_s = 0.0
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def n_tabs(self) -> int:
        return len(self._tabs)

    async def open(self) -> None:
        """Wait until it is there; BrowserGoneError where it does not come."""
        call = self._connection.call
        try:
            async with asyncio.timeout(_START_S):
                targets = await call("Target.getTargets")
                auto = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": _PAGES_ONLY}
                first = {target["targetId"] for target in targets["targetInfos"]}
                # At the browser itself: of all pages, frames and workers, from their first request on.
                await call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
                await call("Target.setDiscoverTargets", {"discover": True, "filter": _SHARED_ONLY})
                await call("Target.setAutoAttach", auto)
                for target in first:
                    self._connection.tell("Target.closeTarget", {"targetId": target})
        except (TimeoutError, CommandError):  # one that does not know our commands is too old
            self.kill("does not start")
            raise BrowserGoneError from None

    async def show(self, job: RenderJob) -> Rendered:
        """What a page shows; BrowserGoneError where the browser died meanwhile."""
        self.n_pages += 1
        tab = Tab(self._connection, job, job.user_agent == self._user_agent, self._want, self._next_number)
        self._tabs.append(tab)
        try:
            rendering = asyncio.ensure_future(tab.render())
            either: set[asyncio.Future[Any]] = {rendering, self._gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self.died_of:
                tab.stop("crashed")
                await asyncio.wait({rendering})
                rendering.exception()
                raise BrowserGoneError
            return rendering.result()
        finally:
            self._tabs.remove(tab)

    def supply(self, supplied: Supplied) -> None:
        for tab in self._tabs:
            if tab.job.number == supplied.job:
                tab.supply(supplied)

    def stop_all(self, trouble: str) -> None:
        for tab in self._tabs:
            tab.stop(trouble)

    def tick(self, passed_s: float) -> None:
        for tab in self._tabs:
            tab.tick(passed_s)
        self._unclaimed = [(left - passed_s, asked) for left, asked in self._unclaimed]
        for left, asked in self._unclaimed:
            if left <= 0:
                self._refuse(asked)
        self._unclaimed = [(left, asked) for left, asked in self._unclaimed if left > 0]
        self._pinged_s += passed_s
        if self._ping is None or self._ping.done():
            if self._pinged_s >= _PING_EVERY_S:
                self._ping, self._pinged_s = self._connection.call("Browser.getVersion"), 0.0
        elif self._pinged_s >= _ANSWER_S:
            self.kill("hangs")

    def kill(self, why: str = "closed") -> None:
        self.died_of = self.died_of or why
        self.process.kill()
        self._connection.close()

    # -- what it reports --------------------------------------------------------------------------------------------

    def _closed(self) -> None:
        self.died_of = self.died_of or "crashed"
        if not self._gone.done():
            self._gone.set_result(None)
        self.process.kill()

    def _heard(self, session: str, method: str, params: Params) -> None:
        if method == "Fetch.requestPaused":
            self._asked(Asked.of(params))
        elif method == "Target.attachedToTarget":
            self._attached(params["sessionId"], params["targetInfo"])
        elif method == "Target.targetCreated":
            self._claim(params["targetInfo"])
        else:
            session = params["sessionId"] if method == "Target.detachedFromTarget" else session
            for tab in self._tabs:
                if session and tab.session == session:
                    tab.heard(method, params)
                    if method == "Page.frameAttached":
                        self._ask_again()

    def _attached(self, session: str, info: Params) -> None:
        """A page of ours, or a window that a page opened, which is closed before it does anything."""
        for tab in self._tabs:
            if tab.context == info.get("browserContextId") and tab.context and not tab.session:
                tab.session = session
                return
            if tab.context == info.get("browserContextId") and tab.context:
                tab.opened_window(info.get("url", ""))
        self._connection.tell("Target.closeTarget", {"targetId": info["targetId"]})

    def _claim(self, info: Params) -> None:
        """A worker that pages share; in a context of one page it is that page's."""
        for tab in self._tabs:
            if tab.context and tab.context == info.get("browserContextId"):
                tab.frames.add(info["targetId"])
        self._ask_again()

    def _asked(self, asked: Asked) -> None:
        self._unclaimed.append((_CLAIM_S, asked))
        self._ask_again()

    def _ask_again(self) -> None:
        waiting, self._unclaimed = self._unclaimed, []
        for left, asked in waiting:
            tab = next((tab for tab in self._tabs if asked.frame in tab.frames), None)
            if tab is None:
                self._unclaimed.append((left, asked))
            else:
                tab.asked(asked)

    def _refuse(self, asked: Asked) -> None:
        params = {"requestId": asked.id, "errorReason": "BlockedByClient"}
        self._connection.tell("Fetch.failRequest", params)
