"""The Jobs page at /jobs, and /api/jobs: jobs and their output; stop them, or download what they exported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field, JsonValue

from orienteer.errors import InputError
from orienteer.library.commands import settings_of_new_crawl
from orienteer.library.jobs import Job
from orienteer.web.downloads import download, exported
from orienteer.web.forms import fields_of
from orienteer.web.library_state import in_library
from orienteer.web.rendering import NavEntry, path_of_crawl, render

ENTRY = NavEntry("/jobs", "Jobs")
_N_LISTED = 100
_OPTIONS: dict[str, JsonValue] = {
    name: {"description": f"{one.about.help} ({one.kind})"} for name, one in settings_of_new_crawl().items()
}
router = APIRouter()


@dataclass(frozen=True)
class JobResponse(Job):
    """A command on a crawl. `state` is starting, running, stopping, done, failed, stopped or killed; `line` is the last
    line that it printed, `share` the share of its work that is done, `file` the path of its export on this server."""

    file: str | None


class JobsResponse(BaseModel):
    jobs: list[JobResponse]


class NewJob(BaseModel):
    """A job to start. A crawl with the option `url` is a new one, and needs no name."""

    kind: Annotated[str, Field(description="crawl, refresh, index, estimate or export")]
    crawl: Annotated[str | None, Field(max_length=200, description="The name of the crawl")] = None
    options: Annotated[
        dict[str, str | int | float | bool],
        Field(
            max_length=20,
            description="Such as url, scope, until, budget, delay of a crawl; format of an export",
            json_schema_extra={"properties": _OPTIONS},
        ),
    ] = {}


@router.get("/jobs", include_in_schema=False)
def jobs_page(request: Request) -> HTMLResponse:
    return render(request, "jobs.html", **_template_values(request))


@router.get("/jobs/now", include_in_schema=False)
def page_fragment(request: Request) -> HTMLResponse:
    """Return the fragment that changes while jobs run."""
    return render(request, "_fragments/jobs_now.html", **_template_values(request))


@router.get("/jobs/{id}", include_in_schema=False)
def job_page(request: Request, id: str) -> HTMLResponse:
    """Return the page of a job, with the last lines that it printed."""
    return render(request, "job.html", **_of_job(request, id))


@router.get("/jobs/{id}/now", include_in_schema=False)
def job_fragment(request: Request, id: str) -> HTMLResponse:
    return render(request, "_fragments/job_now.html", **_of_job(request, id))


@router.get("/jobs/{id}/file", include_in_schema=False)
def file_of_job(request: Request, id: str) -> Response:
    """Return the output of an export as a download."""
    state = in_library(request)
    return download(state.jobs, state.jobs.get(id))


@router.post("/jobs/{id}/stop", include_in_schema=False)
async def stop_by_form(request: Request, id: str) -> Response:
    """Stop a job, and redirect to the page with the button."""
    to = (await fields_of(request)).get("to", "")
    job = in_library(request).stop(id)
    pages = {"library": "/", "manage": path_of_crawl(job.crawl) + "/manage", "job": f"/jobs/{job.id}"}
    return RedirectResponse(pages.get(to, "/jobs"), 303)


@router.get("/api/jobs", tags=["jobs"], summary="All jobs, newest first")
def jobs_api(request: Request) -> JobsResponse:
    return JobsResponse(jobs=[job_response(job) for job in in_library(request).jobs.all()])


@router.get("/api/jobs/{id}", tags=["jobs"], summary="The state of a job")
def job_api(request: Request, id: str) -> JobResponse:
    return job_response(in_library(request).jobs.get(id))


@router.post("/api/jobs", status_code=201, tags=["jobs"], summary="Start a job")
def start_api(request: Request, job: NewJob) -> JobResponse:
    """It runs in a separate process, which outlives this server."""
    state, name = in_library(request), job.crawl
    if not name and job.kind == "crawl" and isinstance(url := job.options.get("url"), str):
        name = state.library.name_for(url)
    if not name:
        raise InputError("crawl: which one? Name it, or give a url in the options of a new one")
    return job_response(state.jobs.start(job.kind, name, job.options))


@router.post("/api/jobs/{id}/stop", tags=["jobs"], summary="Ask a job to stop")
def stop_api(request: Request, id: str) -> JobResponse:
    """Like Ctrl-C: it finishes the requests in flight."""
    return job_response(in_library(request).stop(id))


def job_response(job: Job) -> JobResponse:
    return JobResponse(**vars(job), file=f"/jobs/{job.id}/file" if job.result is not None else None)


def _of_job(request: Request, id: str) -> dict[str, Any]:
    state = in_library(request)
    job = state.jobs.get(id)
    return {
        "job": job,
        "output": state.jobs.output(id),
        "has_file": exported(state.jobs, job) is not None,
    }


def _template_values(request: Request) -> dict[str, Any]:
    state = in_library(request)
    jobs = state.jobs.all()
    return {
        "alive": [job for job in jobs if job.is_alive],
        "ended": [job for job in jobs if not job.is_alive][:_N_LISTED],
        "n_ended": sum(not job.is_alive for job in jobs),
        "names": set(state.library.names()),
        "with_file": {job.id for job in jobs if job.result is not None and exported(state.jobs, job)},
    }
