"""The Schedule page of a crawl in a library, at /schedule: when it is refreshed, and the webhook for the results."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from orienteer.errors import InputError, OrienteerError
from orienteer.library.schedule import EVERY, WEEKDAYS, Schedule, describe_due, due_at
from orienteer.library.schedules import Schedules
from orienteer.web.error_responses import status_of
from orienteer.web.forms import fields_of, share_in
from orienteer.web.rendering import NavEntry, render, root_of
from orienteer.web.served_library import served_library

ENTRY: NavEntry | None = None  # Manage and Changes link here
NEVER = "never"
router = APIRouter()

_CHOICES = {
    NEVER: "Never; only by hand",
    "day": "Every day",
    "week": "Every week",
    "pays": "When enough has probably changed",
}


class NewSchedule(BaseModel):
    """A schedule to set; values that are left out have their defaults."""

    every: str = Field(description="never, day, week or pays")
    at: str = Field("03:00", description="With day or week: the time of day where the server is")
    on: str = Field("monday", description="With week: the day")
    threshold: float = Field(0.1, description="With pays: the share of a surfer's time on pages that have changed")
    webhook: str = Field("", description="The URL that the results of each refresh are posted to")
    feed: str = Field("", description="The URL of the feed of the crawl, for the webhook")


class ScheduleNow(NewSchedule):
    """The schedule of a crawl; `every` is never if it has none. `due` is the Unix time of the next refresh, `line`
    describes it."""

    due: float | None = None
    line: str = ""


@router.get("/schedule", include_in_schema=False)
def schedule_page(request: Request) -> HTMLResponse:
    schedules, name = _of(request)
    schedule = schedules.get(name) if _is_readable(schedules, name) else None
    return render(
        request, "schedule.html", **_template_values(request, asdict(schedule or Schedule()), schedule is not None)
    )


@router.post("/schedule", include_in_schema=False)
async def schedule_by_form(request: Request) -> Response:
    given = await fields_of(request)

    def act() -> Response:
        try:
            _set(request, _schedule_in(given))
        except OrienteerError as error:
            typed = asdict(Schedule()) | {key: given.get(key, "") for key in ("at", "on", "webhook", "feed")}
            values = _template_values(request, typed, given.get("every") != NEVER) | {"notice": str(error)}
            return render(request, "schedule.html", status_of(error), **values | {"every": given.get("every", "")})
        return RedirectResponse(root_of(request) + "/schedule", 303)

    return await run_in_threadpool(act)


@router.get("/api/schedule", tags=["crawl"], summary="When the crawl is refreshed")
def schedule_api(request: Request) -> ScheduleNow:
    schedules, name = _of(request)
    schedule = schedules.get(name)
    if schedule is None:
        return _schedule_now(Schedule(), NEVER)
    state = schedules.state(name).at(time.time())
    now = _schedule_now(schedule, schedule.every)
    now.due, now.line = due_at(schedule, state), describe_due(schedule, state, time.time())
    return now


@router.post("/api/schedule", tags=["crawl"], summary="Set when the crawl is refreshed")
def set_schedule_api(request: Request, new: NewSchedule) -> ScheduleNow:
    """If `every` is never, the schedule is removed."""
    _set(request, None if new.every == NEVER else Schedule(**new.model_dump()))
    return schedule_api(request)


def _schedule_now(schedule: Schedule, every: str) -> ScheduleNow:
    known = {key: value for key, value in asdict(schedule).items() if key in ScheduleNow.model_fields}
    return ScheduleNow(**known | {"every": every})


def _of(request: Request) -> tuple[Schedules, str]:
    """Return the schedules of the library, and the name of the crawl in it."""
    return Schedules(served_library(request).library), str(request.app.state.name)


def _schedule_in(given: dict[str, str]) -> Schedule | None:
    """Parse the fields of a form; None: no schedule."""
    every = given.get("every", "")
    if every == NEVER:
        return None
    if every not in EVERY:
        raise InputError("How often? Choose one of the options")
    share = share_in(given.get("threshold", ""))
    texts = {name: given[name] for name in ("at", "on", "webhook", "feed") if name in given}
    return Schedule(every, **texts, **({} if share is None else {"threshold": share}))  # type: ignore[arg-type]


def _set(request: Request, new: Schedule | None) -> None:
    """Store a schedule. A webhook at a private address needs a server with --allow-private."""
    schedules, name = _of(request)
    if new is None:
        schedules.remove(name)
        return
    before = schedules.get(name) if _is_readable(schedules, name) else None
    old = before or Schedule()
    allow_private = served_library(request).jobs.allow_private
    merged = replace(new, least_days=old.least_days, most_days=old.most_days, allow_private=allow_private)
    schedules.set(name, merged)


def _is_readable(schedules: Schedules, name: str) -> bool:
    try:
        schedules.get(name)
    except InputError:  # its file was edited by hand; the form can replace it
        return False
    return True


def _template_values(request: Request, values: dict[str, Any], is_set: bool) -> dict[str, Any]:
    schedules, name = _of(request)
    when = ""
    try:
        schedule = schedules.get(name)
        if schedule is not None:
            when = f"{schedule.describe()}; {describe_due(schedule, schedules.state(name), time.time())}"
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
