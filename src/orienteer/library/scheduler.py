"""Start the refreshes that are due; a server calls this once a minute.

`due` lists the crawls to refresh, and `run_due` starts them; both take the time as an argument. Each refresh is an
ordinary job, which checks again under the lock of its crawl whether it is due, so several servers and cron can run
schedules at the same time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orienteer.errors import OrienteerError
from orienteer.library.job import Job
from orienteer.library.jobs import Jobs
from orienteer.library.schedule import due_at
from orienteer.library.schedules import Schedules

_log = logging.getLogger(__name__)


class RefreshScheduler:
    """Starts the refreshes of a library. `problems` has, by crawl, one line on why its refresh could not start."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.schedules = Schedules(jobs.library)
        self.problems: dict[str, str] = {}

    def due(self, now: float) -> list[str]:
        """Return the crawls that are due, longest overdue first."""
        found: list[tuple[float, str]] = []
        self.problems = {}
        busy = {job.crawl for job in self.jobs.all() if job.is_alive}
        for name in self.schedules.names():
            try:
                schedule = self.schedules.get(name)
                if schedule is None or name in busy:
                    continue
                due = due_at(schedule, self.schedules.state(name).at(now))
            except OrienteerError as error:
                self.problems[name] = str(error)
                continue
            if due is not None and due <= now:
                found.append((due, name))
        return [name for _, name in sorted(found)]

    def run_due(self, now: float) -> list[Job]:
        """Start a job for each crawl that is due; one that cannot start now is retried later."""
        started = []
        for name in self.due(now):
            try:
                started.append(self.jobs.start("refresh", name, {"due": True}))
            except OrienteerError as error:
                self.problems[name] = str(error)
        return started


@contextmanager
def running_scheduler(scheduler: RefreshScheduler, every_s: float = 60.0) -> Iterator[None]:
    """Run a thread that starts due refreshes every `every_s` seconds; running jobs outlive it."""
    ending = threading.Event()

    def run() -> None:
        while True:
            try:
                scheduler.run_due(time.time())
            except (OrienteerError, OSError) as error:  # a library that cannot be read now may be readable later
                _log.warning("schedules: %s", error)
            if ending.wait(every_s):
                return

    thread = threading.Thread(target=run, name="schedules", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
