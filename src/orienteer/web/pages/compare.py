"""The Compare page at `/compare`: the charts of comparisons."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from orienteer.web import line_chart
from orienteer.web.comparisons import ComparisonEntry, ComparisonResponse, Comparisons
from orienteer.web.rendering import NavEntry, render, served_crawl

ENTRY = NavEntry("/compare", "Compare")
router = APIRouter()

_N_DRAWN = 6
_BASELINE = "breadth-first"

Name = Annotated[str | None, Query(max_length=300)]
Names = Annotated[list[str] | None, Query(max_length=200)]


class Unreadable(BaseModel):
    name: str
    problem: str


class ComparisonsResponse(BaseModel):
    """The names of all comparisons, one comparison, and the files that cannot be read."""

    names: list[str]
    comparison: ComparisonResponse | None
    unreadable: list[Unreadable]


@router.get("/compare", include_in_schema=False)
def compare_page(request: Request, name: Name = None, show: Names = None) -> HTMLResponse:
    """Return a comparison with the curves named by `show`, by default the best few."""
    entries = _comparisons(request).entries()
    chosen = _chosen(entries, name)
    names = [row.name for row in chosen.rows] if chosen else []
    default = _few(names)
    return render(
        request,
        "compare.html",
        comparisons=entries,
        chosen=chosen,
        drawings=[line_chart.drawn(chart, names) for chart in chosen.charts] if chosen else [],
        drawn=set(show or default),
        default=default,
        geometry=line_chart,
        crawl_folder=str(served_crawl(request).path),
    )


@router.get("/api/compare")
def compare_data(request: Request, name: Name = None) -> ComparisonsResponse:
    """The comparison with this name, or the first one."""
    entries = _comparisons(request).entries()
    return ComparisonsResponse(
        names=[one.name for one in entries if one.comparison is not None],
        comparison=_chosen(entries, name),
        unreadable=[Unreadable(name=one.name, problem=one.problem) for one in entries if one.problem is not None],
    )


def _few(names: list[str]) -> list[str]:
    """Return the names to draw by default: the best, and the baseline. More curves are hard to distinguish."""
    best = names if len(names) <= _N_DRAWN else names[: _N_DRAWN - 1]
    return [name for name in names if name in best or name == _BASELINE]


def _comparisons(request: Request) -> Comparisons:
    comparisons = request.app.state.comparisons
    assert isinstance(comparisons, Comparisons)
    return comparisons


def _chosen(entries: list[ComparisonEntry], name: str | None) -> ComparisonResponse | None:
    readable = {one.name: one.comparison for one in entries if one.comparison is not None}
    if name is None:
        return next(iter(readable.values()), None)
    if name not in readable:
        raise HTTPException(404, f"there is no comparison named {name}")
    return readable[name]
