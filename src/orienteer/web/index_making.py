"""The index of a crawl, made at the push of a button: a job, as everything that is started from the browser."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from orienteer.library.jobs import Jobs
from orienteer.library.one_crawl import OneCrawl
from orienteer.search.index_files import index_folder
from orienteer.store.lock import holder_of

KIND = "index"


class MakingNow(NamedTuple):
    """Whether somebody is making an index just now, how far it is (None: nobody knows), and why the one that was
    started last came to nothing."""

    is_running: bool
    share: float | None
    trouble: str | None


class IndexMaking:
    """Makes the index of one crawl, by the name that the crawl has among these jobs."""

    def __init__(self, jobs: Jobs, crawl: str) -> None:
        self._jobs = jobs
        self._crawl = crawl

    @classmethod
    def of_folder(cls, path: Path) -> IndexMaking:
        """Of a crawl that is in no library."""
        crawl = OneCrawl(path)
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
        """Begin; LibraryError where somebody has."""
        self._jobs.start(KIND, self._crawl, {"rebuild": True} if rebuild else {})
