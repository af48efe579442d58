"""The Crawl page at /crawl, and /api/crawl: how a crawl stands, live; stop it, and go on with it.

The page shows how it stands without scripts. With them, it hears by server-sent events that something has changed, and
asks for the parts that show it (/crawl/now).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter
from starlette.concurrency import run_in_threadpool

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.frontier_top import WaitingPage
from orienteer.store.course import CoursePoint
from orienteer.web.band_chart import band_chart
from orienteer.web.coverage_bands import coverage_bands
from orienteer.web.crawl_watch import CrawlNow, CrawlWatch, FrontierNow
from orienteer.web.forms import count_in, fields_of, share_in
from orienteer.web.refusals import REFUSALS, status_of
from orienteer.web.rendering import Entry, render, root_of, served_crawl
from orienteer.web.whole_course import whole_course
from orienteer.wording import counted

ENTRY = Entry("/crawl", "Status")
router = APIRouter()

_EVERY_S = 1.0
_HEARTBEAT_S = 15.0
_LOOK_S = 0.1  # how often an answer without an end sees whether the server is to end
_as_json = TypeAdapter(CrawlNow).dump_json

Epoch = Annotated[int | None, Query(ge=0, description="0 is the first crawl; the present epoch if left out")]


class CrawlAnswer(BaseModel):
    """How the crawl stands, and how it went: the points of all its epochs."""

    now: CrawlNow
    course: list[CoursePoint]


class GoOn(BaseModel):
    """Another goal to resume with; the same if left out."""

    until: float | None = Field(
        None, gt=0, le=1, description="A coverage to reach, such as 0.98; 1: fetch everything that can be fetched"
    )
    budget: int | None = Field(None, ge=1, description="Pages to fetch, those before included")


class Asked(BaseModel):
    """The process that was asked to end, or was started, and what is in its way, if anything is."""

    process: int
    trouble: str | None = None


# -- for people ------------------------------------------------------------------------------------------------------


@router.get("/crawl", include_in_schema=False)
def crawl_page(request: Request, epoch: Epoch = None) -> HTMLResponse:
    return render(request, "crawl.html", **_shown(_watch(request), epoch))


@router.get("/crawl/now", include_in_schema=False)
def parts_of_page(request: Request, epoch: Epoch = None) -> HTMLResponse:
    """What changes while a crawl runs."""
    return render(request, "_parts/crawl_now.html", **_shown(_watch(request), epoch))


@router.post("/crawl/stop", include_in_schema=False)
def stop_by_form(request: Request) -> Response:
    return _done(request, _watch(request).stop)


@router.post("/crawl/resume", include_in_schema=False)
async def resume_by_form(request: Request) -> Response:
    given = await fields_of(request)

    def resume() -> int:
        return _watch(request).resume(share_in(given.get("until", "")), count_in(given.get("budget", "")))

    return await run_in_threadpool(_done, request, resume)


# -- for machines ----------------------------------------------------------------------------------------------------


@router.get("/api/crawl", responses=REFUSALS, tags=["crawl"], summary="How the crawl stands, and how it went")
def crawl_api(request: Request) -> CrawlAnswer:
    watch = _watch(request)
    return CrawlAnswer(now=watch.now(), course=watch.course())


@router.get("/api/crawl/frontier", responses=REFUSALS, tags=["crawl"], summary="The pages that come next, and why")
def frontier_api(request: Request) -> FrontierNow:
    """Politeness delays are ignored."""
    return _watch(request).frontier()


@router.get(
    "/api/crawl/events",
    tags=["crawl"],
    summary="How the crawl stands, whenever that changes",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events `crawl`, each with its `now`"}},
)
async def events_api(request: Request) -> StreamingResponse:
    """Server-sent events, one a second at most, and a comment now and then where nothing changes."""
    headers = {"X-Accel-Buffering": "no"}  # a proxy in between must not gather them
    return StreamingResponse(_events(request), media_type="text/event-stream", headers=headers)


@router.post("/api/crawl/stop", responses=REFUSALS, tags=["crawl"], summary="Ask the running crawl to end")
def stop_api(request: Request) -> Asked:
    """It finishes the requests in flight, as with Ctrl-C."""
    return Asked(process=_watch(request).stop())


@router.post("/api/crawl/resume", responses=REFUSALS, tags=["crawl"], summary="Resume the crawl")
def resume_api(request: Request, goal: GoOn | None = None) -> Asked:
    """Starts `orienteer crawl DIR`, which runs on when this server has ended."""
    watch = _watch(request)
    wanted = goal or GoOn(until=None, budget=None)
    process = watch.resume(wanted.until, wanted.budget)
    return Asked(process=process, trouble=watch.now().trouble)


async def _events(request: Request) -> AsyncIterator[bytes]:
    watch, ending = _watch(request), served_crawl(request).ending
    said, next_beat = b"", time.monotonic() + _HEARTBEAT_S
    while not ending.is_set():
        try:
            now = _as_json(await run_in_threadpool(watch.now))
        except CrawlFolderError as error:  # it may be there again
            now = _as_json_line(str(error))
        if now != said:
            said, next_beat = now, time.monotonic() + _HEARTBEAT_S
            yield b"event: crawl\ndata: " + now + b"\n\n"
        elif time.monotonic() >= next_beat:
            next_beat = time.monotonic() + _HEARTBEAT_S
            yield b": still here\n\n"
        until = time.monotonic() + _EVERY_S
        while time.monotonic() < until and not ending.is_set():
            await asyncio.sleep(_LOOK_S)


def _as_json_line(error: str) -> bytes:
    return TypeAdapter(dict[str, str]).dump_json({"error": error})


# -- what the templates need -----------------------------------------------------------------------------------------


def _watch(request: Request) -> CrawlWatch:
    watch = request.app.state.watch
    assert isinstance(watch, CrawlWatch)
    return watch


def _shown(watch: CrawlWatch, epoch: int | None) -> dict[str, Any]:
    now, course, frontier = watch.now(), watch.course(), watch.frontier()
    epochs = sorted({point.epoch for point in course})
    shown = _epoch_shown(now, epochs, epoch)
    if shown is None:
        proved = now.library_lower or 0.0, now.library_upper or 1.0, now.library_blocked or 0.0
        drawn = whole_course(course, *proved)
    else:
        drawn = [point for point in course if point.epoch == shown]
    is_present = shown == now.epoch
    return {
        "now": now,
        "notice": "",
        "epochs": epochs,
        "epoch_shown": shown,
        "bands": coverage_bands(now),
        "chart": band_chart(drawn, now.until if is_present else None, now.budget if is_present else None),
        "frontier": frontier,
        "whys": [] if frontier.top is None else [why_waiting(page) for page in frontier.top.pages],
        "largest_priority": _largest(frontier),
    }


def _epoch_shown(now: CrawlNow, epochs: list[int], wanted: int | None) -> int | None:
    """The epoch whose course is drawn; None: the crawl as a whole, once it has ended."""
    if wanted in epochs:
        return wanted
    return None if now.shows_library and len(epochs) > 1 else max(epochs, default=0)


def why_waiting(page: WaitingPage) -> str:
    """Why a page is in the frontier, without its strongest source."""
    reasons = [
        "a seed" if page.is_seed else "",
        "due to be refreshed" if page.is_due else "",
        f"needed by walk {page.walk:,} of the survey" if page.walk is not None else "",
        f"{counted(page.n_sources, 'page links', 'pages link')} to it" if page.n_sources else "",
    ]
    told = [reason for reason in reasons if reason] or ["named by a sitemap, no link seen"]
    return ", ".join([*told, f"{counted(page.depth, 'link')} from a seed"] if page.depth else told)


def _largest(frontier: FrontierNow) -> float:
    """The priority that the others are drawn against; 0 where they are no amounts."""
    values = [page.priority for page in frontier.top.pages if page.priority is not None] if frontier.top else []
    return max(values) if values and min(values) >= 0 else 0.0


def _done(request: Request, act: Any) -> Response:
    """Do what a form asks for, and go back to the page; or show the page with what is in the way."""
    try:
        act()
    except OrienteerError as error:
        values = _shown(_watch(request), None) | {"notice": str(error)}
        return render(request, "crawl.html", status_of(error), **values)
    return RedirectResponse(root_of(request) + "/crawl", 303)
