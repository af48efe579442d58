"""The Compare page at `/compare`: the curves of finished comparisons."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from orienteer.web import line_chart
from orienteer.web.comparisons import ComparisonAnswer, Comparisons, Listed
from orienteer.web.rendering import Entry, render, served_crawl

ENTRY = Entry("/compare", "Compare")
router = APIRouter()

_SHOWN = 6
_KNOWN_TO_ALL = "breadth-first"

Name = Annotated[str | None, Query(max_length=300)]
Names = Annotated[list[str] | None, Query(max_length=200)]


class Unreadable(BaseModel):
    name: str
    problem: str


class CompareAnswer(BaseModel):
    """The names of all comparisons there are, one of them, and those files that are none."""

    names: list[str]
    comparison: ComparisonAnswer | None
    unreadable: list[Unreadable]


@router.get("/compare", include_in_schema=False)
def compare_page(request: Request, name: Name = None, show: Names = None) -> HTMLResponse:
    """A comparison; of its contenders those that `show` names are drawn, the best few if none is named."""
    listed = _comparisons(request).listed()
    chosen = _chosen(listed, name)
    names = [row.name for row in chosen.rows] if chosen else []
    default = _few(names)
    return render(
        request,
        "compare.html",
        listed=listed,
        chosen=chosen,
        drawings=[line_chart.drawn(chart, names) for chart in chosen.charts] if chosen else [],
        shown=set(show or default),
        default=default,
        geometry=line_chart,
        crawl_folder=str(served_crawl(request).path),
    )


@router.get("/api/compare")
def compare_data(request: Request, name: Name = None) -> CompareAnswer:
    """The comparison with this name, or the first one."""
    listed = _comparisons(request).listed()
    return CompareAnswer(
        names=[one.name for one in listed if one.comparison is not None],
        comparison=_chosen(listed, name),
        unreadable=[Unreadable(name=one.name, problem=one.problem) for one in listed if one.problem is not None],
    )


def _few(names: list[str]) -> list[str]:
    """The contenders that are drawn at first: the best, and the one that everybody knows. More look all the same."""
    best = names if len(names) <= _SHOWN else names[: _SHOWN - 1]
    return [name for name in names if name in best or name == _KNOWN_TO_ALL]


def _comparisons(request: Request) -> Comparisons:
    comparisons = request.app.state.comparisons
    assert isinstance(comparisons, Comparisons)
    return comparisons


def _chosen(listed: list[Listed], name: str | None) -> ComparisonAnswer | None:
    readable = {one.name: one.comparison for one in listed if one.comparison is not None}
    if name is None:
        return next(iter(readable.values()), None)
    if name not in readable:
        raise HTTPException(404, f"there is no comparison named {name}")
    return readable[name]
