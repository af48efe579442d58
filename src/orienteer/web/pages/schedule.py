"""The Schedule page of a crawl of a library, at /schedule: when it is refreshed, and who is told what was found."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from orienteer.errors import InputError, OrienteerError
from orienteer.library.schedule import EVERY, WEEKDAYS, Schedule, due_at, due_in_words
from orienteer.library.schedules import Schedules
from orienteer.web.forms import fields_of, share_in
from orienteer.web.library_state import in_library
from orienteer.web.refusals import REFUSALS, status_of
from orienteer.web.rendering import Entry, render, root_of

ENTRY: Entry | None = None  # one comes here from Manage and from Changes
NEVER = "never"
router = APIRouter()

_CHOICES = {
    NEVER: "Never; only when somebody asks for it",
    "day": "Every day",
    "week": "Every week",
    "pays": "When it pays: when enough has probably changed",
}


class ScheduleNow(BaseModel):
    """The schedule of a crawl, with `every` never where it has none; when it is `due`, in Unix time and in words."""

    every: str = Field(description="never, day, week or pays")
    at: str = Field("03:00", description="With day or week: the time of day where the server is")
    on: str = Field("monday", description="With week: the day")
    threshold: float = Field(0.1, description="With pays: the share of a surfer's time on pages that have changed")
    webhook: str = Field("", description="An address that is told what each refresh has found")
    feed: str = Field("", description="Where the feed of the crawl is found, as the webhook is told")
    due: float | None = None
    line: str = ""


class ScheduleWanted(BaseModel):
    """What is left out has its default."""

    every: str
    at: str = "03:00"
    on: str = "monday"
    threshold: float = 0.1
    webhook: str = ""
    feed: str = ""


@router.get("/schedule", include_in_schema=False)
def schedule_page(request: Request) -> HTMLResponse:
    schedules, name = _of(request)
    found = schedules.get(name) if _is_readable(schedules, name) else None
    return render(request, "schedule.html", **_shown(request, asdict(found or Schedule()), found is not None))


@router.post("/schedule", include_in_schema=False)
async def schedule_by_form(request: Request) -> Response:
    given = await fields_of(request)

    def act() -> Response:
        try:
            _set(request, _wanted(given))
        except OrienteerError as error:
            typed = asdict(Schedule()) | {key: given.get(key, "") for key in ("at", "on", "webhook", "feed")}
            values = _shown(request, typed, given.get("every") != NEVER) | {"notice": str(error)}
            return render(request, "schedule.html", status_of(error), **values | {"every": given.get("every", "")})
        return RedirectResponse(root_of(request) + "/schedule", 303)

    return await run_in_threadpool(act)


@router.get("/api/schedule", responses=REFUSALS, tags=["crawl"], summary="When the crawl is refreshed")
def schedule_api(request: Request) -> ScheduleNow:
    schedules, name = _of(request)
    found = schedules.get(name)
    if found is None:
        return _told(Schedule(), NEVER)
    standing = schedules.standing(name)
    now = _told(found, found.every)
    now.due, now.line = due_at(found, standing), due_in_words(found, standing, time.time())
    return now


@router.post("/api/schedule", responses=REFUSALS, tags=["crawl"], summary="Set when the crawl is refreshed")
def set_schedule_api(request: Request, wanted: ScheduleWanted) -> ScheduleNow:
    """With `every` never the schedule is taken away."""
    _set(request, None if wanted.every == NEVER else Schedule(**wanted.model_dump()))
    return schedule_api(request)


def _told(schedule: Schedule, every: str) -> ScheduleNow:
    known = {key: value for key, value in asdict(schedule).items() if key in ScheduleNow.model_fields}
    return ScheduleNow(**known | {"every": every})


def _of(request: Request) -> tuple[Schedules, str]:
    """The schedules of the library, and what the crawl is called there."""
    return Schedules(in_library(request).library), str(request.app.state.name)


def _wanted(given: dict[str, str]) -> Schedule | None:
    """What a form asks for; None: no schedule."""
    every = given.get("every", "")
    if every == NEVER:
        return None
    if every not in EVERY:
        raise InputError("How often? Choose one of the answers")
    share = share_in(given.get("threshold", ""))
    texts = {name: given[name] for name in ("at", "on", "webhook", "feed") if name in given}
    return Schedule(every, **texts, **({} if share is None else {"threshold": share}))  # type: ignore[arg-type]


def _set(request: Request, wanted: Schedule | None) -> None:
    """Private addresses are for servers that were started to allow them."""
    schedules, name = _of(request)
    if wanted is None:
        schedules.remove(name)
        return
    before = schedules.get(name) if _is_readable(schedules, name) else None
    kept = before or Schedule()
    allow_private = in_library(request).jobs.allow_private
    whole = replace(wanted, least_days=kept.least_days, most_days=kept.most_days, allow_private=allow_private)
    schedules.set(name, whole)


def _is_readable(schedules: Schedules, name: str) -> bool:
    try:
        schedules.get(name)
    except InputError:  # somebody has edited it, and is about to replace it
        return False
    return True


def _shown(request: Request, values: dict[str, Any], is_set: bool) -> dict[str, Any]:
    schedules, name = _of(request)
    when = ""
    try:
        found = schedules.get(name)
        if found is not None:
            when = f"{found.in_words()}; {due_in_words(found, schedules.standing(name), time.time())}"
    except OrienteerError as error:
        when = str(error)
    return {
        "choices": _CHOICES,
        "weekdays": WEEKDAYS,
        "every": values["every"] if is_set else NEVER,
        "schedule": values,
        "percent_changed": f"{100 * values['threshold']:g}",
        "when": when,
        "secret": schedules.secret(name) if values["webhook"] else "",
        "own_feed": f"{request.url.scheme}://{request.url.netloc}{root_of(request)}/feed",
        "notice": "",
    }
