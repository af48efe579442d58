"""One page in the browser, from its document to what it shows.

The page's time is virtual: timers pass at once, and while the owner looks for an answer no time passes at all. So what
a page shows does not depend on how fast the machine is or the web. Nothing is drawn while it passes, but pages wait for
frames, too; so it comes in slices, with a frame after each. First the page gets `time_s`; then, step by step, its end
is scrolled to while there comes more. In the end it is looked at from a world of its own, which the page's scripts
cannot reach.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from orienteer.browser import requests
from orienteer.browser.connection import CommandError, Connection, Params
from orienteer.browser.job import Rendered, RenderJob, Supplied, Wanted
from orienteer.browser.requests import Asked

MAX_DOM_LENGTH = 16 << 20
MAX_ELEMENTS = 500_000
_MAX_DIALOGS = 20
_MAX_ROUTES = 1_000
_STARVED_TASKS = 5_000  # after so many tasks in a row time goes on
_SLICES = (0.05, 0.95)  # of a page's time
_MORE_S = 0.5  # for what came by the last frame
_MAX_MORE = 10
_STEP_SLICES_S = (0.3, 0.7)  # of the page's time, for what a step brings
_FRAME_S = 0.25  # of real time, in which it is drawn; or else
_SCROLL_S = 2.0  # the same for some forty frames
_PUT_OFF_S = 0.05  # of the page's time go by
_MAX_PUT_OFF = 20  # where it is not drawn at all, it has to do without
_GRACE_S = 10.0  # for a last look at a page that was stopped
_QUIET_S = 5.0  # in which nothing has happened though time should pass: it will not
_QUIET_CPU_S = 0.02

_SCRIPTS = {
    name: Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8") for name in ("look", "more", "frame")
}
_LAST_LOOK = frozenset({"time", "cpu", "left"})  # troubles after which the page can still be looked at


class Tab:
    """`want` hears what the page asks for; `next_number` numbers it."""

    def __init__(
        self,
        connection: Connection,
        job: RenderJob,
        own_user_agent: bool,
        want: Callable[[Wanted], None],
        next_number: Callable[[], int],
    ) -> None:
        self.job = job
        self.context = self.target = self.session = ""
        self.frames: set[str] = set()
        self.cpu_s = 0.0
        self.trouble = ""
        self._connection, self._own_user_agent, self._want, self._next_number = (
            connection, own_user_agent, want, next_number,
        )  # fmt: skip
        loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._shown: asyncio.Future[None] = loop.create_future()
        self._time_passed: asyncio.Future[None] | None = None
        self._measured: asyncio.Future[Params] | None = None
        self._waiting: dict[int, Asked] = {}
        self._redirect = ""
        self._routes: dict[str, None] = {}
        self._windows: dict[str, None] = {}
        self._leads_to: set[str] = set()  # where the main frame has begun to go
        self._n_requests = self._n_refused = self._n_failed = self._n_bytes = self._n_dialogs = 0
        self._n_asked = 0  # with what was refused
        self._still_growing = False
        self._has_frames = True
        self._wall_s = self._quiet_s = self._quiet_cpu_s = 0.0

    # -- its life ---------------------------------------------------------------------------------------------------

    async def render(self) -> Rendered:
        """What the page shows in the end; BrowserGoneError where the browser did not live to show it."""
        seen, picture = None, b""
        work = asyncio.ensure_future(self._work())
        either: set[asyncio.Future[Any]] = {work, self._stopped}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            try:
                seen, picture = work.result()
            except CommandError:
                self.trouble = self.trouble or "crashed"
        else:
            work.cancel()
            await asyncio.wait({work})
            if self.trouble in _LAST_LOOK:
                seen = await self._last_look()
        self._connection.tell("Target.disposeBrowserContext", {"browserContextId": self.context})
        return self._rendered(seen, picture)

    def stop(self, trouble: str) -> None:
        """End it, whatever it is at."""
        if not self._stopped.done():
            self.trouble = trouble
            self._stopped.set_result(None)

    async def _work(self) -> tuple[Params, bytes]:
        await self._open()
        await self._shown
        world = await self._world()
        await self._live(world, [share * self.job.time_s for share in _SLICES])
        if not self._redirect and not self.trouble:
            await self._grow(world)
        seen = await self._look(world)
        picture = await self._picture() if self.job.screenshot and not self._redirect else b""
        await self._measure()
        return seen, picture

    async def _open(self) -> None:
        connection = self._connection
        self.context = (await connection.call("Target.createBrowserContext", {"disposeOnDetach": True}))[
            "browserContextId"
        ]
        connection.tell("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self.context})
        connection.tell(
            "Browser.grantPermissions", {"permissions": [], "browserContextId": self.context}
        )  # and no other
        # It waits for its debugger before it asks for anything. To open an empty page first would cost a sixth more.
        created = await connection.call("Target.createTarget", {"url": self.job.url, "browserContextId": self.context})
        self.target = created["targetId"]
        self.frames.add(self.target)
        self._tell("Inspector.enable")
        self._tell("Performance.enable")
        self._tell("Emulation.setVirtualTimePolicy", {"policy": "pause"})
        if not self._own_user_agent:
            self._tell("Emulation.setUserAgentOverride", {"userAgent": self.job.user_agent})
        self._tell("Page.enable")
        self._tell("Runtime.runIfWaitingForDebugger")

    async def _pass(self, seconds: float) -> None:
        """Let so much of the page's time pass."""
        if self._redirect or self.trouble:
            return
        self._time_passed = asyncio.get_running_loop().create_future()
        self._tell(
            "Emulation.setVirtualTimePolicy",
            {
                "policy": "pauseIfNetworkFetchesPending",
                "budget": seconds * 1000,
                "maxVirtualTimeTaskStarvationCount": _STARVED_TASKS,
            },
        )
        await self._time_passed
        self._time_passed = None

    async def _live(self, world: int, slices_s: Sequence[float]) -> None:
        """Let time pass with frames in between, and a little more while they make the page ask for more."""
        for seconds in slices_s:
            await self._pass_with_frame(world, seconds)
        for _ in range(_MAX_MORE):
            n_before = self._n_asked
            await self._pass_with_frame(world, _MORE_S)
            if self._n_asked == n_before:
                return

    async def _pass_with_frame(self, world: int, seconds: float) -> None:
        """Let time pass, and have the page drawn meanwhile or afterwards."""
        if not self._has_frames or self._redirect or self.trouble:
            await self._pass(seconds)
            return
        frame = asyncio.ensure_future(self._run("frame", world))
        try:
            await self._pass(seconds)
            await self._drawn(frame, _FRAME_S)
        finally:
            frame.cancel()

    async def _drawn(self, drawing: asyncio.Future[Any], patience_s: float) -> Any:
        """What a script returns that waits until the page is drawn; None where it never is. The browser may put that
        off for a while of the page's time: then that goes on."""
        for _ in range(_MAX_PUT_OFF):
            if (await asyncio.wait({drawing}, timeout=patience_s))[0]:
                return drawing.result()
            await self._pass(_PUT_OFF_S)
        self._has_frames = False
        return None

    def _enough(self) -> None:
        """No more time is needed."""
        if self._time_passed is not None and not self._time_passed.done():
            self._tell("Emulation.setVirtualTimePolicy", {"policy": "pause"})
            self._time_passed.set_result(None)

    async def _grow(self, world: int) -> None:
        """Ask for more at the end of the page, while there comes more."""
        before = None
        for i in range(self.job.scrolls + 1):
            asks = i < self.job.scrolls
            asking = asyncio.ensure_future(self._run("more", world, before, asks))
            try:
                said = await self._drawn(asking, _SCROLL_S)
            finally:
                asking.cancel()
            if said is None or not said["more"]:
                return
            if not asks:
                self._still_growing = True
                return
            before = said["now"]
            await self._live(world, _STEP_SLICES_S)

    async def _world(self) -> int:
        params = {"frameId": self.target, "worldName": "look"}
        return int((await self._call("Page.createIsolatedWorld", params))["executionContextId"])

    async def _look(self, world: int) -> Params:
        seen: Params = await self._run("look", world, MAX_DOM_LENGTH, MAX_ELEMENTS)
        seen["hashRoutes"] = seen["hasHashLinks"] and await self._hears_of_routes()
        return seen

    async def _last_look(self) -> Params | None:
        """At a page whose scripts do not end, or that is too slow: they are ended."""
        self._tell("Emulation.setVirtualTimePolicy", {"policy": "pause"})
        self._tell("Runtime.terminateExecution")
        with contextlib.suppress(TimeoutError, CommandError):
            async with asyncio.timeout(_GRACE_S):
                seen = await self._look(await self._world())
                await self._measure()
                return seen
        return None

    async def _hears_of_routes(self) -> bool:
        """Whether the page's window listens to changes of the fragment."""
        window = await self._call("Runtime.evaluate", {"expression": "self"})
        params = {"objectId": window["result"]["objectId"]}
        listeners = (await self._call("DOMDebugger.getEventListeners", params)).get("listeners", ())
        return any(listener["type"] in ("hashchange", "popstate") for listener in listeners)

    async def _picture(self) -> bytes:
        params = {"format": "jpeg", "quality": 70, "optimizeForSpeed": True}
        with contextlib.suppress(CommandError):
            return base64.b64decode((await self._call("Page.captureScreenshot", params))["data"])
        return b""

    async def _run(self, script: str, world: int, *arguments: Any) -> Any:
        """Call the function that a script is; what it returns."""
        result = await self._call(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": _SCRIPTS[script],
                "arguments": [{"value": argument} for argument in arguments],
                "executionContextId": world,
                "returnByValue": True,
                "awaitPromise": True,
            },
        )
        if "exceptionDetails" in result:
            raise CommandError(f"{script}: {result['exceptionDetails'].get('exception', {}).get('description', '')}")
        return result["result"].get("value")

    # -- what the browser reports -----------------------------------------------------------------------------------

    def heard(self, method: str, params: Params) -> None:
        if method == "Emulation.virtualTimeBudgetExpired":
            if self._time_passed is not None and not self._time_passed.done():
                self._time_passed.set_result(None)
        elif method == "Page.frameAttached":
            self.frames.add(params["frameId"])
        elif method == "Page.frameNavigated":
            self._navigated(params["frame"])
        elif method == "Page.navigatedWithinDocument":
            if params["frameId"] == self.target and params.get("navigationType", "historyApi") == "historyApi":
                if len(self._routes) < _MAX_ROUTES:
                    self._routes[params["url"]] = None
        elif method == "Page.frameStartedNavigating":
            if params["frameId"] == self.target:
                self._leads_to.add(_without_fragment(params["url"]))
        elif method == "Page.windowOpen":
            self.opened_window(params["url"])
        elif method == "Page.javascriptDialogOpening":
            self._dialog()
        elif method in ("Inspector.targetCrashed", "Target.detachedFromTarget"):
            self.stop("crashed")

    def opened_window(self, url: str) -> None:
        if url.startswith(("http://", "https://")) and len(self._windows) < _MAX_ROUTES:
            self._windows[url] = None

    def _navigated(self, frame: Params) -> None:
        if frame["id"] != self.target:
            return
        if not self._shown.done():
            self._shown.set_result(None)
        else:
            self.trouble = self.trouble or "left"
            self._enough()

    def _dialog(self) -> None:
        self._n_dialogs += 1
        self._tell("Page.handleJavaScriptDialog", {"accept": False})
        if self._n_dialogs % _MAX_DIALOGS == 0:
            self._tell("Runtime.terminateExecution")

    def asked(self, asked: Asked) -> None:
        """The page makes a request."""
        if asked.is_document and asked.frame == self.target:
            self._main_document(asked)
            return
        self._n_asked += 1
        verdict = requests.verdict(asked, self.job)
        if verdict == requests.PREFLIGHT:
            self._connection.tell("Fetch.fulfillRequest", requests.preflight_answer(asked))
        elif verdict == requests.UNWANTED:
            self.refuse(asked)
        elif verdict == requests.REFUSE or self._redirect or self._stopped.done():
            self._n_refused += 1
            self.refuse(asked)
        elif self._n_requests >= self.job.max_requests or self._n_bytes >= self.job.max_bytes:
            self.trouble = self.trouble or "too many requests"
            self._n_refused += 1
            self.refuse(asked)
        else:
            self._n_requests += 1
            number = self._next_number()
            self._waiting[number] = asked
            self._want(Wanted(self.job.number, number, _without_fragment(asked.url), asked.kind))

    def supply(self, supplied: Supplied) -> None:
        asked = self._waiting.pop(supplied.number, None)
        if asked is None:
            return
        self._n_bytes += len(supplied.content)
        if supplied.refused:
            self._n_refused += 1
            self.refuse(asked)
        elif supplied.status <= 0:
            self._n_failed += 1
            self.refuse(asked, "Failed")
        else:
            self._n_failed += supplied.status >= 400
            answered = self._connection.call("Fetch.fulfillRequest", requests.answer(asked, supplied))
            answered.add_done_callback(lambda result: self._answered(asked, result))

    def _answered(self, asked: Asked, result: asyncio.Future[Params]) -> None:
        if not result.cancelled() and isinstance(result.exception(), CommandError):
            self.refuse(asked, "Failed")

    def refuse(self, asked: Asked, reason: str = "BlockedByClient") -> None:
        self._connection.tell("Fetch.failRequest", {"requestId": asked.id, "errorReason": reason})

    def _main_document(self, asked: Asked) -> None:
        """The first is ours; any other leads away, and is a redirect."""
        if not self._shown.done():
            self._connection.tell("Fetch.fulfillRequest", requests.main_document(asked, self.job))
            return
        self.refuse(asked, "Aborted")  # with any other reason an error would be shown instead of the page
        place = _without_fragment(asked.url)
        if asked.method != "GET" or place == _without_fragment(self.job.url) or place not in self._leads_to:
            self._n_refused += 1  # a form, the same page again, a download
        elif not self._redirect:
            self._redirect = asked.url
            self._enough()

    # -- its limits -------------------------------------------------------------------------------------------------

    def tick(self, passed_s: float) -> None:
        """So much time has passed: is it too much?"""
        if not self._waiting:
            self._wall_s += passed_s
            self._quiet_s += passed_s
        if self._wall_s > self.job.wall_s:
            self.stop("time")
        elif self.cpu_s > self.job.cpu_s:
            self.stop("cpu")
        elif self.session and (self._measured is None or self._measured.done()):
            self._measured = self._call("Performance.getMetrics")
            self._measured.add_done_callback(self._told_measures)
        if self.cpu_s - self._quiet_cpu_s > _QUIET_CPU_S or self._waiting:
            self._quiet_s, self._quiet_cpu_s = 0.0, self.cpu_s
        elif self._quiet_s > _QUIET_S:
            self._enough()

    async def _measure(self) -> None:
        result = self._call("Performance.getMetrics")
        result.add_done_callback(self._told_measures)
        await result

    def _told_measures(self, result: asyncio.Future[Params]) -> None:
        if not result.cancelled() and result.exception() is None:
            figures = {metric["name"]: metric["value"] for metric in result.result()["metrics"]}
            # In a sandbox a process cannot tell its own time, but that of its main thread.
            self.cpu_s = max(self.cpu_s, figures.get("ProcessTime", 0.0), figures.get("ThreadTime", 0.0))

    # -- shared -----------------------------------------------------------------------------------------------------

    def _call(self, method: str, params: Params | None = None) -> asyncio.Future[Params]:
        return self._connection.call(method, params, self.session)

    def _tell(self, method: str, params: Params | None = None) -> None:
        self._connection.tell(method, params, self.session)

    def _rendered(self, seen: Params | None, picture: bytes) -> Rendered:
        seen = seen or {}
        if seen.get("isCut"):
            self.trouble = self.trouble or "too large"
        return Rendered(
            self.job.number,
            url=seen.get("url", self.job.url),
            redirect=self._redirect,
            dom=str(seen.get("dom", "")).encode("utf-8", "replace"),
            title=str(seen.get("title", "")),
            links=(*seen.get("links", ()), *self._windows),
            routes=tuple(self._routes),
            hash_routes=bool(seen.get("hashRoutes")),
            n_clickable=int(seen.get("nClickable", 0)),
            still_growing=self._still_growing,
            n_requests=self._n_requests,
            n_refused=self._n_refused,
            n_failed=self._n_failed,
            screenshot=picture,
            cpu_s=self.cpu_s,
            trouble=self.trouble,
        )


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]
