"""The Report page at `/report`: problems of the site; also as files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from markupsafe import Markup

from orienteer.progress import Progress
from orienteer.report.finding import SiteReport
from orienteer.report.site_report import site_report
from orienteer.report.writing import findings_html, headline, write_report
from orienteer.web.cached_document import CachedDocument
from orienteer.web.rendering import NavEntry, is_fragment_request, render
from orienteer.web.served_crawl import served_crawl

ENTRY = NavEntry("/report", "Report")
router = APIRouter()

_TIMEOUT_S = 1.5  # most crawls are small, and their report is ready by then
_LONG_S = 3600.0  # a request for a file waits until the report is made
_PAUSES = {"pause": 20.0, "least_pause_s": 30.0}  # between two reports of a running crawl
_BLOCK_CHARS = 1 << 16
_TYPES = {"html": "text/html", "csv": "text/csv", "json": "application/json"}


@router.get("/report", include_in_schema=False)
def report_page(request: Request) -> HTMLResponse:
    report, doing, problem = _report(request).current(_TIMEOUT_S)
    return render(
        request,
        "_fragments/report.html" if is_fragment_request(request) else "report.html",
        report=report,
        doing=doing,
        problem=problem,
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
    report = _report(request).current(_LONG_S).expect()
    headers = {"Content-Disposition": f'attachment; filename="site-report.{format}"'} if attached else {}
    return StreamingResponse(_blocks(report, format), media_type=_TYPES[format], headers=headers)


def _blocks(report: SiteReport, format: str) -> Iterator[str]:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") as file:
        write_report(report, format, file)
        file.seek(0)
        while block := file.read(_BLOCK_CHARS):
            yield block


def _details(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/page"


def _report(request: Request) -> CachedDocument[SiteReport]:
    return served_crawl(request).document(_report_of, **_PAUSES)


def _report_of(folder: Path, progress: Progress) -> SiteReport:
    return site_report(folder, progress=progress)
