"""The Outside page at `/outside`: who out there matters to the crawl, and which pages the world sees otherwise."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ValidationError

from orienteer.errors import CrawlFolderError
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_files import estimate_of_folder
from orienteer.web.rendering import Entry, render, served_crawl

ENTRY = Entry("/outside", "Outside")
router = APIRouter()

_SHOWN = 15
_ENDINGS = {
    "settled": "the estimate has settled",
    "budget": "the budget of pages was spent",
    "no page left": "no page was left that could be fetched",
    "interrupted": "it was interrupted; the same command resumes it",
}


class Outlook(BaseModel):
    """How much the estimate changed lately, and how far off nine in ten of such were (L1, 2 at most), where that is
    known; `text` says it."""

    change: float | None
    most_within: float | None
    leaving: float
    text: str


class Standing(BaseModel):
    """A page of the crawl: its rank and its place by the links inside, and by its estimated rank in the whole web."""

    url: str
    inside: float
    outside: float
    position_inside: int
    position_outside: int


class OutsidePage(BaseModel):
    """A page outside: its `impact` is how often a surfer comes in through it. `n_into` of its `n_links` links lead to
    pages of the crawl, some of which are `links`."""

    url: str
    worth: float
    impact: float
    n_into: int
    n_links: int
    links: list[str]


class Estimate(BaseModel):
    """What an estimate of the global rank came to; up to 100 pages of each kind, the greatest first."""

    n_local: int
    n_fetched: int
    n_failed: int
    budget: int
    stopped_because: str
    goal_reached: bool
    time: float
    position: int
    outlook: Outlook
    top: list[Standing]
    valued_more: list[Standing]
    valued_less: list[Standing]
    outside: list[OutsidePage]


class OutsideAnswer(BaseModel):
    """`is_current`: the crawl has not gone on since the estimate was made."""

    estimate: Estimate | None
    is_current: bool


@router.get("/outside", include_in_schema=False)
def outside_page(request: Request) -> HTMLResponse:
    answer = outside_data(request)
    estimate = answer.estimate
    return render(
        request,
        "outside.html",
        answer=answer,
        estimate=estimate,
        ending=_ENDINGS.get(estimate.stopped_because, estimate.stopped_because) if estimate else "",
        n_shown=_SHOWN,
        crawl_folder=str(served_crawl(request).path),
    )


@router.get("/api/outside")
def outside_data(request: Request) -> OutsideAnswer:
    """The estimate that `orienteer estimate` made last; none where it has not run."""
    folder = served_crawl(request).path
    told: Any = estimate_of_folder(folder)
    if told is None:
        return OutsideAnswer(estimate=None, is_current=False)
    try:
        estimate = Estimate.model_validate(told)
    except ValidationError:
        raise CrawlFolderError(f"{folder / 'estimate.json'}: damaged; run `orienteer estimate` again") from None
    with DatabaseView(folder / "crawl.db") as survey:
        return OutsideAnswer(estimate=estimate, is_current=survey.next_position() == estimate.position)
