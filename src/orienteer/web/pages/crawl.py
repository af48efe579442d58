"""The Status page at /crawl, and /api/crawl: the live state of a crawl; stop and resume it.

The page works without scripts. With them, server-sent events announce changes, and the page then requests the changed
fragment (/crawl/now).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.frontier_top import WaitingPage
from orienteer.live.control import resume_refusal
from orienteer.store.progress_points import ProgressPoint
from orienteer.web.coverage_charts import band_chart, coverage_bands, whole_progress
from orienteer.web.crawl_watch import STATUS, CrawlWatch, FrontierNow
from orienteer.web.error_responses import status_of
from orienteer.web.forms import count_in, fields_of, share_in
from orienteer.web.rendering import NavEntry, render, root_of
from orienteer.web.served_crawl import served_crawl
from orienteer.wording import counted

ENTRY = NavEntry("/crawl", "Status")
router = APIRouter()

_EVERY_S = 1.0
_HEARTBEAT_S = 15.0
_LOOK_S = 0.1  # how often a streaming response checks whether the server shuts down

Epoch = Annotated[int | None, Query(ge=0, description="0 is the first crawl; the present epoch if left out")]


class CrawlResponse(BaseModel):
    """The present state of the crawl, and its progress over all epochs."""

    status: Annotated[dict[str, Any], STATUS]
    problem: Annotated[str | None, Field(description="The error of the last run that this server started")]
    resume_refusal: Annotated[str | None, Field(description="Why resuming with the present goal would do nothing")]
    progress: list[ProgressPoint]


class NewGoal(BaseModel):
    """Another goal to resume with; unchanged if left out."""

    until: float | None = Field(
        None, gt=0, le=1, description="A coverage to reach, such as 0.98; 1: fetch everything that can be fetched"
    )
    budget: int | None = Field(None, ge=1, description="Pages to fetch, including those fetched before")


class ProcessAction(BaseModel):
    """The process that was asked to stop or was started, and its error, if any."""

    process: int
    problem: str | None = None


# -- pages -----------------------------------------------------------------------------------------------------------


@router.get("/crawl", include_in_schema=False)
def crawl_page(request: Request, epoch: Epoch = None) -> HTMLResponse:
    return render(request, "crawl.html", **_template_values(served_crawl(request).watch, epoch))


@router.get("/crawl/now", include_in_schema=False)
def page_fragment(request: Request, epoch: Epoch = None) -> HTMLResponse:
    """Return the fragment that changes while a crawl runs."""
    return render(request, "_fragments/crawl_now.html", **_template_values(served_crawl(request).watch, epoch))


@router.post("/crawl/stop", include_in_schema=False)
def stop_by_form(request: Request) -> Response:
    return _done(request, served_crawl(request).watch.stop)


@router.post("/crawl/resume", include_in_schema=False)
async def resume_by_form(request: Request) -> Response:
    given = await fields_of(request)

    def resume() -> int:
        return served_crawl(request).watch.resume(share_in(given.get("until", "")), count_in(given.get("budget", "")))

    return await run_in_threadpool(_done, request, resume)


# -- API -------------------------------------------------------------------------------------------------------------


@router.get("/api/crawl", tags=["crawl"], summary="The state and the progress of the crawl")
def crawl_api(request: Request) -> CrawlResponse:
    watch = served_crawl(request).watch
    return CrawlResponse(**_state_of(watch), progress=watch.progress())


@router.get("/api/crawl/frontier", tags=["crawl"], summary="The next pages, and why")
def frontier_api(request: Request) -> FrontierNow:
    """The pages of the highest priorities, without regard to politeness delays."""
    return served_crawl(request).watch.frontier()


@router.get(
    "/api/crawl/events",
    tags=["crawl"],
    summary="The state of the crawl, whenever it changes",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {}},
            "description": "Events `crawl`: the same without the progress",
        }
    },
)
async def events_api(request: Request) -> StreamingResponse:
    """Server-sent events, at most one a second, with comments as heartbeats."""
    headers = {"X-Accel-Buffering": "no"}  # a reverse proxy must not buffer them
    return StreamingResponse(_events(request), media_type="text/event-stream", headers=headers)


@router.post("/api/crawl/stop", tags=["crawl"], summary="Ask the running crawl to stop")
def stop_api(request: Request) -> ProcessAction:
    """It finishes the requests in flight, as with Ctrl-C."""
    return ProcessAction(process=served_crawl(request).watch.stop())


@router.post("/api/crawl/resume", tags=["crawl"], summary="Resume the crawl")
def resume_api(request: Request, goal: NewGoal | None = None) -> ProcessAction:
    """Starts `orienteer crawl DIR`, which outlives this server."""
    watch = served_crawl(request).watch
    new = goal or NewGoal(until=None, budget=None)
    process = watch.resume(new.until, new.budget)
    return ProcessAction(process=process, problem=watch.problem())


async def _events(request: Request) -> AsyncIterator[bytes]:
    watch, ending = served_crawl(request).watch, served_crawl(request).ending
    sent, next_beat = "", time.monotonic() + _HEARTBEAT_S
    while not ending.is_set():
        try:
            state = await run_in_threadpool(_state_of, watch)
        except CrawlFolderError as error:  # perhaps only for now
            state = {"error": str(error)}
        data = json.dumps(state)
        if data != sent:
            sent, next_beat = data, time.monotonic() + _HEARTBEAT_S
            yield f"event: crawl\ndata: {data}\n\n".encode()
        elif time.monotonic() >= next_beat:
            next_beat = time.monotonic() + _HEARTBEAT_S
            yield b": still here\n\n"
        until = time.monotonic() + _EVERY_S
        while time.monotonic() < until and not ending.is_set():
            await asyncio.sleep(_LOOK_S)


def _state_of(watch: CrawlWatch) -> dict[str, Any]:
    status = watch.status()
    refusal = None if status.is_running else resume_refusal(status)
    return {"status": status.as_dict(), "problem": watch.problem(), "resume_refusal": refusal}


# -- values of templates ---------------------------------------------------------------------------------------------


def _template_values(watch: CrawlWatch, epoch: int | None) -> dict[str, Any]:
    status, progress, frontier = watch.status(), watch.progress(), watch.frontier()
    epochs = sorted({point.epoch for point in progress})
    selected = _selected_epoch(status, epochs, epoch)
    if selected is None:
        drawn = whole_progress(progress, status.proved)
    else:
        drawn = [point for point in progress if point.epoch == selected]
    goal, is_present = status.plan.crawl, selected == status.epoch_number
    return {
        "crawl": status,
        "figures": status.figures,
        "texts": status.texts,
        "goal": goal,
        "lost": status.certificate if status.is_running else status.proved,
        "problem": watch.problem(),
        "resume_refusal": None if status.is_running else resume_refusal(status),
        "notice": "",
        "epochs": epochs,
        "selected_epoch": selected,
        "bands": coverage_bands(status),
        "chart": band_chart(drawn, goal.until if is_present else None, goal.budget if is_present else None),
        "frontier": frontier,
        "whys": [] if frontier.top is None else [why_waiting(page) for page in frontier.top.pages],
        "largest_priority": _largest(frontier),
    }


def _selected_epoch(status: CrawlStatus, epochs: list[int], requested: int | None) -> int | None:
    """Return the epoch whose progress is drawn; None for all epochs of a crawl that has ended."""
    if requested in epochs:
        return requested
    return None if status.shows_all_epochs and len(epochs) > 1 else max(epochs, default=0)


def why_waiting(page: WaitingPage) -> str:
    """Describe why a page is in the frontier, except for its strongest source."""
    reasons = [
        "a seed" if page.is_seed else "",
        "due to be refreshed" if page.is_due else "",
        f"needed by walk {page.walk:,} of the survey" if page.walk is not None else "",
        f"{counted(page.n_sources, 'page links', 'pages link')} to it" if page.n_sources else "",
    ]
    texts = [reason for reason in reasons if reason] or ["listed in a sitemap, no link seen"]
    return ", ".join([*texts, f"{counted(page.depth, 'link')} from a seed"] if page.depth else texts)


def _largest(frontier: FrontierNow) -> float:
    """Return the largest priority, the full width of the bars; 0 if priorities cannot be drawn as bars."""
    values = [page.priority for page in frontier.top.pages if page.priority is not None] if frontier.top else []
    return max(values) if values and min(values) >= 0 else 0.0


def _done(request: Request, act: Any) -> Response:
    """Run the action of a form and redirect to the page, or render the page with the error."""
    try:
        act()
    except OrienteerError as error:
        values = _template_values(served_crawl(request).watch, None) | {"notice": str(error)}
        return render(request, "crawl.html", status_of(error), **values)
    return RedirectResponse(root_of(request) + "/crawl", 303)
