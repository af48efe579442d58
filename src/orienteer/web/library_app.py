"""The pages of a library of crawls as one application; `orienteer serve` without a folder runs it.

Below /crawls/NAME/ are the pages of each crawl, an application of its own that is made when it is first asked for. One
guard stands before all of them, and one origin shows the archived pages of all.
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
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.web.app import PAGES as PAGES_OF_CRAWL
from orienteer.web.app import Page, app_of, crawl_app, guard
from orienteer.web.archived.pages import ArchivedPages
from orienteer.web.crawl_watch import CrawlWatch
from orienteer.web.index_making import IndexMaking
from orienteer.web.job_starter import JobStarter
from orienteer.web.library_state import LibraryState
from orienteer.web.open_crawls import OpenCrawls
from orienteer.web.pages import api_docs, jobs, library, manage, new, several
from orienteer.web.refusals import is_api, refused
from orienteer.web.rendering import path_of_crawl, render

CRAWLS = "/crawls"

# In the order of the navigation.
PAGES: tuple[Page, ...] = (library, several, new, jobs, api_docs)


def create_library_app(
    path: str | Path,
    *,
    token: str | None = None,
    only_this_machine: bool = True,
    archived_at: str | None = None,
    allow_private: bool = False,
) -> FastAPI:
    """The pages of a folder of crawls; they are `app.state.crawls`. Close `app.state.served` when the server has ended.

    The options are those of `create_app`; with `allow_private` crawls may be started at private addresses.
    """
    home = Library(Path(path))
    app = app_of(PAGES, "A library of crawls: start, watch and search them.")
    archived = app.state.archived = ArchivedPages(only_this_machine, archived_at)
    crawls = OpenCrawls(home, partial(_app_of_crawl, app, archived))
    app.state.library, app.state.crawls, app.state.served = home, crawls, crawls
    app.state.here = LibraryState(home, Jobs(home, allow_private), crawls)
    app.mount(CRAWLS, _CrawlPages(app.state.here))
    guard(app, token, only_this_machine)
    return app


def _app_of_crawl(outer: FastAPI, archived: ArchivedPages, name: str, path: Path) -> FastAPI:
    """The pages of one crawl, as they are in a library."""
    here: LibraryState = outer.state.here
    app = crawl_app(path, archived, pages=(*PAGES_OF_CRAWL, manage))
    app.state.here, app.state.name = here, name
    app.state.watch = CrawlWatch(path, JobStarter(here.jobs, name))
    app.state.index_making = IndexMaking(here.jobs, name)
    app.state.open_archive = partial(here.crawls.archive_of, name)

    async def unreadable(request: Request, error: Exception) -> Response:
        return await run_in_threadpool(_unreadable, here, request, name, error)

    app.add_exception_handler(CrawlFolderError, unreadable)
    return app


def _unreadable(here: LibraryState, request: Request, name: str, error: Exception) -> Response:
    """A crawl that has just been started is about to be there; one that came to nothing says why."""
    jobs = here.jobs.of(name)
    is_beginning = bool(jobs) and jobs[0].is_alive and "url" in jobs[0].options
    has_failed = bool(jobs) and isinstance(error, NotInLibraryError)
    if is_api(request) or not (is_beginning or has_failed):
        return refused(request, error)
    answer = render(request, "begun.html", 200 if is_beginning else 404, job=jobs[0])
    if is_beginning:
        answer.headers["Refresh"] = "1"
    return answer


class _CrawlPages:
    """Sends requests on to the crawl that their path names."""

    def __init__(self, here: LibraryState) -> None:
        self._here = here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, slash, _ = scope["path"].removeprefix(CRAWLS + "/").partition("/")
        request = Request({**scope, "root_path": ""})
        if not slash:
            await RedirectResponse(path_of_crawl(name) + "/" if name else "/", 303)(scope, receive, send)
            return
        try:
            opened = await run_in_threadpool(self._here.crawls.borrow, name)
        except OrienteerError as error:
            answer = await run_in_threadpool(_unreadable, self._here, request, name, error)
            await answer(scope, receive, send)
            return
        try:
            await opened.app({**scope, "root_path": f"{CRAWLS}/{name}"}, receive, send)
        finally:
            await run_in_threadpool(self._here.crawls.give_back, opened)
