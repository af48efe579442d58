"""The state that the pages of a library share: its crawls and jobs."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from orienteer.library.jobs import Job, Jobs
from orienteer.library.library import Library
from orienteer.web.open_crawls import OpenCrawls


@dataclass(frozen=True)
class LibraryState:
    """The state of a library, in `app.state.library_state` of its application and of those of its crawls."""

    library: Library
    jobs: Jobs
    crawls: OpenCrawls

    def stop(self, id: str) -> Job:
        """Ask a job to stop, and return it."""
        self.jobs.stop(id)
        return self.jobs.get(id)

    def rename(self, name: str, new: str) -> None:
        self.crawls.forget(name)
        self.library.rename(name, new)
        self.crawls.forget(name)  # a request may have opened it in between

    def delete(self, name: str) -> None:
        self.crawls.forget(name)
        self.library.delete(name)
        self.crawls.forget(name)


def in_library(request: Request) -> LibraryState:
    library_state = request.app.state.library_state
    assert isinstance(library_state, LibraryState)
    return library_state
