"""A page as it was archived, at `/archived?url=...`: the bar above the frame, the dates, and what differs between two.

The frame is on an origin of its own (see `archived/origin`). When it has gone to another page the bar is asked for
again: the server knows where it is.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from orienteer.answers.reading import read_page
from orienteer.errors import InputError
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.inspect.captures import ArchivedTime, Captures
from orienteer.inspect.text_changes import TextChanges, text_changes
from orienteer.url import MAX_URL_BYTES
from orienteer.web.archived.addresses import FILE, SENT, SHOWN, path_to, time_in, time_text
from orienteer.web.archived.origin import can_be_framed
from orienteer.web.archived.pages import archived_pages
from orienteer.web.archived.views import View
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render, served_crawl
from orienteer.web.security import FRAMED
from orienteer.wording import plain

ENTRY: Entry | None = None  # one comes here from a result
_N_CHOICES = 300  # dates that the bar lets choose from
_N_ROWS = 100  # dates a sheet
_MAX_VIEW_BYTES = 4 << 20
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}

router = APIRouter()

Address = Annotated[str, Query(min_length=1, max_length=MAX_URL_BYTES, description="The URL of the page")]
Moment = Annotated[str, Query(max_length=20, description="Digits, as in 20260131180509: the nearest date counts")]


class Archived(BaseModel):
    """A date at which a page was archived. `changed` says whether it differs from the date before, if there is one;
    `rendered` whether a browser showed it then."""

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
    dates: list[Archived]


class ChangedLine(BaseModel):
    """`kind` is same, added, removed, or skipped: so many lines that are the same are left out."""

    kind: str
    text: str
    n_skipped: int


class Changes(BaseModel):
    """`complete` says whether all lines were compared."""

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
    """The frame, and the bar above it."""
    times = _times(request, url)
    if not times:
        return render(request, "archived_missing.html", 404, url=url)
    chosen = _nearest(times, time)
    view = archived_pages(request).begin_view(request, request.app.state.open_archive)
    kind = SENT if sent or chosen.dom is None else SHOWN
    setattr(request.state, FRAMED, view.address)
    frame = view.own + path_to(view.id, kind, chosen.time, chosen.capture.url)
    return render(request, "archived.html", frame=frame, **_bar(view, times, chosen, kind == SENT))


@router.get("/archived/bar", include_in_schema=False)
def archived_bar(request: Request, view: Annotated[str, Query(max_length=64)]) -> HTMLResponse:
    """The bar above a frame that may have gone elsewhere by now."""
    found = archived_pages(request).views.get(view)
    if found is None or found.crawl != request.scope.get("root_path", ""):
        raise HTTPException(404, "This is no longer open.")
    if found.shown is None:  # it has not loaded yet
        return HTMLResponse(status_code=204)
    times = _times(request, found.shown.url)
    if not times:
        return render(request, "_parts/archived_bar.html", url=found.shown.url, times=[])
    chosen = _nearest(times, time_text(found.shown.time or found.shown.wanted))
    values = _bar(found, times, chosen, not found.shown.as_shown or chosen.dom is None)
    return render(request, "_parts/archived_bar.html", **values)


@router.get("/archived/dates", include_in_schema=False)
def archived_dates(request: Request, url: Address, page: Annotated[int, Query(ge=1)] = 1) -> HTMLResponse:
    """The dates at which a page was archived, the newest first."""
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
    """What differs between two dates."""
    compared = _compared(request, url, before, after)
    if compared is None:
        return render(request, "archived_missing.html", 404, url=url)
    return render(request, "archived_changes.html", url=url, **compared._asdict())


@router.get("/archived/picture", include_in_schema=False)
def archived_picture(request: Request, url: Address) -> Response:
    """The newest screenshot of a page; nothing but a picture is ever sent from here."""
    found = served_crawl(request).archive.view_of(url)
    kind = next((kind for begin, kind in _PICTURES.items() if found and found.content.startswith(begin)), None)
    if found is None or kind is None or len(found.content) > _MAX_VIEW_BYTES:
        raise HTTPException(404, "There is no screenshot of this page.")
    return Response(found.content, 200, {"Cache-Control": "private, max-age=600"}, kind)


@router.get(
    "/api/archived",
    response_model=ArchivedDates,
    responses=REFUSALS,
    tags=["archive"],
    summary="When a page was archived",
)
def archived_api(request: Request, url: Address) -> ArchivedDates:
    """The dates, the first one first."""
    return ArchivedDates(url=url, dates=[_told(time) for time in _times(request, url)])


@router.get(
    "/api/archived/changes",
    response_model=Changes,
    responses=REFUSALS,
    tags=["archive"],
    summary="What differs between two dates of a page",
)
def changes_api(request: Request, url: Address, before: Moment = "", after: Moment = "") -> Changes:
    """The lines of its text; by default of the last two dates at which it changed."""
    compared = _compared(request, url, before, after)
    if compared is None:
        raise HTTPException(404, "This page is not in the archive.")
    changes = compared.changes
    return Changes(
        url=url,
        before=time_text(compared.before.time),
        after=time_text(compared.after.time),
        n_added=changes.n_added,
        n_removed=changes.n_removed,
        complete=changes.is_whole,
        lines=[ChangedLine(kind=line.kind, text=line.text, n_skipped=line.n_skipped) for line in changes.lines],
    )


def _times(request: Request, url: str) -> list[ArchivedTime]:
    with served_crawl(request).archive.reading(fresh=True) as captures:
        return captures.times_of(url)


def _nearest(times: list[ArchivedTime], moment: str) -> ArchivedTime:
    """The date that is meant; the newest one where none is."""
    if not moment:
        return times[-1]
    wanted = time_in(moment)
    if wanted is None:
        raise InputError(f"{plain(moment, 20)!r} is no date; one looks like 20260131180509")
    return min(times, key=lambda time: abs(time.time - wanted))


def _bar(view: View, times: list[ArchivedTime], chosen: ArchivedTime, is_sent: bool) -> dict[str, Any]:
    """What the bar needs to know."""
    number = times.index(chosen)
    start = max(0, min(number - _N_CHOICES // 2, len(times) - _N_CHOICES))
    return {
        "view": view,
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
    """Two dates; without any, the last one at which the page changed, and the one before that."""
    with served_crawl(request).archive.reading(fresh=True) as captures:
        times = captures.times_of(url)
        if not times:
            return None
        last = _nearest(times, after) if after else next((time for time in times[::-1] if time.changed), times[-1])
        first = _nearest(times, before) if before else times[max(times.index(last) - 1, 0)]
        first, last = sorted((first, last), key=lambda time: time.time)
        return _Compared(first, last, text_changes(_text(captures, first), _text(captures, last)))


def _text(captures: Captures, time: ArchivedTime) -> str:
    """What the page said, as a browser showed it where one did."""
    found = captures.content(time.dom or time.capture)
    if found is None:
        return ""
    try:
        return read_page(found.content, found.url, found.type, found.charset).text
    except UnreadableDocumentError:
        return ""


def _told(time: ArchivedTime) -> Archived:
    row = time.capture
    return Archived(
        time=row.time,
        date=time_text(row.time),
        url=row.url,
        status=row.status,
        type=row.type,
        changed=time.changed,
        rendered=time.dom is not None,
        screenshot=time.view is not None,
    )
