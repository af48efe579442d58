"""The pages of a crawl folder as one application; `orienteer serve` runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.staticfiles import StaticFiles

from orienteer import __version__
from orienteer.web.archived.pages import ArchivedPages
from orienteer.web.comparisons import Comparisons
from orienteer.web.crawl_map import KeptMap
from orienteer.web.crawl_watch import CrawlWatch
from orienteer.web.icons import Icons
from orienteer.web.index_making import IndexMaking
from orienteer.web.kept_report import KeptReport
from orienteer.web.pages import (
    api_docs,
    archived,
    certificate,
    changes,
    compare,
    crawl,
    details,
    map,
    opensearch,
    outside,
    report,
    search,
)
from orienteer.web.refusals import add_refusals
from orienteer.web.rendering import Entry
from orienteer.web.security import Guard
from orienteer.web.served_crawl import ServedCrawl

_STATIC = Path(__file__).parent / "static"


class Page(Protocol):
    """A module of `pages`: what it answers, and its place in the navigation, if it has one."""

    @property
    def router(self) -> APIRouter: ...

    @property
    def ENTRY(self) -> Entry | None: ...


# In the order of the navigation.
PAGES: tuple[Page, ...] = (
    search,
    crawl,
    changes,
    map,
    report,
    outside,
    compare,
    certificate,
    details,
    archived,
    opensearch,
    api_docs,
)


def create_app(
    folder: str | Path,
    *,
    token: str | None = None,
    only_this_machine: bool = True,
    comparisons: Iterable[Path] = (),
    archived_at: str | None = None,
) -> FastAPI:
    """The pages of a crawl folder. What it shows is `app.state.served`; close that when the server has ended.

    With a `token` they are shown to those who have it. Unless `only_this_machine` is served, there must be one.
    `comparisons` are files to show beside those in the folder. `archived_at` is the origin at which browsers find
    archived pages; by default the next port of the host that they ask.
    """
    app = crawl_app(Path(folder), ArchivedPages(only_this_machine, archived_at), comparisons)
    guard(app, token, only_this_machine)
    return app


def crawl_app(
    folder: Path, archived: ArchivedPages, comparisons: Iterable[Path] = (), pages: Sequence[Page] = PAGES
) -> FastAPI:
    """The same without a guard; it may be mounted under any path. `archived` may serve several such applications."""
    app = app_of(pages, "Search and watch a crawl.")
    crawl = app.state.crawl = app.state.served = ServedCrawl(folder)
    app.state.archived = archived
    app.state.open_archive = lambda: nullcontext(crawl.archive)
    app.state.map = KeptMap(folder)
    app.state.comparisons = Comparisons(folder, comparisons)
    app.state.watch = CrawlWatch(folder)
    app.state.index_making = IndexMaking.of_folder(folder)
    app.state.icons = Icons(crawl.archive)
    app.state.report = KeptReport(folder, crawl.ending)
    return app


def app_of(pages: Sequence[Page], description: str) -> FastAPI:
    """An application of these pages; what they need to know is put into its state."""
    app = FastAPI(
        title="Orienteer",
        description=description,
        version=__version__,
        docs_url=None,  # FastAPI's load scripts from elsewhere; ours are a page
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.entries = tuple(page.ENTRY for page in pages if page.ENTRY is not None)
    for page in pages:
        _answer_head(page.router)
        app.include_router(page.router)
    add_refusals(app)
    return app


def guard(app: FastAPI, token: str | None, only_this_machine: bool) -> None:
    """What an application needs to be served: style and scripts, and somebody at the door."""
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.add_middleware(Guard, token=token, only_this_machine=only_this_machine)


def _answer_head(router: APIRouter) -> None:
    """Pages answer HEAD as they answer GET, without the page: that is how other programs see whether one is there."""
    for route in router.routes:
        if isinstance(route, APIRoute) and route.methods == {"GET"} and not route.include_in_schema:
            route.methods.add("HEAD")
