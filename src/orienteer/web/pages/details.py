"""The details of a page at `/page?url=...`, and /api/page: its outcome, its ranks, and the links to it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

from orienteer.search.search_index import RelatedPage
from orienteer.url import MAX_URL_BYTES
from orienteer.web.page_details import PageDetails, PageRankView, page_details
from orienteer.web.rendering import NavEntry, render, served_crawl

ENTRY: NavEntry | None = None  # results link here
router = APIRouter()

Address = Annotated[str, Query(min_length=1, max_length=MAX_URL_BYTES, description="The URL of the page")]


class PageResponse(BaseModel):
    """`facts` are those of `orienteer explain --json`; `ranks` and `related` are empty if it is not in the index."""

    url: str
    facts: dict[str, Any]
    description: dict[str, str]
    ranks: list[PageRankView]
    related: list[RelatedPage]
    link_texts: list[str]


@router.get("/page", include_in_schema=False)
def details_page(request: Request, url: Address) -> HTMLResponse:
    details = page_details(served_crawl(request), url)
    return render(request, "details.html", _status(details), details=details, facts=details.facts)


@router.get(
    "/api/page",
    response_model=PageResponse,
    responses={404: {"model": PageResponse, "description": "The crawl has never seen this URL"}},
    tags=["search"],
    summary="The details of a page",
)
def details_api(request: Request, url: Address) -> JSONResponse:
    """An unknown page is returned with status 404 and the reason."""
    details = page_details(served_crawl(request), url)
    response = PageResponse(
        url=details.facts.url,
        facts=details.facts.as_dict(),
        description=dict(details.description),
        ranks=list(details.ranks),
        related=list(details.related),
        link_texts=list(details.link_texts),
    )
    return JSONResponse(response.model_dump(mode="json"), _status(details))


def _status(details: PageDetails) -> int:
    return 404 if details.facts.page is None else 200
