"""The start page of a library at `/`: all its crawls, and where to paste a URL; and /api/library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from orienteer.library.card import Card
from orienteer.web.library_state import in_library
from orienteer.web.pages.jobs import JobAnswer, job_answer
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render

ENTRY = Entry("/", "Crawls")
router = APIRouter()


@dataclass(frozen=True)
class CrawlCard(Card):
    """A crawl at a glance. `state` is new, running, finished (its goal is reached), stopped or damaged. `job` is the
    one that works on it, or else its last. `path` is where its pages are on this server."""

    job: JobAnswer | None
    path: str


class LibraryAnswer(BaseModel):
    folder: str
    crawls: list[CrawlCard]


class NewName(BaseModel):
    new: Annotated[str, Field(max_length=200)]


class Done(BaseModel):
    """What was changed, by the name that the crawl has now; None where it is gone."""

    name: str | None


@router.get("/", include_in_schema=False)
def library_page(request: Request) -> HTMLResponse:
    return render(request, "library.html", **_shown(request))


@router.get("/now", include_in_schema=False)
def part_of_page(request: Request) -> HTMLResponse:
    """What changes while jobs run."""
    return render(request, "_parts/library_now.html", **_shown(request))


@router.get("/api/library", responses=REFUSALS, tags=["library"], summary="All crawls at a glance")
def library_api(request: Request) -> LibraryAnswer:
    here = in_library(request)
    return LibraryAnswer(folder=str(here.library.path), crawls=[_told(card) for card in here.library.cards()])


@router.post("/api/library/{name}/rename", responses=REFUSALS, tags=["library"], summary="Give a crawl another name")
def rename_api(request: Request, name: str, wanted: NewName) -> Done:
    """Refused while anything works on it."""
    in_library(request).rename(name, wanted.new)
    return Done(name=wanted.new)


@router.post("/api/library/{name}/delete", responses=REFUSALS, tags=["library"], summary="Delete a crawl")
def delete_api(request: Request, name: str) -> Done:
    """With all that it has archived. Refused while anything works on it."""
    in_library(request).delete(name)
    return Done(name=None)


def _shown(request: Request) -> dict[str, Any]:
    here = in_library(request)
    return {"cards": here.library.cards(), "folder": str(here.library.path)}


def _told(card: Card) -> CrawlCard:
    job = None if card.job is None else job_answer(card.job)
    return CrawlCard(**vars(card) | {"job": job}, path=f"/crawls/{card.name}/")
