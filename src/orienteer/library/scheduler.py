"""Starts what is due by its schedule, where a server asks it to: once a minute, say.

`due` decides and `run_due` starts; both take the time as an argument. What is started is a job like any other, and asks
again, under the lock of its crawl, whether it is due: a server, a second one and cron can all do this at once.
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


class Scheduler:
    """For one library. `troubles` says, by crawl, in one line why its schedule could not be followed the last time."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.schedules = Schedules(jobs.library)
        self.troubles: dict[str, str] = {}

    def due(self, now: float) -> list[str]:
        """The crawls for which something is to be done now, those that have waited the longest first."""
        found: list[tuple[float, str]] = []
        self.troubles = {}
        busy = {job.crawl for job in self.jobs.all() if job.is_alive}
        for name in self.schedules.names():
            try:
                schedule = self.schedules.get(name)
                due = None if schedule is None or name in busy else due_at(schedule, self.schedules.standing(name))
            except OrienteerError as error:
                self.troubles[name] = str(error)
                continue
            if due is not None and due <= now:
                found.append((due, name))
        return [name for _, name in sorted(found)]

    def run_due(self, now: float) -> list[Job]:
        """Start a job for each crawl that is due; one that cannot be started now is tried again after a while."""
        started = []
        for name in self.due(now):
            try:
                started.append(self.jobs.start("refresh", name, {"due": True}))
            except OrienteerError as error:
                self.troubles[name] = str(error)
        return started


@contextmanager
def following(scheduler: Scheduler, every_s: float = 60.0) -> Iterator[None]:
    """While this lasts a thread asks once a minute what is due, and starts it; jobs that run go on afterwards."""
    ending = threading.Event()

    def follow() -> None:
        while True:
            try:
                scheduler.run_due(time.time())
            except (OrienteerError, OSError) as error:  # a library that cannot be read now may be readable later
                _log.warning("schedules: %s", error)
            if ending.wait(every_s):
                return

    thread = threading.Thread(target=follow, name="schedules", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
