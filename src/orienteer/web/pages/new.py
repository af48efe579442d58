"""The page of a new crawl at /new: a URL, what scope, goal and pace mean, what will happen; and then it starts.

What starts is what was seen: where something was changed after the preview, the preview comes again first.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from orienteer.errors import OrienteerError
from orienteer.web.forms import fields_of
from orienteer.web.library_state import in_library
from orienteer.web.new_crawl import SCOPES, preview, seen, typed_in, understood
from orienteer.web.refusals import status_of
from orienteer.web.rendering import Entry, path_of_crawl, render, wants_part

ENTRY = Entry("/new", "New crawl")
router = APIRouter()


@router.get("/new", include_in_schema=False)
def new_page(request: Request) -> HTMLResponse:
    """The form, and beside it what will happen with what is typed there."""
    given = {name: value.strip() for name, value in request.query_params.items()}
    values = _shown(request, typed_in(given))
    if not given.get("url") and not wants_part(request):
        values["trouble"] = ""  # nobody has typed anything yet
    return render(request, "_parts/preview.html" if wants_part(request) else "new.html", **values)


@router.post("/new", include_in_schema=False)
async def start_by_form(request: Request) -> Response:
    given = await fields_of(request)
    return await run_in_threadpool(_started, request, given)


def _started(request: Request, given: dict[str, str]) -> Response:
    typed = typed_in(given)
    if given.get("seen") != seen(typed):
        values = _shown(request, typed)
        values["notice"] = "" if values["trouble"] else "This is what will happen now. Start it if it is what you want."
        return render(request, "new.html", 400 if values["trouble"] else 200, **values)
    here = in_library(request)
    try:
        new = understood(typed, here.jobs)
        here.jobs.start("crawl", new.name, new.options)
    except OrienteerError as error:
        return render(request, "new.html", status_of(error), **_shown(request, typed) | {"trouble": str(error)})
    return RedirectResponse(path_of_crawl(new.name) + "/crawl", 303)


def _shown(request: Request, typed: dict[str, str]) -> dict[str, Any]:
    """What the form and the preview need."""
    here = in_library(request)
    values = {
        "typed": typed,
        "scopes": SCOPES,
        "seen": seen(typed),
        "trouble": "",
        "notice": "",
        "said": [],
        "name": "",
    }
    try:
        new = understood(typed, here.jobs)
    except OrienteerError as error:
        return values | {"trouble": str(error)}
    return values | {"said": preview(new, here.jobs), "name": new.name}
