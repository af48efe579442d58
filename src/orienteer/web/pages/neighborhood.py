"""The Neighborhood page at `/neighborhood`: top referrers, and pages that other sites value more or less."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from orienteer.errors import CrawlFolderError
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import estimate_of_folder
from orienteer.web.rendering import NavEntry, render
from orienteer.web.served_crawl import served_crawl

ENTRY = NavEntry("/neighborhood", "Neighborhood")
router = APIRouter()

_N_LISTED = 15
_ENDINGS = {
    "settled": "the estimate has converged",
    "budget": "the limit of pages was reached",
    "no page left": "no more pages could be fetched",
    "interrupted": "it was interrupted; the same command resumes it",
}


class ForecastModel(BaseModel):
    """The recent change of the estimate, and the error that nine in ten such estimates stay within (L1, at most 2), if
    known; `text` describes them."""

    change: float | None
    most_within: float | None
    leaving: float
    text: str


class ValuedPage(BaseModel):
    """A page of the crawl: its rank and position by the links inside, and by its estimated rank in the whole web."""

    url: str
    inside: float
    outside: float
    position_inside: int
    position_outside: int


class Referrer(BaseModel):
    """A page outside the crawl: `impact` is the rate at which surfers enter through it. `n_into` of its `n_links` links
    lead to pages of the crawl; `links` are some of these."""

    url: str
    worth: float
    impact: float
    n_into: int
    n_links: int
    links: list[str]


class EstimateModel(BaseModel):
    """An estimate of the global rank; up to 100 pages of each kind, largest first."""

    n_local: int
    n_fetched: int
    n_failed: int
    budget: int
    stopped_because: str
    goal_reached: bool
    time: float
    position: int
    forecast: ForecastModel = Field(validation_alias=AliasChoices("forecast", "outlook"))  # that of version 0.2
    top: list[ValuedPage]
    valued_more: list[ValuedPage]
    valued_less: list[ValuedPage]
    outside: list[Referrer]


class NeighborhoodResponse(BaseModel):
    """`is_current`: the crawl has not changed since the estimate was made."""

    estimate: EstimateModel | None
    is_current: bool


@router.get("/neighborhood", include_in_schema=False)
def neighborhood_page(request: Request) -> HTMLResponse:
    response = neighborhood_data(request)
    estimate = response.estimate
    return render(
        request,
        "neighborhood.html",
        response=response,
        estimate=estimate,
        ending=_ENDINGS.get(estimate.stopped_because, estimate.stopped_because) if estimate else "",
        n_listed=_N_LISTED,
        crawl_folder=str(served_crawl(request).path),
    )


@router.get("/api/neighborhood")
def neighborhood_data(request: Request) -> NeighborhoodResponse:
    """The last estimate of `orienteer estimate`; null if there is none."""
    folder = served_crawl(request).path
    stored: Any = estimate_of_folder(folder)
    if stored is None:
        return NeighborhoodResponse(estimate=None, is_current=False)
    try:
        estimate = EstimateModel.model_validate(stored)
    except ValidationError:
        raise CrawlFolderError(f"{folder / 'estimate.json'}: damaged; run `orienteer estimate` again") from None
    with DatabaseView(folder / "crawl.db") as database:
        return NeighborhoodResponse(estimate=estimate, is_current=database.history.next_position() == estimate.position)
