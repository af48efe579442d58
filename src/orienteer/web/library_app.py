"""The application of a library of crawls; `orienteer serve` without a folder runs it.

The pages of each crawl are at /crawls/NAME/, an application that is created at its first request. All crawls share one
guard and one origin for archived pages.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from orienteer.errors import CrawlFolderError, NotInLibraryError, OrienteerError
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.web.app import PAGES as PAGES_OF_CRAWL
from orienteer.web.app import PageModule, app_of, crawl_app, guard
from orienteer.web.archived.origin import ArchivedPages
from orienteer.web.error_responses import is_api, response_to
from orienteer.web.pages import api_docs, jobs, manage, new, schedule, several
from orienteer.web.pages import library as library_page
from orienteer.web.rendering import path_of_crawl, render
from orienteer.web.served_crawl import ServedCrawl
from orienteer.web.served_library import ServedLibrary

CRAWLS = "/crawls"

# In the order of the navigation.
PAGES: tuple[PageModule, ...] = (library_page, several, new, jobs, api_docs)


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
    app = app_of(PAGES, "A library of crawls: start, watch and search them.")
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
    app = crawl_app(crawl, archived, pages=(*PAGES_OF_CRAWL, manage, schedule))
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
