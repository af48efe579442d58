"""The Map page at `/map`: hosts, or the folders of a single one, and the pages of each."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from orienteer.graph.regions import Kind
from orienteer.web.crawl_map import MAX_CIRCLES, CrawlMap, MappedPage, RegionFlow, map_of_folder
from orienteer.web.rendering import NavEntry, is_fragment_request, render
from orienteer.web.served_crawl import served_crawl

ENTRY = NavEntry("/map", "Map")
router = APIRouter()

_ROWS = 50
_LONG_S = 3600.0  # a request waits until the map is made
_PAUSES = {"pause": 10.0, "least_pause_s": 2.0}  # between two maps of a running crawl
_FLOWS = 10
_MAX_PAGE = 1_000_000
# Shares of the known pages that were fetched, from which on a region has the next colour; map.js has the same.
_SHARES = (0.25, 0.5, 0.75, 1.0)
SHARE_LABELS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % or more", "all")

Words = Annotated[str, Query(max_length=200)]
Name = Annotated[str, Query(max_length=3000)]
PageNumber = Annotated[int, Query(ge=1, le=_MAX_PAGE)]


class Region(BaseModel):
    """A host or a folder as a circle. The largest radius is 1; the center of the map is at (0, 0).

    `label` is the name without the suffix that all hosts share. `n_pages` were fetched; `n_others` were not, but are
    linked from fetched pages.
    """

    name: str
    label: str
    rank: float
    n_pages: int
    n_others: int
    x: float
    y: float
    radius: float


class MassFlows(BaseModel):
    """`mass[k]` flows from region `sources[k]` to `targets[k]`, indexes in the list of regions; largest first."""

    sources: list[int]
    targets: list[int]
    mass: list[float]


class MapResponse(BaseModel):
    """The regions of the highest ranks, highest first, and the strongest links to and from each."""

    kind: Kind
    n_regions: int
    n_pages: int
    regions: list[Region]
    links: MassFlows


class RegionResponse(BaseModel):
    """A region, its strongest links, and `n_rows` of its pages by rank, those on page `page`."""

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
    pages: list[MappedPage]


@router.get("/map", include_in_schema=False)
def map_page(request: Request, q: Words = "", page: PageNumber = 1) -> HTMLResponse:
    """Return the map, and its regions as a table; with `q`, those whose names contain these words."""
    crawl_map = _map(request)
    regions = list(crawl_map.named_like(q))
    rows = [_row(crawl_map, region) for region in regions[(page - 1) * _ROWS : page * _ROWS]]
    template = "_fragments/regions.html" if is_fragment_request(request) else "map.html"
    return render(
        request, template, crawl_map=crawl_map, q=q, rows=rows,
        n_found=len(regions), page=page, n_sheets=_n_sheets(len(regions)), max_circles=MAX_CIRCLES,
        share_class=share_class, share_labels=SHARE_LABELS,
    )  # fmt: skip


@router.get("/map/host", include_in_schema=False)
def region_page(request: Request, name: Name, page: PageNumber = 1) -> HTMLResponse:
    """Return the pages of a host or of a folder."""
    response = _region(_map(request), name, page)
    return render(request, "region.html", region=response, n_sheets=_n_sheets(response.n_pages))


@router.get("/api/map")
def map_data(request: Request) -> MapResponse:
    """The map of the pages fetched so far."""
    crawl_map = _map(request)
    circles, masses = crawl_map.circles, crawl_map.masses
    regions = [
        Region(
            name=crawl_map.names[region],
            label=crawl_map.label(region),
            rank=_rounded(masses.rank[region]),
            n_pages=int(masses.n_pages[region]),
            n_others=int(crawl_map.n_others[region]),
            x=round(x, 4),
            y=round(y, 4),
            radius=round(radius, 4),
        )
        for region, x, y, radius in zip(
            crawl_map.order.tolist(), *(row.tolist() for row in circles.layout), strict=False
        )
    ]
    return MapResponse(
        kind=crawl_map.kind,
        n_regions=len(crawl_map.names),
        n_pages=len(crawl_map.rank),
        regions=regions,
        links=MassFlows(
            sources=circles.sources.tolist(), targets=circles.targets.tolist(), mass=list(map(_rounded, circles.mass))
        ),
    )


@router.get("/api/map/host")
def region_data(request: Request, name: Name, page: PageNumber = 1) -> RegionResponse:
    """A host or a folder: its strongest links, and its pages by rank."""
    return _region(_map(request), name, page)


def _map(request: Request) -> CrawlMap:
    return served_crawl(request).document(map_of_folder, **_PAUSES).current(_LONG_S).expect()


def _region(crawl_map: CrawlMap, name: str, page: int) -> RegionResponse:
    place = crawl_map.places.get(name)
    if place is None:
        raise HTTPException(404, f"no {crawl_map.kind} of the map is named {name}")
    region = int(crawl_map.order[place])
    masses = crawl_map.masses
    return RegionResponse(
        kind=crawl_map.kind,
        name=name,
        rank=float(masses.rank[region]),
        position=place + 1,
        n_regions=len(crawl_map.names),
        n_pages=int(masses.n_pages[region]),
        n_others=int(crawl_map.n_others[region]),
        links_in=crawl_map.flows_in(region, _FLOWS),
        links_out=crawl_map.flows_out(region, _FLOWS),
        page=page,
        n_rows=_ROWS,
        pages=crawl_map.pages(region, (page - 1) * _ROWS, _ROWS),
    )


def _row(crawl_map: CrawlMap, region: int) -> dict[str, Any]:
    name = crawl_map.names[region]
    return {
        "place": crawl_map.places[name],
        "name": name,
        "label": crawl_map.label(region),
        "rank": float(crawl_map.masses.rank[region]),
        "n_pages": int(crawl_map.masses.n_pages[region]),
        "fetched": crawl_map.fetched_share(region),
    }


def share_class(share: float) -> int:
    """Return the index of the colour for a share of pages fetched.

    >>> [share_class(share) for share in (0.1, 0.25, 0.6, 0.9, 1.0)]
    [0, 1, 2, 3, 4]
    """
    return sum(share >= least for least in _SHARES)


def _n_sheets(n_rows: int) -> int:
    return max(1, -(-n_rows // _ROWS))


def _rounded(number: float) -> float:
    """Round to four significant digits, enough to draw and to read."""
    return float(f"{number:.4g}")
