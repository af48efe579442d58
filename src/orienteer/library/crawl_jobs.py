"""The jobs on one crawl: of a library, or of a folder outside any library, which has its jobs in DIR/jobs.

So `orienteer serve DIR` resumes and indexes a crawl in the same way as the pages of a library do.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import NotInLibraryError, OrienteerError
from orienteer.library.job import Job
from orienteer.library.job_folder import JobFolder
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.settings import stated
from orienteer.store.lock import holder_of
from orienteer.store.page_texts import index_folder

_POLL_S = 0.02


class SingleCrawlLibrary(Library):
    """A library with a single crawl. It has no exports: an export is never written into a crawl folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.folder = path
        self.name = path.resolve().name or "crawl"
        self.job_folder = JobFolder(path / "jobs")

    @property
    def exports_path(self) -> Path:
        return self.job_folder.path

    def make(self) -> None:
        """Do nothing: the folder exists."""

    def names(self) -> list[str]:
        return [self.name]

    def path_of(self, name: str) -> Path:
        if name != self.name:
            raise NotInLibraryError(f"{self.folder} is the only crawl here")
        return self.folder


class IndexingStatus(NamedTuple):
    """Whether an index is being made, the share that is done (None: unknown), and the error of the last job."""

    is_running: bool
    share: float | None = None
    problem: str | None = None


class CrawlJobs:
    """Starts and watches the jobs on a crawl; with `index` a resumed crawl is indexed while it runs."""

    def __init__(self, jobs: Jobs, crawl: str, index: bool = True) -> None:
        self._jobs, self._crawl, self._index = jobs, crawl, index

    @classmethod
    def of_folder(cls, path: Path) -> CrawlJobs:
        """Return it for a crawl outside any library."""
        crawl = SingleCrawlLibrary(path)
        # The user who serves a folder also chose its settings, so private addresses are allowed, as in the shell.
        return cls(Jobs(crawl, allow_private=True), crawl.name, index=False)

    def resume(self, until: float | None = None, budget: int | None = None) -> Job:
        """Resume the crawl, with another goal if one is given; return the job when its process runs.

        A wrong folder, goal or hook raises an error here; for later errors see `problem_of`.
        """
        job = self._jobs.start("crawl", self._crawl, stated(until=until, budget=budget, index=self._index or None))
        while job.is_alive and not job.process:
            time.sleep(_POLL_S)
            job = self._jobs.get(job.id)
        return job

    def last_run(self) -> Job | None:
        """Return the last job that fetched pages of the crawl."""
        return self._last("crawl", "refresh")

    def problem_of(self, job: Job) -> str | None:
        """Return in one line why a job failed; None if it did not fail, or if the crawl has gone on since."""
        if job.state not in ("failed", "killed"):
            return None
        try:
            newest = self._jobs.library.status(self._crawl).last_time
        except OrienteerError:
            newest = None
        # A newer page means that the crawl was resumed since, perhaps in a shell, so the error is obsolete.
        return None if newest is not None and job.ended is not None and newest > job.ended else job.line

    def index(self, rebuild: bool = False) -> None:
        """Start to make the index; LibraryError if it is being made already."""
        self._jobs.start("index", self._crawl, {"rebuild": True} if rebuild else {})

    def indexing(self) -> IndexingStatus:
        last = self._last("index")
        if last is not None and last.is_alive:
            return IndexingStatus(True, last.share)
        if holder_of(index_folder(self._jobs.library.path_of(self._crawl))) is not None:  # a crawl, or in a shell
            return IndexingStatus(True)
        return IndexingStatus(
            False, problem=last.line if last is not None and last.state in ("failed", "killed") else None
        )

    def _last(self, *kinds: str) -> Job | None:
        return next((job for job in self._jobs.of(self._crawl) if job.kind in kinds), None)
