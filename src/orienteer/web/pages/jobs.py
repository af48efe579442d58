"""The Jobs page at /jobs, and /api/jobs: jobs and their output; stop them, or download what they exported."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, Field, JsonValue

from orienteer.errors import InputError, NotInLibraryError
from orienteer.library.commands import settings_of_new_crawl
from orienteer.library.jobs import Job, Jobs
from orienteer.web.forms import fields_of
from orienteer.web.rendering import NavEntry, path_of_crawl, render
from orienteer.web.served_library import served_library

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
    jobs = served_library(request).jobs
    return download(jobs, jobs.get(id))


@router.post("/jobs/{id}/stop", include_in_schema=False)
async def stop_by_form(request: Request, id: str) -> Response:
    """Stop a job, and redirect to the page with the button."""
    to = (await fields_of(request)).get("to", "")
    job = served_library(request).stop(id)
    pages = {"library": "/", "manage": path_of_crawl(job.crawl) + "/manage", "job": f"/jobs/{job.id}"}
    return RedirectResponse(pages.get(to, "/jobs"), 303)


@router.get("/api/jobs", tags=["jobs"], summary="All jobs, newest first")
def jobs_api(request: Request) -> JobsResponse:
    return JobsResponse(jobs=[job_response(job) for job in served_library(request).jobs.all()])


@router.get("/api/jobs/{id}", tags=["jobs"], summary="The state of a job")
def job_api(request: Request, id: str) -> JobResponse:
    return job_response(served_library(request).jobs.get(id))


@router.post("/api/jobs", status_code=201, tags=["jobs"], summary="Start a job")
def start_api(request: Request, job: NewJob) -> JobResponse:
    """It runs in a separate process, which outlives this server."""
    state, name = served_library(request), job.crawl
    if not name and job.kind == "crawl" and isinstance(url := job.options.get("url"), str):
        name = state.library.name_for(url)
    if not name:
        raise InputError("crawl: which one? Name it, or give a url in the options of a new one")
    return job_response(state.jobs.start(job.kind, name, job.options))


@router.post("/api/jobs/{id}/stop", tags=["jobs"], summary="Ask a job to stop")
def stop_api(request: Request, id: str) -> JobResponse:
    """Like Ctrl-C: it finishes the requests in flight."""
    return job_response(served_library(request).stop(id))


def job_response(job: Job) -> JobResponse:
    return JobResponse(**vars(job), file=f"/jobs/{job.id}/file" if job.result is not None else None)


def _of_job(request: Request, id: str) -> dict[str, Any]:
    state = served_library(request)
    job = state.jobs.get(id)
    return {
        "job": job,
        "output": state.jobs.output(id),
        "has_file": exported(state.jobs, job) is not None,
    }


def _template_values(request: Request) -> dict[str, Any]:
    state = served_library(request)
    jobs = state.jobs.all()
    return {
        "alive": [job for job in jobs if job.is_alive],
        "ended": [job for job in jobs if not job.is_alive][:_N_LISTED],
        "n_ended": sum(not job.is_alive for job in jobs),
        "names": set(state.library.names()),
        "with_file": {job.id for job in jobs if job.result is not None and exported(state.jobs, job)},
    }


_PIECE_BYTES = 1 << 18
_GONE = "This export is no longer there; export it again."


def download(jobs: Jobs, job: Job) -> Response:
    """Return the output of an export as a response; never a file outside the folder of exports."""
    path = exported(jobs, job)
    if path is None:
        raise NotInLibraryError(_GONE)
    if path.is_file() and len(list(path.parent.iterdir())) == 1:
        return FileResponse(path, 200, _saved_as(path.name), "application/octet-stream")
    # The format writes a folder, or more files than one.
    folder = path if path.is_dir() else path.parent
    return StreamingResponse(filter(None, zipped(folder)), 200, _saved_as(path.name + ".zip"), "application/zip")


def exported(jobs: Jobs, job: Job) -> Path | None:
    """Return the file or folder of an export if it exists and its path contains no link."""
    path, home = job.result, jobs.library.exports_path
    if path is None or path.parent != home / job.id:
        return None
    try:
        kinds = [stat.S_IFMT(each.lstat().st_mode) for each in (home, path.parent, path)]
    except OSError:
        return None
    is_plain = kinds[:2] == [stat.S_IFDIR, stat.S_IFDIR] and kinds[2] in (stat.S_IFDIR, stat.S_IFREG)
    return path if is_plain else None


def zipped(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of a ZIP file of a folder, without its links."""
    pieces = _Pieces()
    with zipfile.ZipFile(pieces, "w", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while piece := source.read(_PIECE_BYTES):
                    target.write(piece)
                    yield pieces.taken()
            yield pieces.taken()
    yield pieces.taken()


class _Pieces(RawIOBase):
    """A buffer that `zipfile` writes to, and that the response empties with `taken`."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._n_written = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        taken = bytes(memoryview(piece))  # type: ignore[arg-type]
        self._held += taken
        self._n_written += len(taken)
        return len(taken)

    def tell(self) -> int:
        return self._n_written

    def taken(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
