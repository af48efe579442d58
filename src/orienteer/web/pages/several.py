"""Search over all or the chosen crawls of a library, at /search and /api/search.

Crawls without an index cannot be chosen; one that cannot be read is left out with the reason. At most `MAX_CRAWLS` are
searched at once, the first ones by name, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from orienteer.errors import InputError, OrienteerError
from orienteer.search.completion import Suggestion
from orienteer.search.search_index import SearchIndex
from orienteer.search.several import SeveralResults, search_several
from orienteer.store.page_texts import TEXTS, index_folder
from orienteer.web.pages.search import (
    MAX_N,
    N_SUGGESTIONS,
    SUGGESTED,
    TYPE,
    Completed,
    Number,
    Words,
    described,
    suggested,
)
from orienteer.web.rendering import NavEntry, render
from orienteer.web.result_text import DEFAULT, N_OPEN, N_RESULTS, ORDERS, describe_hits
from orienteer.web.served_library import served_library
from orienteer.wording import counted, plain

ENTRY = NavEntry("/search", "Search")
MAX_CRAWLS = 50  # at once

router = APIRouter()

Chosen = Annotated[
    list[str], Query(default_factory=list, max_length=1000, description="Names of crawls; all, if left out")
]


class _Opened(NamedTuple):
    """Open indexes, and the errors of others, by the names of their crawls."""

    indexes: dict[str, SearchIndex]
    problems: dict[str, str]


@router.get("/search", include_in_schema=False)
def several_page(
    request: Request,
    crawl: Chosen,
    q: Words = "",
    rank: str = DEFAULT,
    page: Number = 1,
) -> HTMLResponse:
    """Return the results; without a query only the choice of crawls."""
    names = _searchable(request)
    chosen = _expected(request, crawl, names)
    orders = [order for order in ORDERS if order.name != "global"]
    values: dict[str, Any] = {"q": q, "rank": rank, "default": DEFAULT, "orders": orders, "n_open": N_OPEN}
    values |= {"names": names, "chosen": chosen, "results": None, "problems": {}, "n_pages": None}
    values["max_crawls"] = MAX_CRAWLS
    if not names:
        return render(request, "several.html", **values)
    with _opened(request, chosen or names) as (indexes, problems):
        values |= {"problems": problems, "n_pages": sum(index.n_pages for index in indexes.values())}
        if q.strip() and indexes:
            results = search_several(indexes, q, rank=rank, page=page, n=N_RESULTS, with_facets=True)
            values |= _describe(results)
    return render(request, "several.html", **values)


@router.get(
    "/api/search",
    response_model=SeveralResults,
    tags=["search"],
    summary="Search the pages of several crawls",
)
def several_api(
    request: Request,
    q: Words,
    crawl: Chosen,
    rank: Annotated[str, Query(description="text, local (inside), global (outside) or blend")] = DEFAULT,
    page: Number = 1,
    n: Annotated[int, Query(ge=1, le=MAX_N, description="Results a page")] = N_RESULTS,
    facets: Annotated[bool, Query(description="Count the results by host, language, type, year")] = False,
) -> SeveralResults:
    """Each hit has the name of its crawl; scores of different crawls can be compared. `by_crawl` has the crawls that
    were searched: at most fifty, the first ones by name."""
    names = _searchable(request)
    with _opened(request, _expected(request, crawl, names) or names) as (indexes, _):
        return search_several(indexes, q, rank=rank, page=page, n=n, with_facets=facets)


@router.get("/api/complete", response_model=Completed, tags=["search"], summary="Complete what is typed")
def complete_api(
    request: Request,
    q: Words,
    crawl: Chosen,
    n: Annotated[int, Query(ge=1, le=50, description="How many at most")] = N_SUGGESTIONS,
) -> Completed:
    """Completions from the titles and words of these crawls, one of each in turn."""
    return Completed(q=q, suggestions=_completed(request, q, crawl, n))


@router.get(
    "/api/suggest",
    tags=["search"],
    summary="Complete what is typed, for browsers",
    response_class=Response,
    responses=SUGGESTED,
)
def suggest_api(request: Request, q: Words) -> Response:
    """OpenSearch suggestions: the query as typed, and its completions."""
    texts = [suggestion.text for suggestion in _completed(request, q, [], N_SUGGESTIONS)]
    return suggested(q, texts)


@router.get("/opensearch.xml", include_in_schema=False)
def description(request: Request) -> Response:
    text = described(request, "Orienteer", "Search all crawls", "/search?q={searchTerms}")
    return Response(text, 200, media_type=TYPE)


def _searchable(request: Request) -> list[str]:
    """Return the names of the crawls with an index."""
    library = served_library(request).library
    names = []
    for name in library.names():
        try:
            has_index = (index_folder(library.path_of(name)) / TEXTS).exists()
        except OrienteerError:  # it was deleted meanwhile
            continue
        names += [name] if has_index else []
    return names


def _expected(request: Request, chosen: list[str], names: list[str]) -> list[str]:
    """Return the chosen crawls; an OrienteerError if one does not exist or has no index."""
    for name in chosen:
        if name not in names:
            served_library(request).library.path_of(name)  # raises an error if there is none
            raise InputError(f"{plain(name, 100)}: there is no search index yet; make it on its search page")
    return [name for name in names if name in chosen]


@contextmanager
def _opened(request: Request, names: list[str]) -> Iterator[_Opened]:
    """Yield the open indexes of these crawls, at most `MAX_CRAWLS`."""
    served = served_library(request)
    opened = _Opened({}, {})
    with ExitStack() as stack:
        for name in names[:MAX_CRAWLS]:
            try:
                crawl = stack.enter_context(served.using(name))
                opened.indexes[name] = stack.enter_context(crawl.searching())
            except OrienteerError as error:
                opened.problems[name] = str(error)
        yield opened


def _completed(request: Request, q: str, chosen: list[str], n: int) -> list[Suggestion]:
    names = _searchable(request)
    with _opened(request, _expected(request, chosen, names) or names) as (indexes, _):
        lists = [index.complete(q, n) for index in indexes.values()]
    merged: dict[str, Suggestion] = {}
    for position in range(n):
        for each in lists:
            if position < len(each):
                merged.setdefault(each[position].text.casefold(), each[position])
    best = sorted(list(merged.values())[:n], key=lambda suggestion: suggestion.kind != "word")
    return best


def _describe(results: SeveralResults) -> dict[str, Any]:
    """Return the template's values for results."""
    values = describe_hits(results, [found.hit for found in results.hits])
    if results.total:
        values["summary"] += f", in {counted(sum(bool(n) for n in results.by_crawl.values()), 'crawl')}"
    return values | {"results": results}
