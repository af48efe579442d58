"""Archived pages at `/archived?url=...`: the bar above the frame, the dates, and the differences between two dates.

The frame has its own origin (see `archived/origin`). When it has navigated to another page, the bar is requested again,
since only the server knows the page in the frame.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from orienteer.errors import InputError
from orienteer.inspect.archived_page import ArchivedAsset, assets_of, missing_reasons
from orienteer.inspect.captures import ArchivedTime
from orienteer.inspect.text_changes import TextChanges, text_changes, texts_at
from orienteer.store.folder_view import FolderView
from orienteer.url import MAX_URL_BYTES
from orienteer.web.archived.origin import archived_pages, can_be_framed
from orienteer.web.archived.views import FILE, RENDERED, SENT, FrameView, path_to, time_in, time_text
from orienteer.web.rendering import NavEntry, render
from orienteer.web.security import FRAMED
from orienteer.web.served_crawl import served_crawl
from orienteer.wording import plain

ENTRY: NavEntry | None = None  # results link here
_N_CHOICES = 300  # dates in the menu of the bar
_N_ROWS = 100  # dates per page of the list
_MAX_VIEW_BYTES = 4 << 20
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}

router = APIRouter()

Address = Annotated[str, Query(min_length=1, max_length=MAX_URL_BYTES, description="The URL of the page")]
Moment = Annotated[str, Query(max_length=20, description="Digits, as in 20260131180509: the nearest date counts")]


class ArchivedVersion(BaseModel):
    """A capture of a page. `changed`: it differs from the previous one, null for the first; `rendered`: a browser
    rendered it."""

    time: float
    date: str
    url: str
    status: int
    type: str
    changed: bool | None
    rendered: bool
    screenshot: bool


class ArchivedDates(BaseModel):
    url: str
    dates: list[ArchivedVersion]


class Assets(BaseModel):
    url: str
    date: str
    n_archived: int
    n_missing: int
    assets: list[ArchivedAsset]


class ChangedLine(BaseModel):
    """`kind` is same, added, removed, or skipped: `n_skipped` equal lines are left out."""

    kind: str
    text: str
    n_skipped: int


class ChangedLines(BaseModel):
    """The differences between two captures. `complete`: all lines were compared."""

    url: str
    before: str
    after: str
    n_added: int
    n_removed: int
    complete: bool
    lines: list[ChangedLine]


class _Compared(NamedTuple):
    before: ArchivedTime
    after: ArchivedTime
    changes: TextChanges


@router.get("/archived", include_in_schema=False)
def archived_page(
    request: Request, url: Address, time: Moment = "", sent: Annotated[bool, Query(description="No DOM")] = False
) -> HTMLResponse:
    """Return the page with the frame and the bar above it."""
    times = _times(request, url)
    if not times:
        return render(request, "archived_missing.html", 404, url=url)
    chosen = _nearest(times, time)
    view = archived_pages(request).begin_view(request, request.app.state.open_archive)
    kind = SENT if sent or chosen.dom is None else RENDERED
    setattr(request.state, FRAMED, view.address)
    frame = view.own + path_to(view.id, kind, chosen.time, chosen.capture.url)
    return render(request, "archived.html", frame=frame, **_bar(request, view, times, chosen, kind == SENT))


@router.get("/archived/bar", include_in_schema=False)
def archived_bar(request: Request, view: Annotated[str, Query(max_length=64)]) -> HTMLResponse:
    """Return the bar above a frame that may have navigated to another page."""
    opened = archived_pages(request).views.get(view)
    if opened is None or opened.crawl != request.scope.get("root_path", ""):
        raise HTTPException(404, "This is no longer open.")
    if opened.page is None:  # it has not loaded yet
        return HTMLResponse(status_code=204)
    times = _times(request, opened.page.url)
    if not times:
        return render(request, "_fragments/archived_bar.html", url=opened.page.url, times=[])
    chosen = _nearest(times, time_text(opened.page.time or opened.page.requested))
    values = _bar(request, opened, times, chosen, not opened.page.is_rendered or chosen.dom is None)
    return render(request, "_fragments/archived_bar.html", **values)


@router.get("/archived/dates", include_in_schema=False)
def archived_dates(request: Request, url: Address, page: Annotated[int, Query(ge=1)] = 1) -> HTMLResponse:
    """List the captures of a page, newest first."""
    times = _times(request, url)
    if not times:
        return render(request, "archived_missing.html", 404, url=url)
    newest = times[::-1]
    start = (page - 1) * _N_ROWS
    return render(
        request,
        "archived_dates.html",
        url=url,
        times=newest[start : start + _N_ROWS],
        first=start,
        n_times=len(times),
        n_changed=sum(bool(time.changed) for time in times),
        page=page,
        n_sheets=-(-len(times) // _N_ROWS),
    )


@router.get("/archived/changes", include_in_schema=False)
def archived_changes(request: Request, url: Address, before: Moment = "", after: Moment = "") -> HTMLResponse:
    """List the differences between two dates."""
    compared = _compared(request, url, before, after)
    if compared is None:
        return render(request, "archived_missing.html", 404, url=url)
    return render(request, "archived_changes.html", url=url, **compared._asdict())


@router.get("/archived/picture", include_in_schema=False)
def archived_picture(request: Request, url: Address) -> Response:
    """Return the newest screenshot of a page; only JPEG and PNG are sent."""
    found = served_crawl(request).archive.view_of(url)
    kind = next((kind for begin, kind in _PICTURES.items() if found and found.content.startswith(begin)), None)
    if found is None or kind is None or len(found.content) > _MAX_VIEW_BYTES:
        raise HTTPException(404, "There is no screenshot of this page.")
    return Response(found.content, 200, {"Cache-Control": "private, max-age=600"}, kind)


@router.get(
    "/api/archived",
    response_model=ArchivedDates,
    tags=["archive"],
    summary="When a page was archived",
)
def archived_api(request: Request, url: Address) -> ArchivedDates:
    """The captures of a page, oldest first."""
    return ArchivedDates(url=url, dates=[_version(time) for time in _times(request, url)])


@router.get(
    "/api/archived/assets",
    response_model=Assets,
    tags=["archive"],
    summary="Which assets of an archived page the archive holds",
)
def assets_api(request: Request, url: Address, time: Moment = "") -> Assets:
    """Pictures, styles, fonts and frames of the page and its styles, with the reason if the archive lacks them."""
    with served_crawl(request).archive.reading(fresh=True) as captures:
        times = captures.times_of(url)
        if not times:
            raise HTTPException(404, "This page is not in the archive.")
        chosen = _nearest(times, time)
        with FolderView.open(served_crawl(request).path) as folder:
            found = assets_of(captures, folder.database, chosen)
    n_missing = sum(bool(asset.reason) for asset in found)
    return Assets(
        url=url,
        date=time_text(chosen.time),
        n_archived=len(found) - n_missing,
        n_missing=n_missing,
        assets=found,
    )


@router.get(
    "/api/archived/changes",
    response_model=ChangedLines,
    tags=["archive"],
    summary="What differs between two dates of a page",
)
def changes_api(request: Request, url: Address, before: Moment = "", after: Moment = "") -> ChangedLines:
    """The lines of its text; by default of the last two dates between which it changed."""
    compared = _compared(request, url, before, after)
    if compared is None:
        raise HTTPException(404, "This page is not in the archive.")
    changes = compared.changes
    return ChangedLines(
        url=url,
        before=time_text(compared.before.time),
        after=time_text(compared.after.time),
        n_added=changes.n_added,
        n_removed=changes.n_removed,
        complete=changes.is_complete,
        lines=[ChangedLine(kind=line.kind, text=line.text, n_skipped=line.n_skipped) for line in changes.lines],
    )


def _times(request: Request, url: str) -> list[ArchivedTime]:
    with served_crawl(request).archive.reading(fresh=True) as captures:
        return captures.times_of(url)


def _nearest(times: list[ArchivedTime], moment: str) -> ArchivedTime:
    """Return the capture nearest to a date; the newest one if none is given."""
    if not moment:
        return times[-1]
    requested = time_in(moment)
    if requested is None:
        raise InputError(f"{plain(moment, 20)!r} is not a date such as 20260131180509")
    return min(times, key=lambda time: abs(time.time - requested))


def _bar(
    request: Request, view: FrameView, times: list[ArchivedTime], chosen: ArchivedTime, is_sent: bool
) -> dict[str, Any]:
    """Return the template's values for the bar."""
    missing: dict[str, str] = {}
    if view.missing:
        with FolderView.open(served_crawl(request).path) as folder:
            missing = missing_reasons(folder.database, dict(view.missing))
    number = times.index(chosen)
    start = max(0, min(number - _N_CHOICES // 2, len(times) - _N_CHOICES))
    return {
        "view": view,
        "missing": missing,
        "url": chosen.capture.url,
        "title": chosen.capture.url,
        "times": times,
        "choices": times[start : start + _N_CHOICES][::-1],
        "chosen": chosen,
        "is_sent": is_sent,
        "saved": None
        if can_be_framed(chosen.capture.type)
        else view.own + path_to(view.id, FILE, chosen.time, chosen.capture.url),
    }


def _compared(request: Request, url: str, before: str, after: str) -> _Compared | None:
    """Compare two captures; by default the last one that had changed, and the one before it."""
    with served_crawl(request).archive.reading(fresh=True) as captures:
        times = captures.times_of(url)
        if not times:
            return None
        last = _nearest(times, after) if after else next((time for time in times[::-1] if time.changed), times[-1])
        first = _nearest(times, before) if before else times[max(times.index(last) - 1, 0)]
        first, last = sorted((first, last), key=lambda time: time.time)
        return _Compared(first, last, text_changes(*texts_at(captures, first, last)))


def _version(time: ArchivedTime) -> ArchivedVersion:
    row = time.capture
    return ArchivedVersion(
        time=row.time,
        date=time_text(row.time),
        url=row.url,
        status=row.status,
        type=row.type,
        changed=time.changed,
        rendered=time.dom is not None,
        screenshot=time.view is not None,
    )
