"""The Search page at `/`, /api/search and /api/complete.

The order is a link, and so is everything that results can be narrowed by, so that it works without scripts; with them,
another order exchanges the results and the address follows, and words are completed while one types. Each result says
how far it has moved, seen from the order that was there before (`seen_from`). Where there is no index, a button makes
one.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.search.completion import Suggestion
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.query import MAX_QUERY_CHARS
from orienteer.search.search_index import MAX_RESULTS, Results, SearchIndex
from orienteer.web.found_in_words import DEFAULT, N_OPEN, N_SHOWN, ORDERS, day_of, in_words, shown_facets
from orienteer.web.icons import Icons
from orienteer.web.index_making import IndexMaking
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render, root_of, served_crawl, wants_part

ENTRY = Entry("/", "Search")
N_RELATED = 6
N_SUGGESTIONS = 8
MAX_N = 100
_LOOK_AGAIN_S = "3"
_MAX_HOST_CHARS = 300

router = APIRouter()

Words = Annotated[
    str,
    Query(
        max_length=MAX_QUERY_CHARS,
        description='Words, "a phrase", +must -not, site: host: title: url: lang: type:pdf before:2025 after:2024-06',
    ),
]
Number = Annotated[int, Query(ge=1, le=MAX_RESULTS, description="Which page of results.")]


class Completed(BaseModel):
    """Queries that may be meant; the `kind` of each is word or title."""

    q: str
    suggestions: list[Suggestion]


@router.get("/", include_in_schema=False)
def search_page(
    request: Request,
    q: Words = "",
    rank: str = DEFAULT,
    page: Number = 1,
    seen_from: Annotated[str, Query(max_length=20)] = "",
) -> HTMLResponse:
    """What was found; what there is where nothing is asked for, and a way to an index where there is none."""
    crawl = served_crawl(request)
    values: dict[str, Any] = {"q": q, "rank": rank, "orders": ORDERS, "default": DEFAULT, "n_open": N_OPEN}
    values |= {"folder": str(crawl.path), "making": None, "line": "", "results": None, "overview": None}
    try:
        with crawl.searching() as index:
            values |= {"n_pages": index.n_pages, "has_global_rank": index.has_global_rank}
            values["is_current"] = index.is_current()
            values |= _found(index, q, rank, page, seen_from) if q.strip() else _invitation(request, index)
        if values["results"]:
            values["pictured"] = crawl.archive.have_views([hit.url for hit in values["results"].hits])
    except CrawlFolderError as error:
        values |= {"n_pages": 0, "has_global_rank": False, "is_current": True, "line": str(error)}
        values["is_damaged"] = (index_folder(crawl.path) / TEXTS).exists()
    if values["line"] or not values["is_current"]:
        values["making"] = _index_making(request).now()
    answer = render(request, "_parts/found.html" if wants_part(request) and q else "search.html", **values)
    if values["making"] is not None and values["making"].is_running and not q:
        answer.headers["Refresh"] = _LOOK_AGAIN_S
    return answer


@router.post("/index", include_in_schema=False)
def make_index(request: Request, rebuild: bool = False) -> RedirectResponse:
    """Make the index, or bring it up to date, in a process of its own."""
    _index_making(request).start(rebuild)
    return RedirectResponse(root_of(request) + "/", 303)


@router.get("/icon", include_in_schema=False)
def icon(request: Request, host: Annotated[str, Query(min_length=1, max_length=_MAX_HOST_CHARS)]) -> Response:
    """The icon of a host (see `icons`)."""
    icons: Icons = request.app.state.icons
    found = icons.of(host)
    kept = "private, max-age=3600" if found.is_final else "no-store"
    return Response(found.content, 200, {"Cache-Control": kept}, found.type)


@router.get("/api/search", response_model=Results, responses=REFUSALS, tags=["search"], summary="Search the pages")
def search_api(
    request: Request,
    q: Words,
    rank: Annotated[str, Query(description="text, local (inside), global (outside) or blend")] = DEFAULT,
    weight: Annotated[float | None, Query(ge=0, le=1, description="Of the rank; by the order if left out")] = None,
    page: Number = 1,
    n: Annotated[int, Query(ge=1, le=MAX_N, description="Results a page")] = N_SHOWN,
    n_related: Annotated[int, Query(ge=0, le=MAX_N, description="Related pages")] = N_RELATED,
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year")] = False,
) -> Results:
    """Pages in the order wanted, each with its positions in the other orders."""
    with served_crawl(request).searching() as index:
        return index.search(q, rank=rank, weight=weight, page=page, n=n, n_related=n_related, with_facets=facets)


@router.get(
    "/api/complete", response_model=Completed, responses=REFUSALS, tags=["search"], summary="Complete what is typed"
)
def complete_api(
    request: Request,
    q: Words,
    n: Annotated[int, Query(ge=1, le=50, description="How many at most")] = N_SUGGESTIONS,
) -> Completed:
    """Words of the index that go on like this, and titles that begin so."""
    with served_crawl(request).searching() as index:
        return Completed(q=q, suggestions=list(index.complete(q, n)))


def _index_making(request: Request) -> IndexMaking:
    making = request.app.state.index_making
    assert isinstance(making, IndexMaking)
    return making


def _found(index: SearchIndex, q: str, rank: str, page: int, seen_from: str) -> dict[str, Any]:
    """What the template needs of the results."""
    n_related = N_RELATED if page == 1 else 0
    results = index.search(q, rank=rank, page=page, n=N_SHOWN, n_related=n_related, with_facets=True)
    return {"results": results, **in_words(results, index.has_global_rank, seen_from)}


def _invitation(request: Request, index: SearchIndex) -> dict[str, Any]:
    """What is shown to who has not asked for anything yet."""
    overview = index.overview()
    try:
        coverage = request.app.state.watch.now().coverage
    except OrienteerError:  # the crawl says what is wrong with it on its own page
        coverage = ""
    facets = shown_facets(overview.facets, overview.n_pages)
    fetched = [day_of(time) for time in overview.times]
    return {"overview": overview, "facets": facets, "fetched": fetched, "coverage": coverage}
