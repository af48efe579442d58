"""The Changes page at `/changes`: new, changed, missing and gone pages of each refresh; as a feed at `/feed`."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from orienteer.errors import unknown_name
from orienteer.inspect.changes import KINDS, EpochChanges, changes, epoch_changes, missing_pages
from orienteer.inspect.text_changes import describe_change
from orienteer.store.folder_view import FolderView
from orienteer.web.rendering import NavEntry, render
from orienteer.web.served_crawl import served_crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orienteer.store.database import DatabaseView

ENTRY = NavEntry("/changes", "Changes")
router = APIRouter()

_N_ROWS = 100  # per page of the list
_N_ENTRIES = 100  # of a feed, by default

OfEpoch = Annotated[int | None, Query(ge=0, description="0 is the first crawl; all of them if left out")]
OfKind = Annotated[str, Query(description="new, changed, missing or gone; all of them if left out")]


class ChangedPage(BaseModel):
    """`kind` is new, changed, missing or gone; `redirects_to` is the target if the page now redirects."""

    epoch: int
    kind: str
    url: str
    title: str
    time: float
    redirects_to: str | None
    outcome: str


class MissingNow(BaseModel):
    """A page that is missing since a refresh, the outcome of its last fetch, and how often it was missing."""

    url: str
    title: str
    outcome: str
    since: float
    n_times: int


class ChangesResponse(BaseModel):
    """All epochs, the selected changes, newest first, and the pages that are missing now."""

    epochs: list[EpochChanges]
    missing: list[MissingNow]
    changes: list[ChangedPage]


@router.get("/changes", include_in_schema=False)
def changes_page(
    request: Request, epoch: OfEpoch = None, kind: OfKind = "", page: Annotated[int, Query(ge=1, le=10_000)] = 1
) -> HTMLResponse:
    with _database(request) as database:
        epochs = epoch_changes(database)
        selected = _selected(epochs, epoch)
        newest = changes(database, selected.epoch, _kinds(kind), page * _N_ROWS)
        rows = list(islice(newest, (page - 1) * _N_ROWS, None))
        missing = missing_pages(database)
    return render(
        request,
        "changes.html",
        epochs=epochs,
        selected=selected,
        kind=kind,
        kinds=("", *KINDS),
        rows=rows,
        missing=missing[:_N_ROWS],
        n_missing=len(missing),
        page=page,
        n_sheets=-(-_n_rows(selected, kind) // _N_ROWS),
        has_schedule=hasattr(request.app.state, "library"),  # only crawls of a library have one
    )


@router.get("/feed", include_in_schema=False)
def feed_page(request: Request, n: Annotated[int, Query(ge=1, le=1000)] = _N_ENTRIES) -> Response:
    """Return an Atom feed of the newest changes."""
    from orienteer.exports.xml_lists import MEDIA_TYPE, feed, feed_head

    base = f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"
    with _database(request) as database:
        headers = {"ETag": f'"{database.history.next_position()}-{n}"', "Cache-Control": "private, no-cache"}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        head = feed_head(database, served_crawl(request).name)
        head = head._replace(address=f"{base}/feed", site=f"{base}/changes")
        newest = list(changes(database, limit=n))
    with served_crawl(request).archive.reading(fresh=True) as captures:
        pieces = b"".join(feed(head, newest, lambda change: describe_change(captures, change)))
    return Response(pieces, 200, headers, MEDIA_TYPE)


@router.get("/api/changes", tags=["crawl"], summary="New, changed, missing and gone pages")
def changes_api(
    request: Request, epoch: OfEpoch = None, kind: OfKind = "", n: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> ChangesResponse:
    """The newest changes first."""
    with _database(request) as database:
        return ChangesResponse(
            epochs=epoch_changes(database),
            missing=[MissingNow(**one.as_dict()) for one in missing_pages(database)],
            changes=[ChangedPage(**one.as_dict()) for one in changes(database, epoch, _kinds(kind), n)],
        )


@contextmanager
def _database(request: Request) -> Iterator[DatabaseView]:
    with FolderView.open(served_crawl(request).path) as folder:
        yield folder.database


def _kinds(kind: str) -> tuple[str, ...]:
    if kind and kind not in KINDS:
        raise unknown_name("kind of change", kind, KINDS)
    return (kind,) if kind else tuple(KINDS)


def _selected(epochs: list[EpochChanges], epoch: int | None) -> EpochChanges:
    """Return the requested epoch, or else the last one with changes."""
    if epoch is None:
        return next((one for one in epochs if one.n_all), epochs[0])
    return next((one for one in epochs if one.epoch == epoch), epochs[0])


def _n_rows(selected: EpochChanges, kind: str) -> int:
    return int(selected.as_dict()[kind]) if kind else selected.n_all
