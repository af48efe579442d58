"""A crawl in a list of crawls."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.status_text import describe_coverage, describe_goal, describe_stopped
from orienteer.library.job import Job
from orienteer.library.job_progress import progress_line


@dataclass(frozen=True)
class Card:
    """A crawl of the library: its status, and the job that works on it now, or else its last one.

    `status` is None if the crawl is about to start, and if its folder is damaged: then `problem` says in one line what
    is wrong with it, and `n_bytes` is its size.
    """

    name: str
    job: Job | None
    status: CrawlStatus | None = None
    is_indexed: bool = False
    problem: str | None = None
    n_bytes: int = 0

    @property
    def phase(self) -> str:
        """That of the status, or "damaged"."""
        if self.problem is not None:
            return "damaged"
        return "new" if self.status is None else self.status.phase

    @property
    def seeds(self) -> tuple[str, ...]:
        if self.status is not None:
            return self.status.plan.crawl.seeds
        url = None if self.job is None or self.problem is not None else self.job.options.get("url")
        return (url,) if isinstance(url, str) else ()

    @property
    def sentence(self) -> str:
        """The phase as text."""
        if self.problem is not None:
            return "it cannot be read"
        if self.status is None:
            return (self.job.line if self.job is not None else "") or "it is about to start"
        if self.status.is_running:
            return progress_line(self.status) or "it is about to start"
        if self.status.first_time is None:
            return f"nothing has been fetched yet; the goal is {describe_goal(self.status.plan.crawl)}"
        return describe_stopped(self.status) or describe_coverage(self.status)
