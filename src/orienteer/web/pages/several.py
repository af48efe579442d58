"""Search over the crawls of a library, at /search, and /api/search: all of them, or those that are chosen.

Crawls without an index are no choice; one that cannot be read is left out with the reason. So many are searched at
once: where there are more, those that come first by name are searched, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from orienteer.errors import InputError, OrienteerError
from orienteer.search.completion import Suggestion
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.search_index import SearchIndex
from orienteer.search.several import SeveralResults, search_several
from orienteer.web.found_in_words import DEFAULT, N_OPEN, N_SHOWN, ORDERS, pieces, said_of, shown_facets, summary_of
from orienteer.web.library_state import in_library
from orienteer.web.pages.opensearch import SUGGESTIONS, TYPE, described
from orienteer.web.pages.search import MAX_N, N_SUGGESTIONS, Completed, Number, Words
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render
from orienteer.wording import counted, plain

ENTRY = Entry("/search", "Search")
MAX_CRAWLS = 50  # at once

router = APIRouter()

Chosen = Annotated[
    list[str], Query(default_factory=list, max_length=1000, description="Names of crawls; all, if left out")
]


class _Opened(NamedTuple):
    """Indexes that are open, by the names of their crawls, and why others are not."""

    indexes: dict[str, SearchIndex]
    troubles: dict[str, str]


@router.get("/search", include_in_schema=False)
def several_page(
    request: Request,
    crawl: Chosen,
    q: Words = "",
    rank: str = DEFAULT,
    page: Number = 1,
) -> HTMLResponse:
    """What was found; the choice of crawls where nothing is asked for."""
    names = _searchable(request)
    chosen = _expected(request, crawl, names)
    orders = [order for order in ORDERS if order.name != "global"]
    values: dict[str, Any] = {"q": q, "rank": rank, "default": DEFAULT, "orders": orders, "n_open": N_OPEN}
    values |= {"names": names, "chosen": chosen, "results": None, "troubles": {}, "n_pages": None}
    values["max_crawls"] = MAX_CRAWLS
    if not names:
        return render(request, "several.html", **values)
    with _opened(request, chosen or names) as (indexes, troubles):
        values |= {"troubles": troubles, "n_pages": sum(index.n_pages for index in indexes.values())}
        if q.strip() and indexes:
            results = search_several(indexes, q, rank=rank, page=page, n=N_SHOWN, with_facets=True)
            values |= _in_words(results)
    return render(request, "several.html", **values)


@router.get(
    "/api/search",
    response_model=SeveralResults,
    responses=REFUSALS,
    tags=["search"],
    summary="Search the pages of several crawls",
)
def several_api(
    request: Request,
    q: Words,
    crawl: Chosen,
    rank: Annotated[str, Query(description="text, local (inside), global (outside) or blend")] = DEFAULT,
    page: Number = 1,
    n: Annotated[int, Query(ge=1, le=MAX_N, description="Results a page")] = N_SHOWN,
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year")] = False,
) -> SeveralResults:
    """Each hit names its crawl; scores of different crawls can be compared. `by_crawl` names those that were searched:
    fifty at most, the first by name."""
    names = _searchable(request)
    with _opened(request, _expected(request, crawl, names) or names) as (indexes, _):
        return search_several(indexes, q, rank=rank, page=page, n=n, with_facets=facets)


@router.get(
    "/api/complete", response_model=Completed, responses=REFUSALS, tags=["search"], summary="Complete what is typed"
)
def complete_api(
    request: Request,
    q: Words,
    crawl: Chosen,
    n: Annotated[int, Query(ge=1, le=50, description="How many at most")] = N_SUGGESTIONS,
) -> Completed:
    """From the titles and words of all these crawls, one of each in turn."""
    return Completed(q=q, suggestions=_completed(request, q, crawl, n))


@router.get("/api/suggest", responses=REFUSALS, tags=["search"], summary="Complete what is typed, for browsers")
def suggest_api(request: Request, q: Words) -> JSONResponse:
    """OpenSearch suggestions: what was typed, and queries that may be meant."""
    texts = [suggestion.text for suggestion in _completed(request, q, [], N_SUGGESTIONS)]
    return JSONResponse([q, texts], media_type=SUGGESTIONS)


@router.get("/opensearch.xml", include_in_schema=False)
def description(request: Request) -> Response:
    text = described(request, "Orienteer", "Search all crawls", "/search?q={searchTerms}")
    return Response(text, 200, media_type=TYPE)


def _searchable(request: Request) -> list[str]:
    """The crawls that have an index."""
    library = in_library(request).library
    names = []
    for name in library.names():
        try:
            has_index = (index_folder(library.path_of(name)) / TEXTS).exists()
        except OrienteerError:  # it is gone, or was never a crawl
            continue
        names += [name] if has_index else []
    return names


def _expected(request: Request, chosen: list[str], names: list[str]) -> list[str]:
    """The crawls that were chosen; InputError where there is none of a name, or it has no index."""
    for name in chosen:
        if name not in names:
            in_library(request).library.path_of(name)  # says so where there is none
            raise InputError(f"{plain(name, 100)}: there is no search index yet; make it on its search page")
    return [name for name in names if name in chosen]


@contextmanager
def _opened(request: Request, names: list[str]) -> Iterator[_Opened]:
    """The indexes of these crawls, as many as are searched at once."""
    here = in_library(request)
    opened = _Opened({}, {})
    with ExitStack() as stack:
        for name in names[:MAX_CRAWLS]:
            try:
                crawl = stack.enter_context(here.crawls.using(name))
                opened.indexes[name] = stack.enter_context(crawl.searching())
            except OrienteerError as error:
                opened.troubles[name] = str(error)
        yield opened


def _completed(request: Request, q: str, chosen: list[str], n: int) -> list[Suggestion]:
    names = _searchable(request)
    with _opened(request, _expected(request, chosen, names) or names) as (indexes, _):
        lists = [index.complete(q, n) for index in indexes.values()]
    found: dict[str, Suggestion] = {}
    for place in range(n):
        for each in lists:
            if place < len(each):
                found.setdefault(each[place].text.casefold(), each[place])
    best = sorted(list(found.values())[:n], key=lambda suggestion: suggestion.kind != "word")
    return best


def _in_words(results: SeveralResults) -> dict[str, Any]:
    """What the template says of results."""
    hits = [found.hit for found in results.hits]
    n_with = sum(bool(n) for n in results.by_crawl.values())
    return {
        "results": results,
        "summary": summary_of(results, len(hits)) + (f", in {counted(n_with, 'crawl')}" if results.total else ""),
        "snippets": [pieces(hit) for hit in hits],
        "said_of": [said_of(hit) for hit in hits],
        "facets": shown_facets(results.facets, results.total),
        "n_last": min(-(-results.total // results.n), 10_000 // results.n),
    }
