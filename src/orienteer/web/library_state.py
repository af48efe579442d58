"""What the pages of a library share: its crawls and jobs, and what is done to them in the browser."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from orienteer.library.jobs import Job, Jobs
from orienteer.library.library import Library
from orienteer.web.open_crawls import OpenCrawls


@dataclass(frozen=True)
class LibraryState:
    """In `app.state.here`, of the library's application and of those of its crawls."""

    library: Library
    jobs: Jobs
    crawls: OpenCrawls

    def stop(self, id: str) -> Job:
        """Ask a job to stop; how it stands then."""
        self.jobs.stop(id)
        return self.jobs.get(id)

    def rename(self, name: str, new: str) -> None:
        self.crawls.forget(name)
        self.library.rename(name, new)
        self.crawls.forget(name)  # somebody may have asked for it in between

    def delete(self, name: str) -> None:
        self.crawls.forget(name)
        self.library.delete(name)
        self.crawls.forget(name)


def in_library(request: Request) -> LibraryState:
    here = request.app.state.here
    assert isinstance(here, LibraryState)
    return here
