"""The Jobs page at /jobs, and /api/jobs: what runs and what ran, with what it said; stop it, or take what it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from orienteer.errors import InputError
from orienteer.library.jobs import Job
from orienteer.web.downloads import download, exported
from orienteer.web.forms import fields_of
from orienteer.web.library_state import in_library
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, path_of_crawl, render

ENTRY = Entry("/jobs", "Jobs")
_N_SHOWN = 100
router = APIRouter()


@dataclass(frozen=True)
class JobAnswer(Job):
    """A command on a crawl, running or over. `state` is starting, running, stopping, done, failed, stopped or killed;
    `line` is what it said last, `share` how far it is, `file` where what it wrote can be taken from this server."""

    file: str | None


class JobsAnswer(BaseModel):
    jobs: list[JobAnswer]


class NewJob(BaseModel):
    """A job to start. With `url` among the options of a crawl it is a new one, and needs no name."""

    kind: Annotated[str, Field(description="crawl, refresh, index, estimate or export")]
    crawl: Annotated[str | None, Field(max_length=200, description="The name of the crawl")] = None
    options: Annotated[
        dict[str, str | int | float | bool],
        Field(max_length=20, description="Such as url, scope, until, budget, delay of a crawl; format of an export"),
    ] = {}


@router.get("/jobs", include_in_schema=False)
def jobs_page(request: Request) -> HTMLResponse:
    return render(request, "jobs.html", **_shown(request))


@router.get("/jobs/now", include_in_schema=False)
def part_of_page(request: Request) -> HTMLResponse:
    """What changes while jobs run."""
    return render(request, "_parts/jobs_now.html", **_shown(request))


@router.get("/jobs/{id}", include_in_schema=False)
def job_page(request: Request, id: str) -> HTMLResponse:
    """One job, with the end of what it has printed."""
    return render(request, "job.html", **_of_job(request, id))


@router.get("/jobs/{id}/now", include_in_schema=False)
def part_of_job(request: Request, id: str) -> HTMLResponse:
    return render(request, "_parts/job_now.html", **_of_job(request, id))


@router.get("/jobs/{id}/file", include_in_schema=False)
def file_of_job(request: Request, id: str) -> Response:
    """What an export has written."""
    here = in_library(request)
    return download(here.jobs, here.jobs.get(id))


@router.post("/jobs/{id}/stop", include_in_schema=False)
async def stop_by_form(request: Request, id: str) -> Response:
    """Back to where the button was: the crawl, or the list of jobs."""
    to = (await fields_of(request)).get("to", "")
    job = in_library(request).stop(id)
    places = {"library": "/", "manage": path_of_crawl(job.crawl) + "/manage", "job": f"/jobs/{job.id}"}
    return RedirectResponse(places.get(to, "/jobs"), 303)


@router.get("/api/jobs", responses=REFUSALS, tags=["jobs"], summary="All jobs, the newest first")
def jobs_api(request: Request) -> JobsAnswer:
    return JobsAnswer(jobs=[job_answer(job) for job in in_library(request).jobs.all()])


@router.get("/api/jobs/{id}", responses=REFUSALS, tags=["jobs"], summary="How a job stands")
def job_api(request: Request, id: str) -> JobAnswer:
    return job_answer(in_library(request).jobs.get(id))


@router.post("/api/jobs", status_code=201, responses=REFUSALS, tags=["jobs"], summary="Start a job")
def start_api(request: Request, wanted: NewJob) -> JobAnswer:
    """It is a command of its own, which runs on when this server has ended."""
    here, name = in_library(request), wanted.crawl
    if not name and wanted.kind == "crawl" and isinstance(url := wanted.options.get("url"), str):
        name = here.library.name_for(url)
    if not name:
        raise InputError("crawl: which one? Name it, or give a url in the options of a new one")
    return job_answer(here.jobs.start(wanted.kind, name, wanted.options))


@router.post("/api/jobs/{id}/stop", responses=REFUSALS, tags=["jobs"], summary="Ask a job to stop")
def stop_api(request: Request, id: str) -> JobAnswer:
    """As Ctrl-C does: it finishes what is under way."""
    return job_answer(in_library(request).stop(id))


def job_answer(job: Job) -> JobAnswer:
    return JobAnswer(**vars(job), file=f"/jobs/{job.id}/file" if job.result is not None else None)


def _of_job(request: Request, id: str) -> dict[str, Any]:
    here = in_library(request)
    job = here.jobs.get(id)
    return {"job": job, "output": here.jobs.output(id), "has_file": exported(here.jobs, job) is not None}


def _shown(request: Request) -> dict[str, Any]:
    here = in_library(request)
    jobs = here.jobs.all()
    return {
        "alive": [job for job in jobs if job.is_alive],
        "over": [job for job in jobs if not job.is_alive][:_N_SHOWN],
        "n_over": sum(not job.is_alive for job in jobs),
        "names": set(here.library.names()),
        "with_file": {job.id for job in jobs if job.result is not None and exported(here.jobs, job)},
    }
