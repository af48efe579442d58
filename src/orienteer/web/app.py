"""The pages of a crawl folder as one application; `orienteer serve` runs it."""

from __future__ import annotations

from collections.abc import Iterable
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
from orienteer.web.kept_report import KeptReport
from orienteer.web.pages import archived, compare, crawl, details, map, outside, report, search
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
PAGES: tuple[Page, ...] = (search, crawl, map, report, outside, compare, details, archived)


def create_app(
    folder: str | Path,
    *,
    token: str | None = None,
    only_this_machine: bool = True,
    comparisons: Iterable[Path] = (),
    archived_at: str | None = None,
) -> FastAPI:
    """The pages of a crawl folder. Its crawl is `app.state.crawl`; close that when the server has ended.

    With a `token` they are shown to those who have it. Unless `only_this_machine` is served, there must be one.
    `comparisons` are files to show beside those in the folder. `archived_at` is the origin at which browsers find
    archived pages; by default the next port of the host that they ask.
    """
    app = crawl_app(Path(folder), only_this_machine, comparisons, archived_at)
    guard(app, token, only_this_machine)
    return app


def crawl_app(
    folder: Path, only_this_machine: bool = True, comparisons: Iterable[Path] = (), archived_at: str | None = None
) -> FastAPI:
    """The same without a guard; it may be mounted under any path."""
    app = FastAPI(
        title="Orienteer",
        description="Search and watch a crawl.",
        version=__version__,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.crawl = ServedCrawl(folder)
    app.state.archived = ArchivedPages(app.state.crawl.archive, only_this_machine, archived_at)
    app.state.map = KeptMap(folder)
    app.state.comparisons = Comparisons(folder, comparisons)
    app.state.watch = CrawlWatch(folder)
    app.state.report = KeptReport(folder, app.state.crawl.ending)
    app.state.entries = tuple(page.ENTRY for page in PAGES if page.ENTRY is not None)
    for page in PAGES:
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
