"""The Manage page of a crawl of a library, at /manage: all that can be done to it, each a button; and its jobs."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from orienteer.errors import InputError, OrienteerError
from orienteer.web.downloads import exported
from orienteer.web.forms import count_in, fields_of, share_in
from orienteer.web.library_state import in_library
from orienteer.web.refusals import status_of
from orienteer.web.rendering import Entry, path_of_crawl, render, root_of

ENTRY = Entry("/manage", "Manage")
_N_JOBS = 20
router = APIRouter()


class Format(NamedTuple):
    """A format of exports: its name, and what it is good for."""

    name: str
    about: str


FORMATS = (
    Format("jsonl", "JSON Lines: a line for each page, with its text"),
    Format("markdown", "Markdown: a file for each page (ZIP)"),
    Format("chunks", "Chunks: passages for retrieval, as JSON Lines"),
    Format("parquet", "Parquet: pages and links as tables"),
    Format("wacz", "WACZ: the archive, for replay tools"),
    Format("warc", "WARC: the archive, for other crawlers"),
    Format("graphml", "GraphML: the links, with ranks"),
    Format("edges", "CSV: the links, with ranks"),
    Format("sitemap", "Sitemap: the addresses"),
)


@router.get("/manage", include_in_schema=False)
def manage_page(request: Request) -> HTMLResponse:
    return render(request, "manage.html", **_shown(request))


@router.get("/manage/now", include_in_schema=False)
def part_of_page(request: Request) -> HTMLResponse:
    """What changes while jobs run."""
    return render(request, "_parts/manage_now.html", **_shown(request))


@router.get("/manage/delete", include_in_schema=False)
def delete_page(request: Request) -> HTMLResponse:
    """What would be gone."""
    return render(request, "delete.html", card=in_library(request).library.card(_name(request)))


@router.post("/manage/start/{kind}", include_in_schema=False)
async def start_by_form(request: Request, kind: str) -> Response:
    given = await fields_of(request)

    def start() -> str:
        in_library(request).jobs.start(kind, _name(request), _options(kind, given))
        return root_of(request) + ("/crawl" if kind in ("crawl", "refresh") else "/manage")

    return await run_in_threadpool(_done, request, start)


@router.post("/manage/rename", include_in_schema=False)
async def rename_by_form(request: Request) -> Response:
    new = (await fields_of(request)).get("new", "")

    def rename() -> str:
        in_library(request).rename(_name(request), new)
        return path_of_crawl(new) + "/manage"

    return await run_in_threadpool(_done, request, rename, new)


@router.post("/manage/delete", include_in_schema=False)
def delete_by_form(request: Request) -> Response:
    def delete() -> str:
        in_library(request).delete(_name(request))
        return "/"

    return _done(request, delete)


def _name(request: Request) -> str:
    """What the crawl is called in its library."""
    return str(request.app.state.name)


def _options(kind: str, given: dict[str, str]) -> dict[str, str | int | float | bool]:
    """What a form asks for, as the job takes it."""
    found: dict[str, str | int | float | bool | None] = {}
    if kind in ("crawl", "refresh"):
        found = {"until": share_in(given.get("until", "")), "budget": count_in(given.get("budget", ""))}
    elif kind == "estimate":
        found = {"budget": count_in(given.get("budget", ""))}
    elif kind == "export":
        if not given.get("format"):
            raise InputError("Which format?")
        found = {"format": given["format"]}
    if kind == "crawl":
        found["index"] = True
    return {name: value for name, value in found.items() if value is not None}


def _done(request: Request, act: Any, new: str = "") -> Response:
    """Do what a form asks for, and go where it shows; or show the page with what is in the way."""
    try:
        there = act()
    except OrienteerError as error:
        values = _shown(request) | {"notice": str(error), "new": new}
        return render(request, "manage.html", status_of(error), **values)
    return RedirectResponse(there, 303)


def _shown(request: Request) -> dict[str, Any]:
    here, name = in_library(request), _name(request)
    jobs = here.jobs.of(name)
    return {
        "card": here.library.card(name),
        "alive": [job for job in jobs if job.is_alive],
        "over": [job for job in jobs if not job.is_alive][:_N_JOBS],
        "with_file": {job.id for job in jobs if job.result is not None and exported(here.jobs, job)},
        "names": {name},
        "formats": FORMATS,
        "folder": str(here.library.path / name),
        "notice": "",
        "new": "",
    }
