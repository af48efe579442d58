"""The status of a served crawl, read at most once a second, however many clients watch it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from orienteer.crawl.goal import Goal
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.crawl_status import CrawlStatus, FolderWatcher
from orienteer.inspect.frontier_top import FrontierTop, replayed_top, written_top
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.live.control import ask_to_stop, resume_refusal
from orienteer.store.lock import holder_of
from orienteer.store.progress_points import ProgressPoint, read_progress

STATUS = Field(description="The JSON of `orienteer status --json`; docs/how-to/monitor.md lists its keys")
_MIN_INTERVAL_S, _MAX_INTERVAL_S = 1.0, 10.0
_MAX_READ_SHARE = 0.1  # of the time of one CPU that may be spent on reading
_N_HOSTS = 20
_MAX_REPLAY_URLS = 2_000_000  # replaying a crawl needs as much memory as resuming it
_START_TIMEOUT_S = 4.0


@dataclass(frozen=True)
class FrontierNow:
    """The top of the frontier, `n_events_ago` events old; None while unknown."""

    top: FrontierTop | None
    n_events_ago: int
    is_being_read: bool


class CrawlWatch:
    """Reads the state of a crawl folder for all clients, and stops or resumes the crawl."""

    def __init__(self, path: Path, jobs: CrawlJobs) -> None:
        self.path = path
        self._jobs = jobs
        self._watcher = FolderWatcher(path)
        self._lock = threading.Lock()
        self._status: CrawlStatus | None = None
        self._next_read = 0.0
        self._stopping: int | None = None  # the process that was asked to stop
        self._replayed_top: FrontierTop | None = None
        self._replay: threading.Thread | None = None

    def status(self) -> CrawlStatus:
        """Return the status, at most a second old; at most ten for large crawls, which are slow to read."""
        with self._lock:
            if self._status is None or time.monotonic() >= self._next_read:
                before = time.thread_time()  # CPU time, which does not grow while the machine is busy
                found = self._watcher.status(_N_HOSTS)
                self._status = replace(found, transition=self._transition(found))
                pause_s = (time.thread_time() - before) / _MAX_READ_SHARE
                self._next_read = time.monotonic() + min(max(_MIN_INTERVAL_S, pause_s), _MAX_INTERVAL_S)
            return self._status

    def _transition(self, status: CrawlStatus) -> str:
        if status.is_running:
            return "stopping" if self._stopping is not None and status.holder == self._stopping else ""
        return "starting" if self.started_here() is not None else ""

    def problem(self) -> str | None:
        """Return the error of the last run that this server started; None while a crawl runs."""
        last = self._jobs.last_run()
        return None if last is None or self.status().is_running else self._jobs.problem_of(last)

    def progress(self) -> list[ProgressPoint]:
        """Return the progress of the crawl from its start to now."""
        status, points = self.status(), read_progress(self.path / "course.jsonl")
        figures, survey = status.figures, status.survey
        if figures is None or (points and points[-1].position >= status.position):
            return points
        last = ProgressPoint(
            epoch=figures.epoch,
            position=status.position,
            n_done=figures.n_done,
            lower=figures.certificate.lower,
            upper=figures.certificate.upper,
            blocked=figures.certificate.blocked,
            pages_per_s=figures.pages_per_s,
            time=status.last_time or 0.0,
            n_on_topic=status.n_on_topic,
            measured=None if figures.measured is None else figures.measured.estimate,
            claimed=None if survey is None else survey.claimed,
        )
        return [*points, last]

    def frontier(self) -> FrontierNow:
        """Return the next pages. A running crawl writes them to a file; after a kill the crawl is replayed."""
        status, top = self.status(), written_top(self.path)
        if status.phase not in ("starting", "running", "stopping"):
            if top is not None and top.position > status.position:
                top = None  # it includes pages that were not yet committed when the crawl was killed
            if top is None or top.position < status.position:
                self._start_replay(status)
        if self._replayed_top is not None and (top is None or self._replayed_top.position > top.position):
            top = self._replayed_top
        age = 0 if top is None else max(status.position - top.position, 0)
        return FrontierNow(top, age, self._replay is not None and self._replay.is_alive())

    def stop(self) -> int:
        """Ask the crawl to stop, and return its process id."""
        process = ask_to_stop(self.path)
        self._stopping = process
        self._next_read = 0.0
        return process

    def resume(self, until: float | None = None, budget: int | None = None) -> int:
        """Resume the crawl, with another goal if one is given, and return its process id.

        An invalid goal raises an error here; errors of the crawl itself are in `problem`.
        """
        Goal(until, budget)
        with self._lock:
            if holder_of(self.path) is not None or self.started_here() is not None:
                raise CrawlFolderError(f"{self.path}: the crawl is running already")
            refusal = resume_refusal(self._watcher.status(_N_HOSTS), until, budget)
            if refusal is not None:
                raise CrawlFolderError(refusal)
            process = self._jobs.resume(until, budget).process
            self._stopping = None
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self.started_here() is not None and holder_of(self.path) != process:
            time.sleep(0.05)
        self._next_read = 0.0
        return process or 0

    def started_here(self) -> int | None:
        """Return the process id of the crawl if this server resumed it and it is still running."""
        last = self._jobs.last_run()
        return last.process or 0 if last is not None and last.is_alive else None

    def _start_replay(self, status: CrawlStatus) -> None:
        """Start to replay the crawl for its frontier, once for each position."""
        is_current = self._replayed_top is not None and self._replayed_top.position == status.position
        is_busy = self._replay is not None and self._replay.is_alive()
        n_urls = status.n_urls + status.n_urls_outside
        if is_current or is_busy or n_urls == 0 or n_urls > _MAX_REPLAY_URLS:
            return

        def replay() -> None:
            try:
                self._replayed_top = replayed_top(self.path)
            except OrienteerError:  # display an empty frontier; resuming the crawl reports the error
                empty = FrontierTop(status.epoch_number, status.position, status.plan.crawl.policy, 0, ())
                self._replayed_top = empty

        self._replay = threading.Thread(target=replay, name="frontier", daemon=True)
        self._replay.start()
