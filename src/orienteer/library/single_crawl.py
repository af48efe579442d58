"""A crawl folder outside any library, with its jobs in DIR/jobs.

It lets `orienteer serve DIR` resume a crawl in the same way as the pages of a library do.
"""

from __future__ import annotations

import time
from pathlib import Path

from orienteer.errors import NotInLibraryError
from orienteer.library.job import Job
from orienteer.library.job_folder import JobFolder
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library

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


class ResumedCrawl:
    """A crawl that was resumed in a separate process, which outlives this one."""

    def __init__(self, path: Path, until: float | None = None, budget: int | None = None) -> None:
        """Resume the crawl in this folder, with another goal if one is given.

        A wrong folder, goal or hook raises an error here; later errors are in `problem`.
        """
        crawl = SingleCrawlLibrary(path)
        goal = {name: value for name, value in (("until", until), ("budget", budget)) if value is not None}
        # The user who serves a folder also chose its settings, so private addresses are allowed, as in the shell.
        self._jobs = Jobs(crawl, allow_private=True)
        self._job = self._jobs.start("crawl", crawl.name, goal)
        while self._job.is_alive and self._job.process is None:
            time.sleep(_POLL_S)
            self._update()

    @property
    def process(self) -> int:
        return self._job.process or 0

    @property
    def has_ended(self) -> bool:
        return not self._update().is_alive

    def problem(self) -> str | None:
        """Return in one line why the job failed; None if it did not fail."""
        job = self._update()
        return job.line if job.state in ("failed", "killed") else None

    def _update(self) -> Job:
        if self._job.is_alive:
            self._job = self._jobs.get(self._job.id)
        return self._job
