"""The Search page at `/`, /api/search and /api/complete; and OpenSearch, by which browsers add this search engine.

Orders and facets are links, so the page works without scripts. With them, choosing another order replaces the results
and updates the address, and words are completed while the user types. Each result says how far it has moved from its
position in the previous order (`seen_from`). If there is no index, a button makes one.
"""

from __future__ import annotations

from typing import Annotated, Any
from xml.sax.saxutils import escape, quoteattr

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.crawl_status import stored_certificate
from orienteer.inspect.status_text import nothing_found
from orienteer.search.completion import Suggestion
from orienteer.search.query import MAX_QUERY_CHARS
from orienteer.search.search_index import MAX_RESULTS, SearchIndex, SearchResults
from orienteer.store.page_texts import TEXTS, index_folder
from orienteer.web.rendering import NavEntry, is_fragment_request, render, root_of
from orienteer.web.result_text import DEFAULT, N_OPEN, N_RESULTS, ORDERS, day_of, describe, displayed_facets
from orienteer.web.served_crawl import served_crawl
from orienteer.wording import plain

ENTRY = NavEntry("/", "Search")
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
    """Completions of a query; the `kind` of each is word or title."""

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
    """Return the results; without a query an overview, and without an index a way to make one."""
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
        values["making"] = crawl.jobs.indexing()
    response = render(
        request, "_fragments/found.html" if is_fragment_request(request) and q else "search.html", **values
    )
    if values["making"] is not None and values["making"].is_running and not q:
        response.headers["Refresh"] = _LOOK_AGAIN_S
    return response


@router.post("/index", include_in_schema=False)
def make_index(request: Request, rebuild: bool = False) -> RedirectResponse:
    """Make or update the index, in a separate process."""
    served_crawl(request).jobs.index(rebuild)
    return RedirectResponse(root_of(request) + "/", 303)


@router.get("/icon", include_in_schema=False)
def icon(request: Request, host: Annotated[str, Query(min_length=1, max_length=_MAX_HOST_CHARS)]) -> Response:
    """Return the icon of a host (see `icons`)."""
    host_icon = served_crawl(request).icons.of(host)
    caching = "private, max-age=3600" if host_icon.is_final else "no-store"
    return Response(host_icon.content, 200, {"Cache-Control": caching}, host_icon.type)


@router.get("/api/search", response_model=SearchResults, tags=["search"], summary="Search the pages")
def search_api(
    request: Request,
    q: Words,
    rank: Annotated[str, Query(description="text, local (inside), global (outside) or blend")] = DEFAULT,
    weight: Annotated[float | None, Query(ge=0, le=1, description="Of the rank; by the order if left out")] = None,
    page: Number = 1,
    n: Annotated[int, Query(ge=1, le=MAX_N, description="Results a page")] = N_RESULTS,
    n_related: Annotated[int, Query(ge=0, le=MAX_N, description="Related pages")] = N_RELATED,
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year")] = False,
) -> SearchResults:
    """Pages in the requested order, each with its positions in the other orders."""
    with served_crawl(request).searching() as index:
        return index.search(q, rank=rank, weight=weight, page=page, n=n, n_related=n_related, with_facets=facets)


@router.get("/api/complete", response_model=Completed, tags=["search"], summary="Complete what is typed")
def complete_api(
    request: Request,
    q: Words,
    n: Annotated[int, Query(ge=1, le=50, description="How many at most")] = N_SUGGESTIONS,
) -> Completed:
    """Words of the index with this prefix, and titles that start with it."""
    with served_crawl(request).searching() as index:
        return Completed(q=q, suggestions=list(index.complete(q, n)))


def _found(index: SearchIndex, q: str, rank: str, page: int, seen_from: str) -> dict[str, Any]:
    """Return the template's values for results."""
    n_related = N_RELATED if page == 1 else 0
    results = index.search(q, rank=rank, page=page, n=N_RESULTS, n_related=n_related, with_facets=True)
    values = {"results": results, **describe(results, index.has_global_rank, seen_from)}
    if not results.total and not results.hints:
        values["summary"] = nothing_found(stored_certificate(index.folder))
    return values


def _invitation(request: Request, index: SearchIndex) -> dict[str, Any]:
    """Return the template's values for the page without a query."""
    overview = index.overview()
    try:
        coverage = served_crawl(request).watch.status().texts["coverage"]
    except OrienteerError:  # the Status page displays the error
        coverage = ""
    facets = displayed_facets(overview.facets, overview.n_pages)
    fetched = [day_of(time) for time in overview.times]
    return {"overview": overview, "facets": facets, "fetched": fetched, "coverage": coverage}


TYPE = "application/opensearchdescription+xml"
SUGGESTIONS = "application/x-suggestions+json"
_MAX_NAME_CHARS = 16  # the limit of OpenSearch

# The response, for OpenAPI: its media type is not that of JSON, but errors are JSON.
SUGGESTED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The query as typed, and completions", "content": {SUGGESTIONS: {"schema": {"type": "array"}}}}
}


@router.get("/opensearch.xml", include_in_schema=False)
def description(request: Request) -> Response:
    name = served_crawl(request).name
    text = described(request, f"Orienteer: {name}"[:_MAX_NAME_CHARS], f"Search the crawl {name}", "/?q={searchTerms}")
    return Response(text, 200, media_type=TYPE)


@router.get(
    "/api/suggest",
    tags=["search"],
    summary="Complete what is typed, for browsers",
    response_class=Response,
    responses=SUGGESTED,
)
def suggest_api(request: Request, q: Annotated[str, Query(max_length=MAX_QUERY_CHARS)]) -> Response:
    """OpenSearch suggestions: the query as typed, and its completions."""
    with served_crawl(request).searching() as index:
        texts = [suggestion.text for suggestion in index.complete(q, N_SUGGESTIONS)]
    return suggested(q, texts)


def suggested(q: str, queries: list[str]) -> Response:
    """Return completions of `q` in the format of OpenSearch."""
    return JSONResponse([q, queries], media_type=SUGGESTIONS)


def described(request: Request, name: str, about: str, search: str) -> str:
    """Return the OpenSearch description of a search; its addresses must be absolute."""
    base = f"{request.url.scheme}://{request.url.netloc}"
    root = base + root_of(request)
    address, suggest = root + search, root + "/api/suggest?q={searchTerms}"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">\n'
        f"  <ShortName>{escape(plain(name, 100))}</ShortName>\n"
        f"  <Description>{escape(plain(about, 1000))}</Description>\n"
        "  <InputEncoding>UTF-8</InputEncoding>\n"
        f'  <Image width="16" height="16" type="image/svg+xml">{escape(base)}/static/icon.svg</Image>\n'
        f'  <Url type="text/html" method="get" template={quoteattr(address)}/>\n'
        f'  <Url type="{SUGGESTIONS}" method="get" template={quoteattr(suggest)}/>\n'
        "</OpenSearchDescription>\n"
    )
