"""The page for a new crawl at /new: a form with URL, scope, goal and pace, and a preview of the crawl.

A crawl starts only as previewed: if the form was changed after the preview, a new preview comes first.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from orienteer.errors import OrienteerError
from orienteer.web.error_responses import status_of
from orienteer.web.forms import fields_of
from orienteer.web.library_state import in_library
from orienteer.web.new_crawl import MORE, SCOPES, form_hash, form_values, parse_form, preview
from orienteer.web.rendering import NavEntry, is_fragment_request, path_of_crawl, render

ENTRY = NavEntry("/new", "New crawl")
router = APIRouter()


@router.get("/new", include_in_schema=False)
def new_page(request: Request) -> HTMLResponse:
    """Return the form, and the preview of the crawl."""
    given = {name: value.strip() for name, value in request.query_params.items()}
    values = _template_values(request, form_values(given))
    if not given.get("url") and not is_fragment_request(request):
        values["problem"] = ""  # the user has not typed anything yet
    return render(request, "_fragments/preview.html" if is_fragment_request(request) else "new.html", **values)


@router.post("/new", include_in_schema=False)
async def start_by_form(request: Request) -> Response:
    given = await fields_of(request)
    return await run_in_threadpool(_start, request, given)


def _start(request: Request, given: dict[str, str]) -> Response:
    typed = form_values(given)
    if given.get("previewed") != form_hash(typed):
        values = _template_values(request, typed)
        values["notice"] = "" if values["problem"] else "The preview has changed. Start the crawl if it is right."
        return render(request, "new.html", 400 if values["problem"] else 200, **values)
    state = in_library(request)
    try:
        new = parse_form(typed, state.jobs)
        state.jobs.start("crawl", new.name, new.options)
    except OrienteerError as error:
        return render(
            request, "new.html", status_of(error), **_template_values(request, typed) | {"problem": str(error)}
        )
    return RedirectResponse(path_of_crawl(new.name) + "/crawl", 303)


def _template_values(request: Request, typed: dict[str, str]) -> dict[str, Any]:
    """Return the template's values for the form and the preview."""
    state = in_library(request)
    values = {
        "typed": typed,
        "scopes": SCOPES,
        "further": MORE,
        "has_further": any(typed[name] for name in MORE),
        "previewed": form_hash(typed),
        "problem": "",
        "notice": "",
        "lines": [],
        "name": "",
    }
    try:
        new = parse_form(typed, state.jobs)
    except OrienteerError as error:
        return values | {"problem": str(error)}
    return values | {"lines": preview(new, state.jobs), "name": new.name}
