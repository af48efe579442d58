"""The Search page at `/`, and /api/search.

The order is a link, so that it works without scripts; with them, the results are exchanged and the address follows.
Each result says how far it has moved, seen from the order that was there before (`seen_from`).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from orienteer.errors import CrawlFolderError
from orienteer.search.page_facts import type_name
from orienteer.search.query import MAX_QUERY_CHARS
from orienteer.search.search_index import MAX_RESULTS, Hit, Results, SearchIndex
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render, served_crawl, wants_part
from orienteer.wording import counted, visible

ENTRY = Entry("/", "Search")
N_SHOWN = 10
N_RELATED = 6
_MAX_N = 100
_DEFAULT = "blend"

router = APIRouter()

Words = Annotated[
    str,
    Query(
        max_length=MAX_QUERY_CHARS,
        description='Words, "a phrase", +must -not, site: host: title: url: lang: type:pdf before:2025 after:2024-06',
    ),
]
Number = Annotated[int, Query(ge=1, le=MAX_RESULTS, description="Which page of results.")]


class Order(NamedTuple):
    """A way to order results: its name, what the switch calls it, what is said of places in it, in long and short."""

    name: str
    label: str
    said: str
    short: str
    about: str


ORDERS = (
    Order("blend", "Blend", "blended", "blended", "By words, and a little by the ranks inside and outside."),
    Order("text", "Text", "by words", "by words", "By words alone."),
    Order(
        "local", "Seen from inside", "seen from inside", "by links in this crawl",
        "By words, and by the links within this crawl.",
    ),
    Order(
        "global", "Seen from outside", "seen from outside", "by links of the whole web",
        "By words, and by the links of the whole web.",
    ),
)  # fmt: skip
_SAID = {order.name: order.said for order in ORDERS}
_SHORT = {order.name: order.short for order in ORDERS}


class Move(NamedTuple):
    """How far a result has moved, seen from another order; up is to a better place."""

    kind: str
    places: int
    text: str


@router.get("/", include_in_schema=False)
def search_page(
    request: Request,
    q: Words = "",
    rank: str = _DEFAULT,
    page: Number = 1,
    seen_from: Annotated[str, Query(max_length=20)] = "",
) -> HTMLResponse:
    """What was found; a form where nothing is asked for, and what to do where there is no index."""
    crawl = served_crawl(request)
    values: dict[str, Any] = {"q": q, "rank": rank, "orders": ORDERS, "default": _DEFAULT, "folder": str(crawl.path)}
    try:
        with crawl.searching() as index:
            values |= {"n_pages": index.n_pages, "has_global_rank": index.has_global_rank, "line": ""}
            values |= _found(index, q, rank, page, seen_from)
        if values["results"]:
            values["pictured"] = crawl.archive.have_views([hit.url for hit in values["results"].hits])
    except CrawlFolderError as error:
        values |= {"n_pages": 0, "has_global_rank": False, "line": str(error), "results": None}
    return render(request, "_parts/found.html" if wants_part(request) and q else "search.html", **values)


@router.get("/api/search", response_model=Results, responses=REFUSALS, tags=["search"], summary="Search the pages")
def search_api(
    request: Request,
    q: Words,
    rank: Annotated[str, Query(description="text, local (inside), global (outside) or blend")] = _DEFAULT,
    weight: Annotated[float | None, Query(ge=0, le=1, description="Of the rank; by the order if left out")] = None,
    page: Number = 1,
    n: Annotated[int, Query(ge=1, le=_MAX_N, description="Results a page")] = N_SHOWN,
    n_related: Annotated[int, Query(ge=0, le=_MAX_N, description="Related pages")] = N_RELATED,
) -> Results:
    """Pages in the order wanted, each with its positions in the other orders."""
    with served_crawl(request).searching() as index:
        return index.search(q, rank=rank, weight=weight, page=page, n=n, n_related=n_related)


def _found(index: SearchIndex, q: str, rank: str, page: int, seen_from: str) -> dict[str, Any]:
    """What the template needs of the results."""
    is_asked = bool(q.strip())
    results = index.search(q, rank=rank, page=page, n=N_SHOWN, n_related=N_RELATED if page == 1 else 0)
    if not is_asked:
        return {"results": None}
    before = _order_before(rank, seen_from, index.has_global_rank)
    last = min(-(-results.total // N_SHOWN), MAX_RESULTS // N_SHOWN)
    return {
        "results": results,
        "is_current": index.is_current(),
        "summary": _summary(results),
        "moves": [_move(hit, before) for hit in results.hits],
        "compared": _SAID[before] if before else "",
        "snippets": [_pieces(hit) for hit in results.hits],
        "places": [_places(hit) for hit in results.hits],
        "said_of": [_said_of(hit) for hit in results.hits],
        "n_last": last,
        "seen_from": seen_from if before else "",
    }


def _order_before(rank: str, seen_from: str, has_global_rank: bool) -> str | None:
    """The order that positions are compared with: the one before, or that of the words. Blended ones are not known."""
    known = ("text", "local", "global") if has_global_rank else ("text", "local")
    if seen_from in known and seen_from != rank:
        return seen_from
    return "text" if rank != "text" else None


def _move(hit: Hit, before: str | None) -> Move | None:
    was = hit.positions.get(before) if before else None
    if was is None or before is None:
        return None
    places = was - hit.position
    if not places:
        return Move("same", 0, f"the same place as {_SAID[before]}")
    way = "up" if places > 0 else "down"
    return Move(way, abs(places), f"{way} {counted(abs(places), 'place')}, from {was} {_SAID[before]}")


def _places(hit: Hit) -> str:
    """Where it stands in all orders."""
    return ", ".join(f"no. {place:,} {_SHORT[name]}" for name, place in hit.positions.items() if place is not None)


def _said_of(hit: Hit) -> list[str]:
    """What it is, if it is no HTML, and when it was published or changed."""
    kind = type_name(hit.type)
    date = f"published {hit.published}" if hit.published else f"changed {hit.changed}" if hit.changed else ""
    return [said for said in (kind.upper() if kind != "html" else "", date) if said]


def _pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The snippet in pieces, and whether each is marked."""
    return [(visible(part), bool(number % 2)) for number, part in enumerate(hit.parts) if part]


def _summary(results: Results) -> str:
    if not results.total:
        return "" if results.hints else "Nothing found."
    first = (results.page - 1) * results.n + 1
    shown = f"{first:,} to {first + len(results.hits) - 1:,}" if results.hits else "none on this page"
    took = f"{1000 * results.elapsed_s:.1f}\u00a0ms"
    return f"{counted(results.total, 'page')} found, {shown}, {_SAID[results.rank]}; {took}"
