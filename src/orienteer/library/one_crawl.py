"""A crawl folder that is in no library, with jobs of its own in DIR/jobs.

So a crawl is resumed from its own pages (`orienteer serve DIR`) as it is from those of a library.
"""

from __future__ import annotations

import time
from pathlib import Path

from orienteer.errors import NotInLibraryError
from orienteer.library.job import Job
from orienteer.library.job_folder import JobFolder
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library

_LOOK_EVERY_S = 0.02


class OneCrawl(Library):
    """A library of this crawl alone. Nothing is exported from it: an export never goes into a crawl folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.folder = path
        self.name = path.resolve().name or "crawl"
        self.job_folder = JobFolder(path / "jobs")

    @property
    def exports_path(self) -> Path:
        return self.job_folder.path

    def make(self) -> None:
        """It is there."""

    def names(self) -> list[str]:
        return [self.name]

    def path_of(self, name: str) -> Path:
        if name != self.name:
            raise NotInLibraryError(f"{self.folder} is the only crawl here")
        return self.folder


class StartedCrawl:
    """A crawl that was resumed from another process; it goes on when this process is gone."""

    def __init__(self, path: Path, until: float | None = None, budget: int | None = None) -> None:
        """Go on with the crawl in this folder, with another goal where one is given.

        What is wrong with the folder, the goal or the hooks is said here; whatever else is in the way is `trouble`.
        """
        crawl = OneCrawl(path)
        goal = {name: value for name, value in (("until", until), ("budget", budget)) if value is not None}
        # Whoever serves a folder may have it do what its settings allow, as the command would.
        self._jobs = Jobs(crawl, allow_private=True)
        self._job = self._jobs.start("crawl", crawl.name, goal)
        while self._job.is_alive and self._job.process is None:
            time.sleep(_LOOK_EVERY_S)
            self._look()

    @property
    def process(self) -> int:
        return self._job.process or 0

    @property
    def has_ended(self) -> bool:
        return not self._look().is_alive

    def trouble(self) -> str | None:
        """Why it ended without having crawled, in one line; None if it did not."""
        job = self._look()
        return job.line if job.state in ("failed", "killed") else None

    def _look(self) -> Job:
        if self._job.is_alive:
            self._job = self._jobs.get(self._job.id)
        return self._job
