"""The home page of a library at `/`, with all its crawls and a field for a URL; and /api/library."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from orienteer.library.library import Card
from orienteer.web.crawl_watch import STATUS
from orienteer.web.pages.jobs import JobResponse, job_response
from orienteer.web.rendering import NavEntry, render
from orienteer.web.served_library import served_library

ENTRY = NavEntry("/", "Crawls")
router = APIRouter()


class CrawlCard(BaseModel):
    """A crawl. `phase` is that of its status, or "damaged"; `sentence` is the same as text. `job` is the job that works
    on it, or else its last one. `path` is the path of its pages on this server."""

    name: str
    path: str
    phase: str
    sentence: str
    job: JobResponse | None
    is_indexed: bool
    n_bytes: int
    problem: str | None
    status: Annotated[dict[str, Any] | None, STATUS]


class LibraryResponse(BaseModel):
    folder: str
    crawls: list[CrawlCard]


class NewName(BaseModel):
    new: Annotated[str, Field(max_length=200)]


class Done(BaseModel):
    """The present name of the crawl; null if it was deleted."""

    name: str | None


@router.get("/", include_in_schema=False)
def library_page(request: Request) -> HTMLResponse:
    return render(request, "library.html", **_template_values(request))


@router.get("/now", include_in_schema=False)
def page_fragment(request: Request) -> HTMLResponse:
    """Return the fragment that changes while jobs run."""
    return render(request, "_fragments/library_now.html", **_template_values(request))


@router.get("/api/library", tags=["library"], summary="A summary of all crawls")
def library_api(request: Request) -> LibraryResponse:
    served = served_library(request)
    library = served.library
    return LibraryResponse(folder=str(library.path), crawls=[_crawl_card(card) for card in library.cards()])


@router.post("/api/library/{name}/rename", tags=["library"], summary="Rename a crawl")
def rename_api(request: Request, name: str, names: NewName) -> Done:
    """An error while the crawl is in use."""
    served_library(request).rename(name, names.new)
    return Done(name=names.new)


@router.post("/api/library/{name}/delete", tags=["library"], summary="Delete a crawl")
def delete_api(request: Request, name: str) -> Done:
    """Deletes its archive, too. An error while the crawl is in use."""
    served_library(request).delete(name)
    return Done(name=None)


def _template_values(request: Request) -> dict[str, Any]:
    served = served_library(request)
    return {"cards": served.library.cards(), "folder": str(served.library.path)}


def _crawl_card(card: Card) -> CrawlCard:
    job = None if card.job is None else job_response(card.job)
    return CrawlCard(
        name=card.name,
        path=f"/crawls/{card.name}/",
        phase=card.phase,
        sentence=card.sentence,
        job=job,
        is_indexed=card.is_indexed,
        n_bytes=card.n_bytes,
        problem=card.problem,
        status=None if card.status is None else card.status.as_dict(),
    )
