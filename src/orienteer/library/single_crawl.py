"""A crawl folder outside any library, with its jobs in DIR/jobs.

It lets `orienteer serve DIR` resume a crawl in the same way as the pages of a library do.
"""

from __future__ import annotations

import time
from pathlib import Path

from orienteer.errors import NotInLibraryError, OrienteerError
from orienteer.library.job import Job
from orienteer.library.job_folder import JobFolder
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library

_KINDS = ("crawl", "refresh")
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


class StartedJob:
    """A job that resumes or refreshes a crawl, in a separate process, which outlives this one."""

    def __init__(self, jobs: Jobs, job: Job) -> None:
        self._jobs = jobs
        self._job = job

    @property
    def process(self) -> int:
        return self._job.process or self._now().process or 0

    @property
    def has_ended(self) -> bool:
        return not self._now().is_alive

    def problem(self) -> str | None:
        """Return in one line why the job failed; None if it did not fail, or if the crawl has gone on since."""
        job = self._now()
        if job.state not in ("failed", "killed"):
            return None
        try:
            newest = self._jobs.library.status(job.crawl).last_time
        except OrienteerError:
            newest = None
        # A newer page means that the crawl was resumed since, perhaps in a shell, so the error is obsolete.
        return None if newest is not None and job.ended is not None and newest > job.ended else job.line

    def _now(self) -> Job:
        if self._job.is_alive:
            self._job = self._jobs.get(self._job.id)
        return self._job


class CrawlStarter:
    """Resumes a crawl as a job, whose state is stored and survives a restart of a server.

    With `index` the crawl is indexed while it runs.
    """

    def __init__(self, jobs: Jobs, crawl: str, index: bool = True) -> None:
        self._jobs, self._crawl, self._index = jobs, crawl, index

    @classmethod
    def of_folder(cls, path: Path) -> CrawlStarter:
        """Return it for a crawl outside any library."""
        crawl = SingleCrawlLibrary(path)
        # The user who serves a folder also chose its settings, so private addresses are allowed, as in the shell.
        return cls(Jobs(crawl, allow_private=True), crawl.name, index=False)

    def start(self, until: float | None = None, budget: int | None = None) -> StartedJob:
        """Resume the crawl, with another goal if one is given.

        A wrong folder, goal or hook raises an error here; later errors are in `StartedJob.problem`.
        """
        options = {"until": until, "budget": budget, "index": self._index or None}
        given = {name: value for name, value in options.items() if value is not None}
        started = StartedJob(self._jobs, self._jobs.start("crawl", self._crawl, given))
        while not started.process and not started.has_ended:
            time.sleep(_POLL_S)
        return started

    def last(self) -> StartedJob | None:
        """Return the run that was started last, if any."""
        newest = next((job for job in self._jobs.of(self._crawl) if job.kind in _KINDS), None)
        return None if newest is None else StartedJob(self._jobs, newest)
