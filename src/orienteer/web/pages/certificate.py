"""The Certificate page at `/certificate`: the proved coverage of a crawl, to download and share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from orienteer.certificates.facts import Facts
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_body, certificate_page, style_sheet
from orienteer.errors import CrawlFolderError
from orienteer.progress import Progress
from orienteer.store.lock import holder_of
from orienteer.web.cached_document import NotReadyError
from orienteer.web.rendering import NavEntry, render
from orienteer.web.served_crawl import served_crawl

ENTRY = NavEntry("/certificate", "Certificate")
router = APIRouter()

_AGAIN_S = "3"
_TIMEOUT_S = 3.0


@router.get("/certificate", include_in_schema=False)
def certificate_view(request: Request) -> HTMLResponse:
    body: str | Markup = ""
    why_not, is_being_made = "", False
    try:
        body = Markup(certificate_body(_facts(request)))  # it is escaped
    except CrawlFolderError as error:
        why_not, is_being_made = str(error), isinstance(error, NotReadyError)
    folder = str(served_crawl(request).path)
    response = render(request, "certificate.html", body=body, why_not=why_not, folder=folder, file=_file_name(request))
    if is_being_made:
        response.headers["Refresh"] = _AGAIN_S
    return response


@router.get("/certificate/download", include_in_schema=False)
def certificate_file(request: Request) -> Response:
    """Return the certificate page as a self-contained file."""
    headers = {"Content-Disposition": f'attachment; filename="{_file_name(request)}"'}
    return Response(certificate_page(_facts(request)), media_type="text/html", headers=headers)


@router.get("/certificate/style.css", include_in_schema=False)
def certificate_style() -> Response:
    return Response(style_sheet(), media_type="text/css")


@router.get("/api/certificate", tags=["crawl"], summary="The certificate of the crawl, as data")
def certificate_data(request: Request) -> dict[str, Any]:
    """Its facts, all recomputed from the pages, with their digest; `orienteer verify` can check it as a file."""
    return _facts(request).as_json()


def _facts(request: Request) -> Facts:
    crawl = served_crawl(request)
    if holder_of(crawl.path) is not None:
        raise CrawlFolderError("The crawl is running. A certificate can be made when it has stopped.")
    return crawl.document(_facts_of).current(_TIMEOUT_S).expect()


def _facts_of(folder: Path, progress: Progress) -> Facts:
    """Return the facts, all of which are computed again; this takes as long as replaying the crawl."""
    return facts_of_folder(folder, progress=progress)


def _file_name(request: Request) -> str:
    """Return a file name that is valid on every system."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", served_crawl(request).name).strip("-.") or "crawl") + ".certificate.html"
