"""The details of a page at `/page?url=...`, and /api/page: its outcome, its ranks, and the links to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.explain import PageFacts, describe_page, page_facts
from orienteer.search.page_columns import FILE, PageColumns
from orienteer.search.search_index import RelatedPage
from orienteer.store.page_texts import TEXTS, PageTexts, index_folder
from orienteer.url import MAX_URL_BYTES
from orienteer.web.rendering import NavEntry, render
from orienteer.web.served_crawl import ServedCrawl, served_crawl

_N_RELATED = 10


@dataclass(frozen=True)
class PageRankView:
    """The rank of a page by the links `inside` or `outside` the crawl, and its position among the indexed pages."""

    seen_from: str
    rank: float
    position: int
    n_pages: int


@dataclass(frozen=True)
class PageDetails:
    """The data of one page.

    `description` has the facts as text; those whose names are in `pages` link to another page. `why_no_ranks` says in
    one line why there are no ranks. `link_texts` are the texts of links to the page, most frequent first.
    """

    facts: PageFacts
    description: tuple[tuple[str, str], ...]
    pages: dict[str, str]
    ranks: tuple[PageRankView, ...] = ()
    why_no_ranks: str = ""
    related: tuple[RelatedPage, ...] = ()
    link_texts: tuple[str, ...] = ()


class _Indexed(NamedTuple):
    ranks: tuple[PageRankView, ...] = ()
    why_no_ranks: str = ""
    related: tuple[RelatedPage, ...] = ()
    link_texts: tuple[str, ...] = ()


def page_details(crawl: ServedCrawl, url: str) -> PageDetails:
    """Return the data of a URL, which need not be canonical."""
    facts = page_facts(crawl.path, url)
    pages = {
        "redirects to": facts.redirect_to,
        "same content as": facts.duplicate_of,
        "nearly the text of": facts.near_duplicate_of,
    }
    description = tuple((name, fact) for name, fact in describe_page(facts) if fact)
    named = {name: page for name, page in pages.items() if page}
    try:
        indexed = _indexed(crawl, facts)
    except CrawlFolderError as error:
        indexed = _Indexed(why_no_ranks=str(error))
    return PageDetails(facts, description, named, **indexed._asdict())


def _indexed(crawl: ServedCrawl, facts: PageFacts) -> _Indexed:
    if facts.page is None:
        return _Indexed()
    index = index_folder(crawl.path)
    with crawl.searching() as searched:
        try:
            related = searched.related(facts.url, _N_RELATED)
        except InputError:
            return _Indexed(why_no_ranks="It is not in the search index.")
    with PageTexts(index / TEXTS, read_only=True) as texts:
        link_texts = tuple(texts.link_texts([facts.page]))
    columns = PageColumns(index / FILE)
    how = f"orienteer estimate {crawl.path}, then orienteer index {crawl.path}"
    why = "" if columns.has_outside else f"Its rank on the whole web is unknown. To estimate it: {how}."
    return _Indexed(_ranks(columns, facts.page), why, related, link_texts)


def _ranks(columns: PageColumns, page: int) -> tuple[PageRankView, ...]:
    """Return the rank inside, and outside if it was estimated. Duplicate pages are counted separately."""
    if page not in columns:
        return ()
    all_pages, of_page = columns.of(columns.pages), columns.of([page])
    kinds = [("inside", all_pages.local, of_page.local)]
    if columns.has_outside:
        kinds.append(("outside", all_pages.outside, of_page.outside))
    return tuple(
        PageRankView(name, float(own[0]), 1 + int(np.count_nonzero(ranks > own[0])), len(columns))
        for name, ranks, own in kinds
    )


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
