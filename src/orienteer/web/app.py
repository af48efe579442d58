"""The pages of a crawl folder as one application; `orienteer serve` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.staticfiles import StaticFiles

from orienteer import __version__
from orienteer.web.archived.origin import ArchivedPages
from orienteer.web.error_responses import ERROR_RESPONSES, add_error_handlers
from orienteer.web.pages import (
    api_docs,
    archived,
    certificate,
    changes,
    crawl,
    details,
    map,
    neighborhood,
    report,
    search,
)
from orienteer.web.rendering import NavEntry
from orienteer.web.security import Guard
from orienteer.web.served_crawl import ServedCrawl

_STATIC = Path(__file__).parent / "static"


class PageModule(Protocol):
    """A module of `pages`: its routes, and its entry in the navigation, if any."""

    @property
    def router(self) -> APIRouter: ...

    @property
    def ENTRY(self) -> NavEntry | None: ...


# In the order of the navigation.
PAGES: tuple[PageModule, ...] = (
    search,
    crawl,
    changes,
    map,
    report,
    neighborhood,
    certificate,
    details,
    archived,
    api_docs,
)


def create_app(
    folder: str | Path,
    *,
    token: str | None = None,
    only_this_machine: bool = True,
    archived_at: str | None = None,
) -> FastAPI:
    """Create the application of a crawl folder. The caller closes `app.state.served` when the server has ended.

    With a `token`, only clients that have it are served; it is required unless `only_this_machine`. `archived_at` is
    the public origin of archived pages; by default the same host on the next port.
    """
    app = crawl_app(ServedCrawl(Path(folder)), ArchivedPages(only_this_machine, archived_at))
    guard(app, token, only_this_machine)
    return app


def crawl_app(crawl: ServedCrawl, archived: ArchivedPages, pages: Sequence[PageModule] = PAGES) -> FastAPI:
    """Create the application without a guard. It may be mounted at any path; several may share one `archived`."""
    app = app_of(pages, "Search and watch a crawl.")
    app.state.crawl = app.state.served = crawl
    app.state.archived = archived
    app.state.open_archive = lambda: nullcontext(crawl.archive)
    return app


def app_of(pages: Sequence[PageModule], description: str) -> FastAPI:
    """Create an application with these pages. The caller adds the data of the pages to its state."""
    app = FastAPI(
        title="Orienteer",
        description=description,
        version=__version__,
        docs_url=None,  # FastAPI's page loads scripts from a CDN; `pages/api_docs` replaces it
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.entries = tuple(page.ENTRY for page in pages if page.ENTRY is not None)
    app.state.routes = [route for page in pages for route in page.router.routes if isinstance(route, APIRoute)]
    for page in pages:
        _allow_head(page.router)
        app.include_router(page.router, responses=ERROR_RESPONSES)
    add_error_handlers(app)
    return app


def guard(app: FastAPI, token: str | None, only_this_machine: bool) -> None:
    """Add the static files and the guard that checks every request."""
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.add_middleware(Guard, token=token, only_this_machine=only_this_machine)


def _allow_head(router: APIRouter) -> None:
    """Let pages respond to HEAD, which clients such as link checkers send."""
    for route in router.routes:
        if isinstance(route, APIRoute) and route.methods == {"GET"} and not route.include_in_schema:
            route.methods.add("HEAD")
