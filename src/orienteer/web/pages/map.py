"""The Map page at `/map`: hosts, or parts of a single one, and the pages of each."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from orienteer.graph.regions import Kind
from orienteer.web.crawl_map import MAX_CIRCLES, CrawlMap, Flow, KeptMap
from orienteer.web.rendering import Entry, render, wants_part

ENTRY = Entry("/map", "Map")
router = APIRouter()

_ROWS = 50
_FLOWS = 10
_MAX_PAGE = 1_000_000
# Shares of the known pages that were fetched, from which on a region has the next colour; map.js has the same.
_SHARES = (0.25, 0.5, 0.75, 1.0)
SHARE_LABELS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % or more", "all")

Words = Annotated[str, Query(max_length=200)]
Name = Annotated[str, Query(max_length=3000)]
PageNumber = Annotated[int, Query(ge=1, le=_MAX_PAGE)]


class Region(BaseModel):
    """A host, or a part of a site, as a circle. The largest radius is 1; the middle of the map is at (0, 0).

    `label` is the name without what all hosts have in common. `n_pages` were fetched, `n_others` are linked to from
    fetched pages and were not.
    """

    name: str
    label: str
    rank: float
    n_pages: int
    n_others: int
    x: float
    y: float
    radius: float


class Links(BaseModel):
    """`mass[k]` flows from region `sources[k]` to `targets[k]`, places in the list of regions; the most first."""

    sources: list[int]
    targets: list[int]
    mass: list[float]


class MapAnswer(BaseModel):
    """The regions with the most rank, the highest first, and the strongest links to and from each."""

    kind: Kind
    n_regions: int
    n_pages: int
    regions: list[Region]
    links: Links


class RegionFlow(BaseModel):
    name: str
    mass: float
    n_links: int


class RegionPage(BaseModel):
    """`position` is its place by rank among all fetched pages; `n_in` and `n_out` are links between these."""

    url: str
    rank: float
    position: int
    n_in: int
    n_out: int


class RegionAnswer(BaseModel):
    """A region, its strongest links, and some of its pages by rank: those on page `page` of `n_rows` each."""

    kind: Kind
    name: str
    rank: float
    position: int
    n_regions: int
    n_pages: int
    n_others: int
    links_in: list[RegionFlow]
    links_out: list[RegionFlow]
    page: int
    n_rows: int
    pages: list[RegionPage]


@router.get("/map", include_in_schema=False)
def map_page(request: Request, q: Words = "", page: PageNumber = 1) -> HTMLResponse:
    """The map, and its regions as a table; with `q`, those with these words in their names."""
    found = _kept(request).current()
    regions = list(found.named_like(q))
    rows = [_row(found, region) for region in regions[(page - 1) * _ROWS : page * _ROWS]]
    return render(
        request, "_parts/regions.html" if wants_part(request) else "map.html", crawl_map=found, q=q, rows=rows,
        n_found=len(regions), page=page, n_sheets=_n_sheets(len(regions)), max_circles=MAX_CIRCLES,
        share_class=share_class, share_labels=SHARE_LABELS,
    )  # fmt: skip


@router.get("/map/host", include_in_schema=False)
def region_page(request: Request, name: Name, page: PageNumber = 1) -> HTMLResponse:
    """The pages of a host, or of a part of a site."""
    answer = _region(_kept(request).current(), name, page)
    return render(request, "region.html", region=answer, n_sheets=_n_sheets(answer.n_pages))


@router.get("/api/map")
def map_data(request: Request) -> MapAnswer:
    """The map of the pages fetched so far."""
    found = _kept(request).drawn()
    circles, masses = found.circles, found.masses
    regions = [
        Region(
            name=found.names[region],
            label=found.label(region),
            rank=_rounded(masses.rank[region]),
            n_pages=int(masses.n_pages[region]),
            n_others=int(found.n_others[region]),
            x=round(x, 4),
            y=round(y, 4),
            radius=round(radius, 4),
        )
        for region, x, y, radius in zip(found.order.tolist(), *(row.tolist() for row in circles.layout), strict=False)
    ]
    return MapAnswer(
        kind=found.kind,
        n_regions=len(found.names),
        n_pages=len(found.rank),
        regions=regions,
        links=Links(
            sources=circles.sources.tolist(), targets=circles.targets.tolist(), mass=list(map(_rounded, circles.mass))
        ),
    )


@router.get("/api/map/host")
def region_data(request: Request, name: Name, page: PageNumber = 1) -> RegionAnswer:
    """A host, or a part of a site: its strongest links, and its pages by rank."""
    return _region(_kept(request).current(), name, page)


def _kept(request: Request) -> KeptMap:
    kept = request.app.state.map
    assert isinstance(kept, KeptMap)
    return kept


def _region(found: CrawlMap, name: str, page: int) -> RegionAnswer:
    place = found.places.get(name)
    if place is None:
        raise HTTPException(404, f"no {found.kind} of the map is named {name}")
    region = int(found.order[place])
    masses = found.masses
    return RegionAnswer(
        kind=found.kind,
        name=name,
        rank=float(masses.rank[region]),
        position=place + 1,
        n_regions=len(found.names),
        n_pages=int(masses.n_pages[region]),
        n_others=int(found.n_others[region]),
        links_in=_told(found, found.flows_in(region, _FLOWS)),
        links_out=_told(found, found.flows_out(region, _FLOWS)),
        page=page,
        n_rows=_ROWS,
        pages=[RegionPage(**one._asdict()) for one in found.pages(region, (page - 1) * _ROWS, _ROWS)],
    )


def _told(found: CrawlMap, flows: list[Flow]) -> list[RegionFlow]:
    return [RegionFlow(name=found.names[flow.region], mass=flow.mass, n_links=flow.n_links) for flow in flows]


def _row(found: CrawlMap, region: int) -> dict[str, Any]:
    name = found.names[region]
    return {
        "place": found.places[name],
        "name": name,
        "label": found.label(region),
        "rank": float(found.masses.rank[region]),
        "n_pages": int(found.masses.n_pages[region]),
        "fetched": found.fetched_share(region),
    }


def share_class(share: float) -> int:
    """The number of the colour for a share of pages fetched.

    >>> [share_class(share) for share in (0.1, 0.25, 0.6, 0.9, 1.0)]
    [0, 1, 2, 3, 4]
    """
    return sum(share >= least for least in _SHARES)


def _n_sheets(n_rows: int) -> int:
    return max(1, -(-n_rows // _ROWS))


def _rounded(number: float) -> float:
    """To four figures: enough to draw and to read."""
    return float(f"{number:.4g}")
