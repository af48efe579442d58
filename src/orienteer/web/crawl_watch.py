"""The state of a served crawl, read at most once a second, however many clients watch it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orienteer.crawl.goal import Goal
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.done_tally import HostPages
from orienteer.inspect.folder_status import FolderStatus, FolderWatcher
from orienteer.inspect.frontier_top import FrontierTop, replayed_top, written_top
from orienteer.inspect.status_text import (
    describe_coverage,
    describe_epoch_coverage,
    describe_goal,
    describe_impossible_goal,
    describe_measured,
    describe_result,
    describe_stopped,
)
from orienteer.inspect.workers_text import Fetching, WorkerNow, fetching_of, workers_of
from orienteer.library.single_crawl import ResumedCrawl
from orienteer.live.control import ask_to_stop, resume_refusal
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.states import PageState
from orienteer.store.lock import holder_of
from orienteer.store.progress_points import ProgressPoint, read_progress

_MIN_INTERVAL_S, _MAX_INTERVAL_S = 1.0, 10.0
_MAX_READ_SHARE = 0.1  # of the time of one CPU that may be spent on reading
_N_HOSTS = 20
_MAX_REPLAY_URLS = 2_000_000  # replaying a crawl needs as much memory as resuming it
_START_TIMEOUT_S = 4.0
_NO_ERRORS = NO_ERRORS | {Outcome.UNWANTED_TYPE}


@dataclass(frozen=True)
class ErrorKind:
    """Pages that failed or are blocked for one reason; `n_in_run` counts the responses of the present or last run."""

    kind: str
    n_failed: int
    n_blocked: int
    n_in_run: int


@dataclass(frozen=True)
class CrawlNow:
    """The present state of a crawl.

    `phase` is new, starting, running, stopping or stopped; `stopped` says why it is not running, `result` summarizes
    the last run. `problem` is the error of the last run that this server started. `resume_refusal` says why resuming
    with the present goal would do nothing. Counts of pages are of all epochs; `n_done` counts the pages requested in
    the present one. `impossible` says why the goal cannot be reached. `lower`, `upper` and `blocked` are the proved
    bounds over all epochs; those named `epoch_` are of the present epoch. `measured` is the coverage estimated from
    random walks, `evidence` their progress towards the goal; once reached, at least `claimed` is covered with this
    `confidence`, of the reachable pages if `measured_of_reachable`. `measured_text` describes these figures. `workers`
    are the workers of a running crawl, `fetching` some of the requests in flight, longest first.
    """

    phase: str
    process: int | None
    stopped: str
    result: str
    problem: str | None
    resume_refusal: str | None
    goal: str
    goal_reached: bool
    until: float | None
    budget: int | None
    seeds: tuple[str, ...]
    policy: str
    scope: str
    epoch: int
    position: int
    n_done: int
    n_fetched: int
    n_redirects: int
    n_skipped: int
    n_failed: int
    n_blocked: int
    n_urls: int
    n_frontier: int | None
    n_in_flight: int
    n_on_topic: int | None
    pages_per_s: float
    eta_s: float | None
    lower: float | None
    upper: float | None
    blocked: float | None
    epoch_lower: float | None
    epoch_upper: float | None
    epoch_blocked: float | None
    measured: float | None
    claimed: float | None
    evidence: float | None
    confidence: float | None
    n_walks: int
    n_probes: int
    measured_of_reachable: bool
    measured_text: str
    coverage: str
    coverage_of_epoch: str
    impossible: str
    errors: tuple[ErrorKind, ...]
    hosts: tuple[HostPages, ...]
    n_hosts: int
    n_hosts_known: int
    n_hosts_backing_off: int
    n_hosts_abandoned: int
    workers: tuple[WorkerNow, ...]
    fetching: tuple[Fetching, ...]
    n_workers_crashed: int
    first_time: float | None
    last_time: float | None
    archive_bytes: int
    stored: str  # describes the part of the archive that is in object storage
    database_bytes: int

    @property
    def is_running(self) -> bool:
        return self.phase in ("running", "stopping")

    @property
    def shows_all_epochs(self) -> bool:
        """Whether the bounds to display are those of all epochs, not those of a running refresh."""
        return bool(self.epoch) and self.lower is not None and not self.is_running


@dataclass(frozen=True)
class FrontierNow:
    """The top of the frontier, `n_events_ago` events old; None while unknown."""

    top: FrontierTop | None
    n_events_ago: int
    is_being_read: bool


class Started(Protocol):
    """A crawl that this server started, in a separate process."""

    @property
    def process(self) -> int: ...

    @property
    def has_ended(self) -> bool: ...

    def problem(self) -> str | None:
        """Return in one line why it failed; None if it did not fail."""


class Starter(Protocol):
    """The interface that resumes a crawl; `last` returns the run that was started last, if known."""

    def start(self, until: float | None, budget: int | None) -> Started: ...

    def last(self) -> Started | None: ...


class FolderStarter:
    """Resumes the crawl in a folder, and remembers the last run that it started."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: ResumedCrawl | None = None

    def start(self, until: float | None, budget: int | None) -> ResumedCrawl:
        self._last = ResumedCrawl(self._path, until, budget)
        return self._last

    def last(self) -> ResumedCrawl | None:
        return self._last


