"""Make the index of a crawl from the browser, as a job."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from orienteer.library.jobs import Jobs
from orienteer.library.single_crawl import SingleCrawlLibrary
from orienteer.store.lock import holder_of
from orienteer.store.page_texts import index_folder

KIND = "index"


class MakingNow(NamedTuple):
    """Whether an index is being made, the share that is done (None: unknown), and the error of the last job."""

    is_running: bool
    share: float | None
    problem: str | None


class IndexMaking:
    """Starts and watches the jobs that make the index of a crawl."""

    def __init__(self, jobs: Jobs, crawl: str) -> None:
        self._jobs = jobs
        self._crawl = crawl

    @classmethod
    def of_folder(cls, path: Path) -> IndexMaking:
        """Return it for a crawl outside any library."""
        crawl = SingleCrawlLibrary(path)
        return cls(Jobs(crawl, allow_private=True), crawl.name)

    def now(self) -> MakingNow:
        last = next((job for job in self._jobs.of(self._crawl) if job.kind == KIND), None)
        if last is not None and last.is_alive:
            return MakingNow(True, last.share, None)
        folder = index_folder(self._jobs.library.path_of(self._crawl))
        if holder_of(folder) is not None:  # by a crawl, or in a shell
            return MakingNow(True, None, None)
        return MakingNow(False, None, None if last is None or last.state not in ("failed", "killed") else last.line)

    def start(self, rebuild: bool = False) -> None:
        """Start the job; LibraryError if an index is being made already."""
        self._jobs.start(KIND, self._crawl, {"rebuild": True} if rebuild else {})
