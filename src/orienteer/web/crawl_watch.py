"""A crawl as those see it who watch: read once a second at most, however many they are."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orienteer.crawl.goal import Goal
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.done_tally import HostPages
from orienteer.inspect.fetching import Fetching, fetching_of
from orienteer.inspect.folder_status import FolderStatus, FolderWatcher
from orienteer.inspect.frontier_top import FrontierTop, retold_top, written_top
from orienteer.inspect.status_in_words import (
    coverage_in_words,
    coverage_of_epoch_in_words,
    goal_in_words,
    impossible_goal_in_words,
    measured_in_words,
    result_in_words,
    stopped_in_words,
)
from orienteer.inspect.workers_in_words import WorkerNow, workers_of
from orienteer.library.one_crawl import StartedCrawl
from orienteer.live.control import ask_to_stop, resume_refusal
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.states import PageState
from orienteer.store.course import CoursePoint, read_course
from orienteer.store.lock import holder_of

_EVERY_S, _AT_LEAST_EVERY_S = 1.0, 10.0
_SHARE = 0.1  # of the time of one processor may go into looking
_HOSTS_SHOWN = 20
_MAX_RETOLD_URLS = 2_000_000  # telling a crawl anew takes as much memory as to resume it
_START_PATIENCE_S = 4.0
_NO_ERRORS = NO_ERRORS | {Outcome.UNWANTED_TYPE}


@dataclass(frozen=True)
class ErrorKind:
    """Pages that failed or are blocked for a reason; `n_in_run` counts the answers in the present or the last run."""

    kind: str
    n_failed: int
    n_blocked: int
    n_in_run: int


@dataclass(frozen=True)
class CrawlNow:
    """How a crawl stands.

    `phase` is new, starting, running, stopping or stopped; `stopped` says why it is not running, `result` what it has
    come to. `trouble` is why the crawl that was started last from here has come to nothing. `resume_refusal` says why
    it would be of no use to resume it with the goal as it is. Counts of pages are of all epochs; `n_done` counts the
    pages of this one that a host was asked for. `impossible` says that the goal cannot be reached, and why. `lower`,
    `upper` and `blocked` are what is proved in it; those named `library_`, after a refresh, what is proved of all that
    the crawl has. `measured` is the coverage as random walks estimate it, `evidence` how far they are towards the goal;
    once they have reached it, `claimed` is covered at least, with the `confidence`; with `measured_of_reachable`, of
    what is reachable. `measured_in_words` says it all. `workers` are those who fetch and read while it runs, `fetching`
    some of what is under way, the longest first.
    """

    phase: str
    process: int | None
    stopped: str
    result: str
    trouble: str | None
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
    n_under_way: int
    n_on_topic: int | None
    pages_per_s: float
    left_s: float | None
    lower: float | None
    upper: float | None
    blocked: float | None
    library_lower: float | None
    library_upper: float | None
    library_blocked: float | None
    measured: float | None
    claimed: float | None
    evidence: float | None
    confidence: float | None
    n_walks: int
    n_probes: int
    measured_of_reachable: bool
    measured_in_words: str
    coverage: str
    coverage_of_epoch: str
    impossible: str
    errors: tuple[ErrorKind, ...]
    hosts: tuple[HostPages, ...]
    n_hosts: int
    n_hosts_known: int
    n_hosts_resting: int
    n_hosts_given_up: int
    workers: tuple[WorkerNow, ...]
    fetching: tuple[Fetching, ...]
    n_workers_died: int
    first_time: float | None
    last_time: float | None
    archive_bytes: int
    stored: str  # what of the archive is in object storage, in words
    database_bytes: int

    @property
    def is_running(self) -> bool:
        return self.phase in ("running", "stopping")

    @property
    def shows_library(self) -> bool:
        """Whether the crawl as a whole is shown, and not the refresh that is under way."""
        return bool(self.epoch) and self.library_lower is not None and not self.is_running


@dataclass(frozen=True)
class FrontierNow:
    """The top of the frontier; None where it is not known, or not yet. It is as of so many events ago."""

    top: FrontierTop | None
    n_events_ago: int
    is_being_read: bool


class Started(Protocol):
    """A crawl that was started from here, as a process of its own."""

    @property
    def process(self) -> int: ...

    @property
    def has_ended(self) -> bool: ...

    def trouble(self) -> str | None:
        """Why it ended without having crawled, in one line; None if it did not."""


class Starter(Protocol):
    """Goes on with one crawl; `last` is the one that was started last, as far as is known."""

    def start(self, until: float | None, budget: int | None) -> Started: ...

    def last(self) -> Started | None: ...


class FolderStarter:
    """Goes on with the crawl in a folder; it knows what it has started itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: StartedCrawl | None = None

    def start(self, until: float | None, budget: int | None) -> StartedCrawl:
        self._last = StartedCrawl(self._path, until, budget)
        return self._last

    def last(self) -> StartedCrawl | None:
        return self._last


