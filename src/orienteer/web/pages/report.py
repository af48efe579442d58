"""The Report page at `/report`: problems of the site; also as files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from markupsafe import Markup

from orienteer.report.finding import SiteReport
from orienteer.report.writing import findings_html, headline, write_report
from orienteer.web.cached_report import CachedReport
from orienteer.web.rendering import NavEntry, is_fragment_request, render

ENTRY = NavEntry("/report", "Report")
router = APIRouter()

_LONG_S = 3600.0  # a request for a file waits until the report is made
_BLOCK_CHARS = 1 << 16
_TYPES = {"html": "text/html", "csv": "text/csv", "json": "application/json"}


@router.get("/report", include_in_schema=False)
def report_page(request: Request) -> HTMLResponse:
    state = _cached(request).current()
    report = state.report
    return render(
        request,
        "_fragments/report.html" if is_fragment_request(request) else "report.html",
        report=report,
        doing=state.doing,
        problem=state.problem,
        headline="" if report is None else headline(report),
        findings="" if report is None else Markup(findings_html(report, _details(request))),
    )


@router.get(
    "/api/report",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {}}, "description": "The report"}},
)
def report_data(request: Request) -> StreamingResponse:
    """The site report as `orienteer report --format json` prints it; the response waits until it is made."""
    return _file(request, "json", attached=False)


@router.get("/report/{name}", include_in_schema=False)
def report_file(request: Request, name: str) -> StreamingResponse:
    """Return `report.html`, `report.csv` or `report.json` as a download."""
    stem, _, format = name.rpartition(".")
    if stem != "report" or format not in _TYPES:
        raise HTTPException(404, f"no report of that name: {name[:100]}")
    return _file(request, format, attached=True)


def _file(request: Request, format: str, attached: bool) -> StreamingResponse:
    state = _cached(request).current(_LONG_S)
    if state.report is None:
        raise HTTPException(409, state.problem or "the report could not be made")
    headers = {"Content-Disposition": f'attachment; filename="site-report.{format}"'} if attached else {}
    return StreamingResponse(_blocks(state.report, format), media_type=_TYPES[format], headers=headers)


def _blocks(report: SiteReport, format: str) -> Iterator[str]:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") as file:
        write_report(report, format, file)
        file.seek(0)
        while block := file.read(_BLOCK_CHARS):
            yield block


def _details(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/page"


def _cached(request: Request) -> CachedReport:
    cached = request.app.state.report
    assert isinstance(cached, CachedReport)
    return cached