class CrawlWatch:
    """Reads the state of a crawl folder for all clients, and stops or resumes the crawl."""

    def __init__(self, path: Path, starter: Starter | None = None) -> None:
        self.path = path
        self._starter = starter or FolderStarter(path)
        self._watcher = FolderWatcher(path)
        self._lock = threading.Lock()
        self._now: CrawlNow | None = None
        self._status: FolderStatus | None = None
        self._next_read = 0.0
        self._stopping: int | None = None  # the process that was asked to stop
        self._replayed_top: FrontierTop | None = None
        self._replay: threading.Thread | None = None

    def now(self) -> CrawlNow:
        """Return the state of the crawl, at most a second old; at most ten for large crawls, which are slow to read."""
        with self._lock:
            if self._now is None or time.monotonic() >= self._next_read:
                before = time.thread_time()  # CPU time, which does not grow while the machine is busy
                self._status = self._watcher.status(_N_HOSTS)
                self._now = self._state_of(self._status)
                pause_s = (time.thread_time() - before) / _MAX_READ_SHARE
                self._next_read = time.monotonic() + min(max(_MIN_INTERVAL_S, pause_s), _MAX_INTERVAL_S)
            return self._now

    def progress(self) -> list[ProgressPoint]:
        """Return the progress of the crawl from its start to now."""
        now, points = self.now(), read_progress(self.path / "course.jsonl")
        if now.epoch_lower is None or now.epoch_upper is None or (points and points[-1].position >= now.position):
            return points
        last = ProgressPoint(
            now.epoch, now.position, now.n_done, now.epoch_lower, now.epoch_upper, now.epoch_blocked or 0.0,
            now.pages_per_s, now.last_time or 0.0, now.n_on_topic, now.measured, now.claimed,
        )  # fmt: skip
        return [*points, last]

    def frontier(self) -> FrontierNow:
        """Return the next pages. A running crawl writes them to a file; after a kill the crawl is replayed."""
        now, top = self.now(), written_top(self.path)
        if not now.is_running and now.phase != "starting":
            if top is not None and top.position > now.position:
                top = None  # it includes pages that were not yet committed when the crawl was killed
            if top is None or top.position < now.position:
                self._start_replay(now)
        if self._replayed_top is not None and (top is None or self._replayed_top.position > top.position):
            top = self._replayed_top
        age = 0 if top is None else max(now.position - top.position, 0)
        return FrontierNow(top, age, self._replay is not None and self._replay.is_alive())

    def stop(self) -> int:
        """Ask the crawl to stop, and return its process id."""
        process = ask_to_stop(self.path)
        self._stopping = process
        self._next_read = 0.0
        return process

    def resume(self, until: float | None = None, budget: int | None = None) -> int:
        """Resume the crawl, with another goal if one is given, and return its process id.

        An invalid goal raises an error here; errors of the crawl itself are in `CrawlNow.problem`.
        """
        Goal(until, budget)
        with self._lock:
            last = self._starter.last()
            if holder_of(self.path) is not None or (last is not None and not last.has_ended):
                raise CrawlFolderError(f"{self.path}: the crawl is running already")
            refusal = resume_refusal(self._watcher.status(_N_HOSTS), until, budget)
            if refusal is not None:
                raise CrawlFolderError(refusal)
            started = self._starter.start(until, budget)
            self._stopping = None
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and not started.has_ended and holder_of(self.path) != started.process:
            time.sleep(0.05)
        self._next_read = 0.0
        return started.process

    def started_here(self) -> int | None:
        """Return the process id of the crawl if this server resumed it and it is still running."""
        last = self._starter.last()
        return None if last is None or last.has_ended else last.process

    def _start_replay(self, now: CrawlNow) -> None:
        """Start to replay the crawl for its frontier, once for each position."""
        is_current = self._replayed_top is not None and self._replayed_top.position == now.position
        is_busy = self._replay is not None and self._replay.is_alive()
        assert self._status is not None
        n_urls = self._status.n_urls + self._status.n_urls_outside
        if is_current or is_busy or n_urls == 0 or n_urls > _MAX_REPLAY_URLS:
            return

        def replay() -> None:
            try:
                self._replayed_top = replayed_top(self.path)
            except OrienteerError:  # display an empty frontier; resuming the crawl reports the error
                self._replayed_top = FrontierTop(now.epoch, now.position, now.policy, 0, ())

        self._replay = threading.Thread(target=replay, name="frontier", daemon=True)
        self._replay.start()

    def _state_of(self, status: FolderStatus) -> CrawlNow:
        figures, settings, proved = status.figures or {}, status.plan.crawl, status.proved
        epoch_bounds = status.certificate
        survey = status.survey
        measured = None if survey is None else survey.measured
        last = self._starter.last()
        phase = self._phase(status, last)
        is_running = phase in ("running", "stopping")
        n_frontier = figures.get("n_frontier")
        return CrawlNow(
            phase=phase,
            process=status.holder or None,
            stopped=describe_stopped(status),
            result=describe_result(status),
            problem=None if last is None or is_running else last.problem(),
            resume_refusal=None if is_running else resume_refusal(status),
            goal=describe_goal(settings),
            goal_reached=status.ending is not None and status.ending.goal_reached,
            until=settings.until,
            budget=settings.budget,
            seeds=settings.seeds,
            policy=settings.policy,
            scope=status.plan.scope.kind,
            epoch=int(figures.get("epoch", 0)),
            position=status.position,
            n_done=int(figures.get("n_done", 0)),
            n_fetched=status.n_fetched,
            n_redirects=status.n_redirects,
            n_skipped=status.n_skipped,
            n_failed=status.n_failed,
            n_blocked=status.n_blocked,
            n_urls=status.n_urls,
            n_frontier=n_frontier if isinstance(n_frontier, int) else None,
            n_in_flight=int(figures.get("n_in_flight", 0)) if is_running else 0,
            n_on_topic=status.n_on_topic,
            pages_per_s=float(figures.get("pages_per_s", 0.0)) if is_running else 0.0,
            eta_s=figures.get("eta_s"),
            lower=None if proved is None else proved.lower,
            upper=None if proved is None else proved.upper,
            blocked=None if proved is None else proved.blocked,
            epoch_lower=None if epoch_bounds is None else epoch_bounds.lower,
            epoch_upper=None if epoch_bounds is None else epoch_bounds.upper,
            epoch_blocked=None if epoch_bounds is None else epoch_bounds.blocked,
            measured=None if measured is None else measured.estimate,
            claimed=None if survey is None else survey.claimed,
            evidence=None if survey is None else survey.evidence,
            confidence=None if measured is None else measured.confidence,
            n_walks=0 if measured is None else measured.n_walks,
            n_probes=0 if measured is None else measured.n_probes,
            measured_of_reachable=measured is not None and measured.of_reachable,
            measured_text=describe_measured(status),
            coverage=describe_coverage(status),
            coverage_of_epoch=describe_epoch_coverage(status),
            impossible=describe_impossible_goal(status),
            errors=_errors(status, figures.get("outcomes") or {}),
            hosts=status.hosts,
            n_hosts=status.n_hosts,
            n_hosts_known=status.n_hosts_known,
            n_hosts_backing_off=int(figures.get("n_hosts_backing_off", 0)) if is_running else 0,
            n_hosts_abandoned=int(figures.get("n_hosts_abandoned", 0)),
            workers=workers_of(figures) if is_running else (),
            fetching=fetching_of(figures) if is_running else (),
            n_workers_crashed=int(figures.get("n_workers_crashed", 0)) if is_running else 0,
            first_time=status.first_time,
            last_time=status.last_time,
            archive_bytes=status.archive_bytes,
            stored="" if status.stored is None else status.stored.describe(),
            database_bytes=status.database_bytes,
        )

    def _phase(self, status: FolderStatus, last: Started | None) -> str:
        if status.holder is not None:
            return "stopping" if self._stopping is not None and status.holder == self._stopping else "running"
        if last is not None and not last.has_ended:
            return "starting"
        return "new" if status.first_time is None else "stopped"


def _errors(status: FolderStatus, of_run: dict[str, int]) -> tuple[ErrorKind, ...]:
    """Return the kinds of errors, most frequent first. Files other than HTML are skipped, which is not an error."""
    failed, blocked = status.outcomes(PageState.FAILED), status.outcomes(PageState.BLOCKED)
    kinds = [kind for kind in dict.fromkeys([*failed, *blocked, *of_run]) if kind not in _NO_ERRORS]
    found = [ErrorKind(kind, failed.get(kind, 0), blocked.get(kind, 0), int(of_run.get(kind, 0))) for kind in kinds]
    return tuple(sorted(found, key=lambda error: (-error.n_failed - error.n_blocked, -error.n_in_run, error.kind)))