class CrawlWatch:
    """Looks at a crawl folder for all who watch, and stops the crawl or goes on with it for them."""

    def __init__(self, path: Path, starter: Starter | None = None) -> None:
        self.path = path
        self._starter = starter or FolderStarter(path)
        self._onlooker = FolderWatcher(path)
        self._looking = threading.Lock()
        self._now: CrawlNow | None = None
        self._status: FolderStatus | None = None
        self._next_look = 0.0
        self._stopping: int | None = None  # the process that was asked to stop
        self._retold: FrontierTop | None = None
        self._retelling: threading.Thread | None = None

    def now(self) -> CrawlNow:
        """How the crawl stands, as of a second ago at most; up to ten on a crawl so large that a look takes time."""
        with self._looking:
            if self._now is None or time.monotonic() >= self._next_look:
                before = time.thread_time()  # while the machine is busy, a look waits, but costs no more
                self._status = self._onlooker.look(_HOSTS_SHOWN)
                self._now = self._seen(self._status)
                pause_s = (time.thread_time() - before) / _SHARE
                self._next_look = time.monotonic() + min(max(_EVERY_S, pause_s), _AT_LEAST_EVERY_S)
            return self._now

    def course(self) -> list[CoursePoint]:
        """From the beginning of the crawl to this moment."""
        now, points = self.now(), read_course(self.path / "course.jsonl")
        if now.lower is None or now.upper is None or (points and points[-1].position >= now.position):
            return points
        last = CoursePoint(
            now.epoch, now.position, now.n_done, now.lower, now.upper, now.blocked or 0.0, now.pages_per_s,
            now.last_time or 0.0, now.n_on_topic, now.measured, now.claimed,
        )  # fmt: skip
        return [*points, last]

    def frontier(self) -> FrontierNow:
        """The pages that come next. While a crawl runs it says so itself; one that was killed has to be read anew."""
        now, top = self.now(), written_top(self.path)
        if not now.is_running and now.phase != "starting":
            if top is not None and top.position > now.position:
                top = None  # it knew of pages that were not acknowledged when the crawl was killed
            if top is None or top.position < now.position:
                self._retell(now)
        if self._retold is not None and (top is None or self._retold.position > top.position):
            top = self._retold
        age = 0 if top is None else max(now.position - top.position, 0)
        return FrontierNow(top, age, self._retelling is not None and self._retelling.is_alive())

    def stop(self) -> int:
        """Ask the crawl to come to its end; its process."""
        process = ask_to_stop(self.path)
        self._stopping = process
        self._next_look = 0.0
        return process

    def resume(self, until: float | None = None, budget: int | None = None) -> int:
        """Go on with the crawl, with another goal where one is given; its process.

        What is wrong with the goal is said here. Whatever else is in the way the crawl says itself: see `trouble`.
        """
        Goal(until, budget)
        with self._looking:
            last = self._starter.last()
            if holder_of(self.path) is not None or (last is not None and not last.has_ended):
                raise CrawlFolderError(f"{self.path}: the crawl is running already")
            refused = resume_refusal(self._onlooker.look(_HOSTS_SHOWN), until, budget)
            if refused is not None:
                raise CrawlFolderError(refused)
            started = self._starter.start(until, budget)
            self._stopping = None
        deadline = time.monotonic() + _START_PATIENCE_S
        while time.monotonic() < deadline and not started.has_ended and holder_of(self.path) != started.process:
            time.sleep(0.05)
        self._next_look = 0.0
        return started.process

    def started_here(self) -> int | None:
        """The process of the crawl that was resumed from here and is still running; None if there is none."""
        last = self._starter.last()
        return None if last is None or last.has_ended else last.process

    def _retell(self, now: CrawlNow) -> None:
        """Begin to read the crawl anew for its frontier, once for each moment."""
        is_known = self._retold is not None and self._retold.position == now.position
        is_busy = self._retelling is not None and self._retelling.is_alive()
        if is_known or is_busy or now.n_urls == 0 or now.n_urls > _MAX_RETOLD_URLS:
            return

        def retell() -> None:
            try:
                self._retold = retold_top(self.path)
            except OrienteerError:  # then there is nothing to show; the crawl says why when it is resumed
                self._retold = FrontierTop(now.epoch, now.position, now.policy, 0, ())

        self._retelling = threading.Thread(target=retell, name="frontier", daemon=True)
        self._retelling.start()

    def _seen(self, status: FolderStatus) -> CrawlNow:
        figures, settings, proved = status.figures or {}, status.plan.crawl, status.certificate
        library = status.library if status.epochs else None
        walked = status.surveyed
        measured = None if walked is None else walked.measured
        last = self._starter.last()
        phase = self._phase(status, last)
        is_running = phase in ("running", "stopping")
        waiting = figures.get("n_frontier")
        return CrawlNow(
            phase=phase,
            process=status.holder or None,
            stopped=stopped_in_words(status),
            result=result_in_words(status),
            trouble=None if last is None or is_running else last.trouble(),
            resume_refusal=None if is_running else resume_refusal(status),
            goal=goal_in_words(settings),
            goal_reached=bool(status.report_is_current and (status.report or {}).get("goal_reached")),
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
            n_frontier=waiting if isinstance(waiting, int) else None,
            n_under_way=int(figures.get("n_under_way", 0)) if is_running else 0,
            n_on_topic=status.n_on_topic,
            pages_per_s=float(figures.get("pages_per_s", 0.0)) if is_running else 0.0,
            left_s=figures.get("left_s"),
            lower=None if proved is None else proved.lower,
            upper=None if proved is None else proved.upper,
            blocked=None if proved is None else proved.blocked,
            library_lower=None if library is None else library.lower,
            library_upper=None if library is None else library.upper,
            library_blocked=None if library is None else library.blocked,
            measured=None if measured is None else measured.estimate,
            claimed=None if walked is None else walked.claimed,
            evidence=None if walked is None else walked.evidence,
            confidence=None if measured is None else measured.confidence,
            n_walks=0 if measured is None else measured.n_walks,
            n_probes=0 if measured is None else measured.n_probes,
            measured_of_reachable=measured is not None and measured.of_reachable,
            measured_in_words=measured_in_words(status),
            coverage=coverage_in_words(status),
            coverage_of_epoch=coverage_of_epoch_in_words(status),
            impossible=impossible_goal_in_words(status),
            errors=_errors(status, figures.get("outcomes") or {}),
            hosts=status.hosts,
            n_hosts=status.n_hosts,
            n_hosts_known=status.n_hosts_known,
            n_hosts_resting=int(figures.get("n_hosts_resting", 0)) if is_running else 0,
            n_hosts_given_up=int(figures.get("n_hosts_given_up", 0)),
            workers=workers_of(figures) if is_running else (),
            fetching=fetching_of(figures) if is_running else (),
            n_workers_died=int(figures.get("n_workers_died", 0)) if is_running else 0,
            first_time=status.first_time,
            last_time=status.last_time,
            archive_bytes=status.archive_bytes,
            stored="" if status.stored is None else status.stored.in_words(),
            database_bytes=status.database_bytes,
        )

    def _phase(self, status: FolderStatus, last: Started | None) -> str:
        if status.holder is not None:
            return "stopping" if self._stopping is not None and status.holder == self._stopping else "running"
        if last is not None and not last.has_ended:
            return "starting"
        return "new" if status.first_time is None else "stopped"


def _errors(status: FolderStatus, of_run: dict[str, int]) -> tuple[ErrorKind, ...]:
    """What went wrong, the most frequent first. Files that are no HTML are skipped, which is no error."""
    failed, blocked = status.outcomes(PageState.FAILED), status.outcomes(PageState.BLOCKED)
    kinds = [kind for kind in dict.fromkeys([*failed, *blocked, *of_run]) if kind not in _NO_ERRORS]
    found = [ErrorKind(kind, failed.get(kind, 0), blocked.get(kind, 0), int(of_run.get(kind, 0))) for kind in kinds]
    return tuple(sorted(found, key=lambda error: (-error.n_failed - error.n_blocked, -error.n_in_run, error.kind)))
