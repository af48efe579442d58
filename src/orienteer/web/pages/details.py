"""A page's details at `/page?url=...`, and /api/page: what became of it, what it is worth, who links to it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

from orienteer.search.search_index import RelatedPage
from orienteer.url import MAX_URL_BYTES
from orienteer.web.page_details import PageDetails, PageRank, page_details
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render, served_crawl

ENTRY: Entry | None = None  # one comes here from a result
router = APIRouter()

Address = Annotated[str, Query(min_length=1, max_length=MAX_URL_BYTES, description="The URL of the page")]


class PageAnswer(BaseModel):
    """`facts` are those of `orienteer explain --json`; `ranks` and `related` are empty for pages not in the index."""

    url: str
    facts: dict[str, Any]
    in_words: dict[str, str]
    ranks: list[PageRank]
    related: list[RelatedPage]
    link_texts: list[str]


@router.get("/page", include_in_schema=False)
def details_page(request: Request, url: Address) -> HTMLResponse:
    details = page_details(served_crawl(request), url)
    return render(request, "details.html", _status(details), details=details, facts=details.facts)


@router.get(
    "/api/page", response_model=PageAnswer, responses=REFUSALS, tags=["search"], summary="What is known of a page"
)
def details_api(request: Request, url: Address) -> JSONResponse:
    """An unknown page is answered with 404, and what there is to say of it."""
    details = page_details(served_crawl(request), url)
    answer = PageAnswer(
        url=details.facts.url,
        facts=details.facts.as_dict(),
        in_words=dict(details.in_words),
        ranks=list(details.ranks),
        related=list(details.related),
        link_texts=list(details.link_texts),
    )
    return JSONResponse(answer.model_dump(mode="json"), _status(details))


def _status(details: PageDetails) -> int:
    return 404 if details.facts.page is None else 200
