"""The Changes page at `/changes`: what was new, changed and gone in each refresh; as a feed, it is at `/feed`."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from orienteer.errors import unknown_name
from orienteer.inspect.changed_text import change_in_words
from orienteer.inspect.changes import KINDS, Change, EpochChanges, changes, epoch_changes
from orienteer.store.folder_view import FolderView
from orienteer.web.refusals import REFUSALS
from orienteer.web.rendering import Entry, render, served_crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orienteer.store.database_view import DatabaseView

ENTRY = Entry("/changes", "Changes")
router = APIRouter()

_N_ROWS = 100  # a sheet
_N_ENTRIES = 100  # of a feed, where nobody asks for another number

OfEpoch = Annotated[int | None, Query(ge=0, description="0 is the first crawl; all of them if left out")]
OfKind = Annotated[str, Query(description="new, changed or gone; all of them if left out")]


class EpochFigures(BaseModel):
    """How many pages were new, changed and gone in an epoch; `ended` is empty while it is not over."""

    epoch: int
    began: float | None
    ended: float | None
    new: int
    changed: int
    gone: int


class ChangedPage(BaseModel):
    """`kind` is new, changed or gone; `redirects_to` is where the page has led since then."""

    epoch: int
    kind: str
    url: str
    title: str
    time: float
    redirects_to: str | None
    outcome: str


class ChangesAnswer(BaseModel):
    """All epochs, and the changes that were asked for; the newest first."""

    epochs: list[EpochFigures]
    changes: list[ChangedPage]


@router.get("/changes", include_in_schema=False)
def changes_page(
    request: Request, epoch: OfEpoch = None, kind: OfKind = "", page: Annotated[int, Query(ge=1, le=10_000)] = 1
) -> HTMLResponse:
    with _database(request) as database:
        epochs = epoch_changes(database)
        shown = _shown(epochs, epoch)
        found = changes(database, shown.epoch, _kinds(kind), page * _N_ROWS)
        rows = list(islice(found, (page - 1) * _N_ROWS, None))
    return render(
        request,
        "changes.html",
        epochs=epochs,
        shown=shown,
        kind=kind,
        kinds=("", *KINDS),
        rows=rows,
        page=page,
        n_sheets=-(-_n_rows(shown, kind) // _N_ROWS),
        has_schedule=hasattr(request.app.state, "here"),  # it stands in a library
    )


@router.get("/feed", include_in_schema=False)
def feed_page(request: Request, n: Annotated[int, Query(ge=1, le=1000)] = _N_ENTRIES) -> Response:
    """An Atom feed of the newest changes."""
    from orienteer.exports.atom import MEDIA_TYPE, feed, feed_head

    here = f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"
    with _database(request) as database:
        headers = {"ETag": f'"{database.next_position()}-{n}"', "Cache-Control": "private, no-cache"}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        head = feed_head(database, served_crawl(request).name)
        head = head._replace(address=f"{here}/feed", site=f"{here}/changes")
        found = list(changes(database, limit=n))
    with served_crawl(request).archive.reading(fresh=True) as captures:
        pieces = b"".join(feed(head, found, lambda change: change_in_words(captures, change)))
    return Response(pieces, 200, headers, MEDIA_TYPE)


@router.get("/api/changes", responses=REFUSALS, tags=["crawl"], summary="What was new, changed and gone")
def changes_api(
    request: Request, epoch: OfEpoch = None, kind: OfKind = "", n: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> ChangesAnswer:
    """The newest first."""
    with _database(request) as database:
        return ChangesAnswer(
            epochs=[EpochFigures(**one.as_dict()) for one in epoch_changes(database)],
            changes=[_told(one) for one in changes(database, epoch, _kinds(kind), n)],
        )


@contextmanager
def _database(request: Request) -> Iterator[DatabaseView]:
    with FolderView.open(served_crawl(request).path) as folder:
        yield folder.database


def _kinds(kind: str) -> tuple[str, ...]:
    if kind and kind not in KINDS:
        raise unknown_name("kind of change", kind, KINDS)
    return (kind,) if kind else tuple(KINDS)


def _shown(epochs: list[EpochChanges], epoch: int | None) -> EpochChanges:
    """The epoch that is asked for, or else the last one in which something has changed."""
    if epoch is None:
        return next((one for one in epochs if one.n_all), epochs[0])
    return next((one for one in epochs if one.epoch == epoch), epochs[0])


def _n_rows(shown: EpochChanges, kind: str) -> int:
    return int(shown.as_dict()[kind]) if kind else shown.n_all


def _told(change: Change) -> ChangedPage:
    return ChangedPage(**change.as_dict())
