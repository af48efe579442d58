"""The Manage page of a crawl in a library, at /manage: actions on the crawl, and its jobs."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from orienteer.errors import InputError, OrienteerError
from orienteer.web.error_responses import status_of
from orienteer.web.forms import count_in, fields_of, share_in
from orienteer.web.pages.jobs import exported
from orienteer.web.rendering import NavEntry, path_of_crawl, render, root_of
from orienteer.web.served_library import served_library

ENTRY = NavEntry("/manage", "Manage")
_N_JOBS = 20
router = APIRouter()


class ExportFormat(NamedTuple):
    """A format of exports: its name, and its label."""

    name: str
    about: str


FORMATS = (
    ExportFormat("jsonl", "JSON Lines: a line for each page, with its text"),
    ExportFormat("markdown", "Markdown: a file for each page (ZIP)"),
    ExportFormat("chunks", "Chunks: passages for retrieval, as JSON Lines"),
    ExportFormat("parquet", "Parquet: pages and links as tables"),
    ExportFormat("wacz", "WACZ: the archive, for replay tools"),
    ExportFormat("warc", "WARC: the archive, for other crawlers"),
    ExportFormat("graphml", "GraphML: the links, with ranks"),
    ExportFormat("edges", "CSV: the links, with ranks"),
    ExportFormat("sitemap", "Sitemap: the addresses"),
)


@router.get("/manage", include_in_schema=False)
def manage_page(request: Request) -> HTMLResponse:
    return render(request, "manage.html", **_template_values(request))


@router.get("/manage/now", include_in_schema=False)
def page_fragment(request: Request) -> HTMLResponse:
    """Return the fragment that changes while jobs run."""
    return render(request, "_fragments/manage_now.html", **_template_values(request))


@router.get("/manage/delete", include_in_schema=False)
def delete_page(request: Request) -> HTMLResponse:
    """Return the page that asks to confirm the deletion."""
    return render(request, "delete.html", card=served_library(request).library.card(_name(request)))


@router.post("/manage/start/{kind}", include_in_schema=False)
async def start_by_form(request: Request, kind: str) -> Response:
    given = await fields_of(request)

    def start() -> str:
        served_library(request).jobs.start(kind, _name(request), _options(kind, given))
        return root_of(request) + ("/crawl" if kind in ("crawl", "refresh") else "/manage")

    return await run_in_threadpool(_done, request, start)


@router.post("/manage/rename", include_in_schema=False)
async def rename_by_form(request: Request) -> Response:
    new = (await fields_of(request)).get("new", "")

    def rename() -> str:
        served_library(request).rename(_name(request), new)
        return path_of_crawl(new) + "/manage"

    return await run_in_threadpool(_done, request, rename, new)


@router.post("/manage/delete", include_in_schema=False)
def delete_by_form(request: Request) -> Response:
    def delete() -> str:
        served_library(request).delete(_name(request))
        return "/"

    return _done(request, delete)


def _name(request: Request) -> str:
    """Return the name of the crawl in its library."""
    return str(request.app.state.name)


def _options(kind: str, given: dict[str, str]) -> dict[str, str | int | float | bool]:
    """Return the options of a job from the fields of a form."""
    options: dict[str, str | int | float | bool | None] = {}
    if kind in ("crawl", "refresh"):
        options = {"until": share_in(given.get("until", "")), "budget": count_in(given.get("budget", ""))}
    elif kind == "estimate":
        options = {"budget": count_in(given.get("budget", ""))}
    elif kind == "export":
        if not given.get("format"):
            raise InputError("Which format?")
        options = {"format": given["format"]}
    if kind == "crawl":
        options["index"] = True
    return {name: value for name, value in options.items() if value is not None}


def _done(request: Request, act: Any, new: str = "") -> Response:
    """Run the action of a form and redirect to the page that it returns, or render this page with the error."""
    try:
        target = act()
    except OrienteerError as error:
        values = _template_values(request) | {"notice": str(error), "new": new}
        return render(request, "manage.html", status_of(error), **values)
    return RedirectResponse(target, 303)


def _template_values(request: Request) -> dict[str, Any]:
    served, name = served_library(request), _name(request)
    jobs = served.jobs.of(name)
    return {
        "card": served.library.card(name),
        "alive": [job for job in jobs if job.is_alive],
        "ended": [job for job in jobs if not job.is_alive][:_N_JOBS],
        "with_file": {job.id for job in jobs if job.result is not None and exported(served.jobs, job)},
        "names": {name},
        "formats": FORMATS,
        "folder": str(served.library.path / name),
        "notice": "",
        "new": "",
    }
