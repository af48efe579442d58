"""Resume a crawl of a library as a job, so that its state is stored and survives a restart of the server."""

from __future__ import annotations

from orienteer.errors import OrienteerError
from orienteer.library.jobs import Job, Jobs

_KINDS = ("crawl", "refresh")


class StartedJob:
    """A job in the interface that the watch of its crawl needs."""

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


class JobStarter:
    """Resumes a crawl of a library, which is indexed while it runs."""

    def __init__(self, jobs: Jobs, crawl: str) -> None:
        self._jobs = jobs
        self._crawl = crawl

    def start(self, until: float | None, budget: int | None) -> StartedJob:
        goal = {"until": until, "budget": budget}
        options = {name: value for name, value in goal.items() if value is not None}
        return StartedJob(self._jobs, self._jobs.start("crawl", self._crawl, {**options, "index": True}))

    def last(self) -> StartedJob | None:
        newest = next((job for job in self._jobs.of(self._crawl) if job.kind in _KINDS), None)
        return None if newest is None else StartedJob(self._jobs, newest)
