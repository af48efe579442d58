"""The pages as applications, which `orienteer serve` runs: those of a crawl folder, or of a library of crawls.

In a library the pages of each crawl are at /crawls/NAME/, an application that is created at its first request. All
crawls share one guard and one origin for archived pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from orienteer import __version__
from orienteer.errors import CrawlFolderError, NotInLibraryError, OrienteerError
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.web.archived.origin import ArchivedPages
from orienteer.web.error_responses import ERROR_RESPONSES, add_error_handlers, is_api, response_to
from orienteer.web.pages import (
    api_docs,
    archived,
    certificate,
    changes,
    crawl,
    details,
    jobs,
    manage,
    map,
    neighborhood,
    new,
    report,
    schedule,
    search,
    several,
)
from orienteer.web.pages import library as library_page
from orienteer.web.rendering import NavEntry, path_of_crawl, render
from orienteer.web.security import Guard
from orienteer.web.served_crawl import ServedCrawl
from orienteer.web.served_library import ServedLibrary

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


CRAWLS = "/crawls"

# In the order of the navigation.
LIBRARY_PAGES: tuple[PageModule, ...] = (library_page, several, new, jobs, api_docs)


def create_library_app(
    path: str | Path,
    *,
    token: str | None = None,
    only_this_machine: bool = True,
    archived_at: str | None = None,
    allow_private: bool = False,
) -> FastAPI:
    """Create the application of a folder of crawls. Close `app.state.served` when the server has ended.

    The options are those of `create_app`; with `allow_private`, crawls may start at private addresses.
    """
    app = app_of(LIBRARY_PAGES, "A library of crawls: start, watch and search them.")
    archived = app.state.archived = ArchivedPages(only_this_machine, archived_at)
    home = Library(Path(path))
    library = ServedLibrary(home, Jobs(home, allow_private), partial(_app_of_crawl, app, archived))
    app.state.library = app.state.served = library
    app.mount(CRAWLS, _CrawlPages(library))
    guard(app, token, only_this_machine)
    return app


def _app_of_crawl(outer: FastAPI, archived: ArchivedPages, name: str, path: Path) -> FastAPI:
    """Create the application of a crawl in the library."""
    library: ServedLibrary = outer.state.library
    crawl = ServedCrawl(path, CrawlJobs(library.jobs, name))
    app = crawl_app(crawl, archived, pages=(*PAGES, manage, schedule))
    app.state.library, app.state.name = library, name
    app.state.open_archive = partial(library.archive_of, name)

    async def unreadable(request: Request, error: Exception) -> Response:
        return await run_in_threadpool(_unreadable, library, request, name, error)

    app.add_exception_handler(CrawlFolderError, unreadable)
    return app


def _unreadable(library: ServedLibrary, request: Request, name: str, error: Exception) -> Response:
    """Respond for a crawl without a readable folder: it is about to start, or its job failed."""
    jobs = library.jobs.of(name)
    is_beginning = bool(jobs) and jobs[0].is_alive and "url" in jobs[0].options
    has_failed = bool(jobs) and isinstance(error, NotInLibraryError)
    if is_api(request) or not (is_beginning or has_failed):
        return response_to(request, error)
    response = render(request, "starting.html", 200 if is_beginning else 404, job=jobs[0])
    if is_beginning:
        response.headers["Refresh"] = "1"
    return response


class _CrawlPages:
    """An ASGI application that forwards each request to the crawl named in its path."""

    def __init__(self, library: ServedLibrary) -> None:
        self._library = library

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, slash, _ = scope["path"].removeprefix(CRAWLS + "/").partition("/")
        request = Request({**scope, "root_path": ""})
        if not slash:
            await RedirectResponse(path_of_crawl(name) + "/" if name else "/", 303)(scope, receive, send)
            return
        try:
            opened = await run_in_threadpool(self._library.borrow, name)
        except OrienteerError as error:
            response = await run_in_threadpool(_unreadable, self._library, request, name, error)
            await response(scope, receive, send)
            return
        try:
            await opened.app({**scope, "root_path": f"{CRAWLS}/{name}"}, receive, send)
        finally:
            await run_in_threadpool(self._library.release, opened)
