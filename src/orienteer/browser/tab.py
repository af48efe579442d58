"""Render one page in a tab of the browser.

The page runs in virtual time: timers fire at once, and virtual time pauses while the owner fetches a response. So the
result does not depend on the speed of the machine or of the network. No frames are drawn while virtual time advances,
but pages wait for animation frames, too; so time advances in slices, with a frame after each. First the page runs for
`time_s`; then it is scrolled to its end, step by step, as long as that loads more. At the end a script takes a snapshot
in an isolated world, which the page's scripts cannot access.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from orienteer.browser import requests
from orienteer.browser.connection import BrowserConnection, CommandError, Params
from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from orienteer.browser.own_origin import OwnOrigin
from orienteer.browser.requests import PausedRequest
from orienteer.browser.routes import RouteContent, fragment_use, routed_links
from orienteer.responses.rendered import RenderedPage

MAX_DOM_LENGTH = 16 << 20
MAX_ELEMENTS = 500_000
_MAX_DIALOGS = 20
_MAX_ROUTES = 1_000
_STARVED_TASKS = 5_000  # tasks in a row after which time advances anyway
_TIME_SLICES = (0.05, 0.95)  # shares of `time_s`
_EXTRA_SLICE_S = 0.5  # after a frame that started requests
_MAX_EXTRA_SLICES = 10
_STEP_SLICES_S = (0.3, 0.7)  # of virtual time after each scroll
_FRAME_S = 0.25  # real time to wait for a frame before virtual time advances again
_SCROLL_S = 2.0  # the same for a scroll, which takes about forty frames
_FRAME_RETRY_S = 0.05  # of virtual time
_MAX_FRAME_RETRIES = 20  # then the page is rendered without frames
_GRACE_S = 10.0  # for the snapshot of a page that was stopped
_QUIET_S = 5.0  # without CPU use or requests while time should advance: the browser has lost the time budget
_QUIET_CPU_S = 0.02  # no more than this is no CPU use

_SCRIPTS = {
    name: Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
    for name in ("snapshot", "load_more", "next_frame", "set_fragment", "page_content")
}
_SNAPSHOT_AFTER = frozenset({"time", "cpu", "left"})  # problems after which a snapshot is still possible


class Tab:
    """A page in the browser; `on_request` is called with each of its requests, numbered by `next_number`."""

    def __init__(
        self,
        connection: BrowserConnection,
        job: RenderJob,
        own_user_agent: bool,
        on_request: Callable[[BrowserRequest], None],
        next_number: Callable[[], int],
    ) -> None:
        self.job = job
        self.context = self.target = self.session = ""
        self.frames: set[str] = set()
        self.cpu_s = 0.0
        self.problem = ""
        self._connection, self._own_user_agent, self._on_request, self._next_number = (
            connection, own_user_agent, on_request, next_number,
        )  # fmt: skip
        loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._loaded: asyncio.Future[None] = loop.create_future()
        self._time_passed: asyncio.Future[None] | None = None
        self._measured: asyncio.Future[Params] | None = None
        self._own_origin = OwnOrigin(job.url)
        self._waiting: dict[int, PausedRequest] = {}
        self._redirect = ""
        self._routes: dict[str, None] = {}
        self._windows: dict[str, None] = {}
        self._navigations: set[str] = set()  # URLs that the main frame has started to navigate to
        self._n_requests = self._n_refused = self._n_bytes = self._n_dialogs = 0
        self._n_page_requests = 0  # including refused ones
        self._n_missing_responses = 0  # failed or refused requests that the page's text may depend on
        self._can_grow = False
        self._is_offline = False
        self._complete_result: RenderedPage | None = None
        self._is_drawn = True  # False: the browser draws no frames of this page
        self._wall_s = self._quiet_s = self._quiet_cpu_s = 0.0

    # -- rendering --------------------------------------------------------------------------------------------------

    async def render(self) -> RenderedPage:
        """Render the page; raises BrowserGoneError if the browser dies."""
        work = asyncio.ensure_future(self._run_job())
        tasks: set[asyncio.Future[Any]] = {work, self._stopped}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        rendered = None
        if work.done():
            try:
                rendered = work.result()
            except CommandError:
                self.problem = self.problem or "crashed"
        else:
            work.cancel()
            await asyncio.wait({work})
        if rendered is None and self.problem != "cancelled":
            rendered = self._complete_result
        if rendered is None:
            rendered = self._rendered(await self._final_snapshot() if self.problem in _SNAPSHOT_AFTER else None)
        self._connection.notify("Target.disposeBrowserContext", {"browserContextId": self.context})
        return rendered

    def stop(self, problem: str) -> None:
        """Stop rendering with this problem."""
        if not self._stopped.done():
            self.problem = problem
            self._stopped.set_result(None)

    async def _run_job(self) -> RenderedPage:
        await self._open_target()
        await self._loaded
        world = await self._world()
        await self._advance_with_frames(world, [share * self.job.settings.time_s for share in _TIME_SLICES])
        if not self._redirect and not self.problem:
            await self._load_more(world)
        snapshot = await self._snapshot(world)
        screenshot = await self._screenshot() if self.job.settings.screenshots and not self._redirect else b""
        await self._measure()
        self._complete_result = rendered = self._rendered(snapshot, screenshot)
        found = self._found_links(snapshot)  # before another fragment is visited
        if not snapshot["listens"] or self._redirect or self.problem:
            return rendered
        content_at = functools.partial(self._content_at, world)
        fragments = await fragment_use(rendered.url, snapshot["routes"], snapshot["names"], content_at)
        await self._measure()
        names = snapshot["names"]
        links = routed_links(found, names if fragments.named_routes else (), bool(snapshot["routes"]))
        return rendered._replace(
            links=links,
            n_clickable=rendered.n_clickable + (len(names) if fragments.named_routes is None else 0),
            named_routes=bool(fragments.named_routes),
            only_routes=_has_only_routes(rendered.url, links),
            anchors=fragments.anchors,
            n_requests=self._n_requests,
            cpu_s=self.cpu_s,
        )

    async def _open_target(self) -> None:
        connection = self._connection
        self.context = (await connection.call("Target.createBrowserContext", {"disposeOnDetach": True}))[
            "browserContextId"
        ]
        connection.notify("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self.context})
        connection.notify(
            "Browser.grantPermissions", {"permissions": [], "browserContextId": self.context}
        )  # denies all
        if self.job.with_credentials:
            cookies = {"cookies": [self._own_origin.cookie], "browserContextId": self.context}
            with contextlib.suppress(CommandError):  # without it no request carries credentials
                await connection.call("Storage.setCookies", cookies)
        # Opening about:blank first would take 1/6 longer.
        await connection.call("Target.createTarget", {"url": self.job.url, "browserContextId": self.context})

    def attach(self, session: str, target: str) -> None:
        """Prepare the new target, which waits for the debugger.

        Its first request may be reported before the reply to createTarget.
        """
        self.session, self.target = session, target
        self.frames.add(target)
        self._own_origin.add_page(target)
        self._notify("Inspector.enable")
        self._notify("Performance.enable")
        self._notify("Emulation.setVirtualTimePolicy", {"policy": "pause"})
        if not self._own_user_agent:
            self._notify("Emulation.setUserAgentOverride", {"userAgent": self.job.user_agent})
        self._notify("Page.enable")
        self._notify("Runtime.runIfWaitingForDebugger")

    async def _advance_time(self, seconds: float) -> None:
        """Advance virtual time."""
        if self._redirect or self.problem:
            return
        self._time_passed = asyncio.get_running_loop().create_future()
        self._notify(
            "Emulation.setVirtualTimePolicy",
            {
                "policy": "pauseIfNetworkFetchesPending",
                "budget": seconds * 1000,
                "maxVirtualTimeTaskStarvationCount": _STARVED_TASKS,
            },
        )
        await self._time_passed
        self._time_passed = None

    async def _advance_with_frames(self, world: int, slices_s: Sequence[float]) -> None:
        """Advance time in slices with a frame after each, and further while frames trigger new requests."""
        for seconds in slices_s:
            await self._advance_with_frame(world, seconds)
        for _ in range(_MAX_EXTRA_SLICES):
            n_before = self._n_page_requests
            await self._advance_with_frame(world, _EXTRA_SLICE_S)
            if self._n_page_requests == n_before:
                return

    async def _advance_with_frame(self, world: int, seconds: float) -> None:
        """Advance time, and wait until a frame is drawn."""
        if not self._is_drawn or self._redirect or self.problem:
            await self._advance_time(seconds)
            return
        frame = asyncio.ensure_future(self._call_script("next_frame", world))
        try:
            await self._advance_time(seconds)
            await self._drawn(frame, _FRAME_S)
        finally:
            frame.cancel()

    async def _drawn(self, drawing: asyncio.Future[Any], timeout_s: float) -> Any:
        """Return the result of a script that waits for a frame; None if no frame is drawn. The browser may delay a
        frame until virtual time has advanced: then advance it."""
        for _ in range(_MAX_FRAME_RETRIES):
            if (await asyncio.wait({drawing}, timeout=timeout_s))[0]:
                return drawing.result()
            await self._advance_time(_FRAME_RETRY_S)
        self._is_drawn = False
        return None

    def _stop_time(self) -> None:
        """Pause virtual time and end the current slice."""
        if self._time_passed is not None and not self._time_passed.done():
            self._notify("Emulation.setVirtualTimePolicy", {"policy": "pause"})
            self._time_passed.set_result(None)

    async def _load_more(self, world: int) -> None:
        """Scroll to the end of the page while that loads more."""
        before = None
        for i in range(self.job.settings.scrolls + 1):
            may_load = i < self.job.settings.scrolls
            loading = asyncio.ensure_future(self._call_script("load_more", world, before, may_load))
            try:
                state = await self._drawn(loading, _SCROLL_S)
            finally:
                loading.cancel()
            if state is None or not state["more"]:
                return
            if not may_load:
                self._can_grow = True
                return
            before = state["now"]
            await self._advance_with_frames(world, _STEP_SLICES_S)

    async def _world(self) -> int:
        params = {"frameId": self.target, "worldName": "look"}
        return int((await self._call("Page.createIsolatedWorld", params))["executionContextId"])

    async def _snapshot(self, world: int) -> Params:
        snapshot: Params = await self._call_script("snapshot", world, MAX_DOM_LENGTH, MAX_ELEMENTS)
        snapshot["listens"] = bool(snapshot["routes"] or snapshot["names"]) and await self._listens_to_fragment()
        return snapshot

    async def _content_at(self, world: int, url: str, is_offline: bool = False) -> RouteContent | None:
        """Return the content of the page at another fragment; None if it navigated away, or a request failed."""
        n_before, self._is_offline = self._n_missing_responses, is_offline
        await self._call_script("set_fragment", world, url.partition("#")[2])
        await self._advance_with_frames(world, _STEP_SLICES_S)
        self._is_offline = False
        if self._redirect or self.problem or (self._n_missing_responses != n_before and not is_offline):
            return None
        state = await self._call_script("page_content", world, MAX_DOM_LENGTH)
        return RouteContent(state["text"], frozenset(state["links"]))

    async def _final_snapshot(self) -> Params | None:
        """Terminate the scripts of a page that is too slow, and take a snapshot."""
        self._notify("Emulation.setVirtualTimePolicy", {"policy": "pause"})
        self._notify("Runtime.terminateExecution")
        with contextlib.suppress(TimeoutError, CommandError):
            async with asyncio.timeout(_GRACE_S):
                snapshot = await self._snapshot(await self._world())
                await self._measure()
                return snapshot
        return None

    async def _listens_to_fragment(self) -> bool:
        """Whether the page's window listens to changes of the fragment."""
        window = await self._call("Runtime.evaluate", {"expression": "self"})
        params = {"objectId": window["result"]["objectId"]}
        listeners = (await self._call("DOMDebugger.getEventListeners", params)).get("listeners", ())
        return any(listener["type"] in ("hashchange", "popstate") for listener in listeners)

    async def _screenshot(self) -> bytes:
        params = {"format": "jpeg", "quality": 70, "optimizeForSpeed": True}
        with contextlib.suppress(CommandError):
            return base64.b64decode((await self._call("Page.captureScreenshot", params))["data"])
        return b""

    async def _call_script(self, script: str, world: int, *arguments: Any) -> Any:
        """Call the function of a script file and return its result."""
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

    # -- events and requests ----------------------------------------------------------------------------------------

    def on_event(self, method: str, params: Params) -> None:
        if method == "Emulation.virtualTimeBudgetExpired":
            if self._time_passed is not None and not self._time_passed.done():
                self._time_passed.set_result(None)
        elif method == "Page.frameAttached":
            self._add_frame(params["frameId"], params["parentFrameId"])
        elif method == "Page.frameNavigated":
            self._navigated(params["frame"])
        elif method == "Page.navigatedWithinDocument":
            if params["frameId"] == self.target and params.get("navigationType", "historyApi") == "historyApi":
                if len(self._routes) < _MAX_ROUTES:
                    self._routes[params["url"]] = None
        elif method == "Page.frameStartedNavigating":
            if params["frameId"] == self.target:
                self._navigations.add(_without_fragment(params["url"]))
            else:
                self._own_origin.add_document(params["frameId"], params["url"])
        elif method == "Page.windowOpen":
            self.add_window(params["url"])
        elif method == "Page.javascriptDialogOpening":
            self._dialog()
        elif method in ("Inspector.targetCrashed", "Target.detachedFromTarget"):
            self.stop("crashed")

    def add_window(self, url: str) -> None:
        if url.startswith(("http://", "https://")) and len(self._windows) < _MAX_ROUTES:
            self._windows[url] = None

    def add_worker(self, info: Params) -> None:
        """Add a worker in the context of this page; a shared worker has no parent."""
        self._add_frame(info["targetId"], info.get("parentFrameId", ""))

    def _add_frame(self, frame: str, parent: str) -> None:
        self.frames.add(frame)
        self._own_origin.add(frame, parent)

    def _navigated(self, frame: Params) -> None:
        if frame["id"] != self.target:
            self._own_origin.add_document(frame["id"], frame["url"])
            return
        if "unreachableUrl" in frame:
            self.stop("not loaded")  # the frame shows an error page of the browser
        elif not self._loaded.done():
            self._loaded.set_result(None)
        else:
            self.problem = self.problem or "left"
            self._stop_time()

    def _dialog(self) -> None:
        self._n_dialogs += 1
        self._notify("Page.handleJavaScriptDialog", {"accept": False})
        if self._n_dialogs % _MAX_DIALOGS == 0:
            self._notify("Runtime.terminateExecution")

    def handle_request(self, request: PausedRequest) -> None:
        """Refuse a request of the page, or pass it to the owner."""
        if request.is_document and request.frame == self.target:
            self._main_document(request)
            return
        self._n_page_requests += 1
        with_credentials = self._own_origin.allows(request)
        decision = requests.decision(request, self.job)
        if decision == requests.UNWANTED or self._is_offline:
            self.refuse(request)
        elif decision == requests.REFUSE or self._redirect or self._stopped.done():
            self._n_refused += 1
            # Other kinds of refused requests, such as beacons, do not affect the text.
            self._n_missing_responses += request.kind in ("fetch", "preflight")
            self.refuse(request)
        elif self._n_requests >= self.job.settings.max_requests or self._n_bytes >= self.job.settings.max_bytes:
            self.problem = self.problem or "too many requests"
            self._n_refused += 1
            self._n_missing_responses += 1
            self.refuse(request)
        else:
            self._n_requests += 1
            number = self._next_number()
            self._waiting[number] = request
            url = _without_fragment(request.url)
            browser_request = BrowserRequest(
                self.job.page, number, url, request.kind, with_credentials, request.method, request.cors_headers
            )
            self._on_request(browser_request)

    def fulfill(self, supplied: BrowserResponse) -> None:
        request, response = self._waiting.pop(supplied.number, None), supplied.response
        if request is None:
            return
        if response is None or supplied.refusal:
            self._n_missing_responses += 1
            self._n_refused += 1
            self.refuse(request)
            return
        self._n_bytes += len(response.content)
        fulfilled = self._connection.call("Fetch.fulfillRequest", requests.asset(request, response))
        fulfilled.add_done_callback(lambda result: self._on_fulfilled(request, result))

    def _on_fulfilled(self, request: PausedRequest, result: asyncio.Future[Params]) -> None:
        if not result.cancelled() and isinstance(result.exception(), CommandError):
            self.refuse(request, "Failed")

    def refuse(self, request: PausedRequest, reason: str = "BlockedByClient") -> None:
        self._connection.notify("Fetch.failRequest", {"requestId": request.id, "errorReason": reason})

    def _main_document(self, request: PausedRequest) -> None:
        """Fulfill the first document; any other navigation of the main frame is a redirect."""
        if not self._loaded.done():
            self._connection.notify("Fetch.fulfillRequest", requests.main_document(request, self.job))
            return
        self.refuse(request, "Aborted")  # any other reason would replace the page by an error page
        target = _without_fragment(request.url)
        if request.method != "GET" or target == _without_fragment(self.job.url) or target not in self._navigations:
            self._n_refused += 1  # a form, a reload, a download
        elif not self._redirect:
            self._redirect = request.url
            self._stop_time()

    # -- limits -----------------------------------------------------------------------------------------------------

    def tick(self, passed_s: float) -> None:
        """Check the limits after `passed_s` of real time."""
        if not self._waiting:
            self._wall_s += passed_s
            self._quiet_s += passed_s
        if self._wall_s > self.job.wall_s:
            self.stop("time")
        elif self.cpu_s > self.job.settings.cpu_s:
            self.stop("cpu")
        elif self.session and (self._measured is None or self._measured.done()):
            self._measured = self._call("Performance.getMetrics")
            self._measured.add_done_callback(self._on_metrics)
        if self.cpu_s - self._quiet_cpu_s > _QUIET_CPU_S or self._waiting:
            self._quiet_s, self._quiet_cpu_s = 0.0, self.cpu_s
        elif self._quiet_s > _QUIET_S:
            self._stop_time()

    async def _measure(self) -> None:
        result = self._call("Performance.getMetrics")
        result.add_done_callback(self._on_metrics)
        await result

    def _on_metrics(self, result: asyncio.Future[Params]) -> None:
        if not result.cancelled() and result.exception() is None:
            metrics = {metric["name"]: metric["value"] for metric in result.result()["metrics"]}
            # A sandboxed process cannot measure its own CPU time, only that of its main thread.
            self.cpu_s = max(self.cpu_s, metrics.get("ProcessTime", 0.0), metrics.get("ThreadTime", 0.0))

    # -- shared -----------------------------------------------------------------------------------------------------

    def _call(self, method: str, params: Params | None = None) -> asyncio.Future[Params]:
        return self._connection.call(method, params, self.session)

    def _notify(self, method: str, params: Params | None = None) -> None:
        self._connection.notify(method, params, self.session)

    def _found_links(self, snapshot: Params) -> tuple[str, ...]:
        return (*snapshot.get("links", ()), *self._windows, *self._routes)

    def _rendered(self, snapshot: Params | None, screenshot: bytes = b"") -> RenderedPage:
        snapshot = snapshot or {}
        if snapshot.get("isCut"):
            self.problem = self.problem or "too large"
        has_hash_routes = bool(snapshot.get("listens") and snapshot["routes"])
        url, links = snapshot.get("url") or self.job.url, routed_links(self._found_links(snapshot), (), has_hash_routes)
        return RenderedPage(
            url=url,
            document=str(snapshot.get("dom", "")).encode("utf-8", "replace"),
            links=links,
            redirect=self._redirect,
            n_clickable=int(snapshot.get("nClickable", 0)),
            grows=self._can_grow,
            n_refused=self._n_refused,
            trouble=self.problem,
            only_routes=_has_only_routes(url, links),
            screenshot=screenshot,
            n_requests=self._n_requests,
            cpu_s=self.cpu_s,
        )


def _has_only_routes(url: str, links: Collection[str]) -> bool:
    """Whether a page has links to routes of its application, and none to the page without a fragment."""
    here = _without_fragment(url)
    return here not in links and any(link.startswith(f"{here}#") for link in links)


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]
