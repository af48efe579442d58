"""The stored schedules of a library, the state of each crawl that they need, and the thread that follows them.

    .schedules/NAME.toml      the schedule of a crawl (see `Schedule`); may be edited by hand
    .schedules/NAME.secret    the signing key of its webhook; mode 0600
    .schedules/NAME.json      a cache: when it was last started, and when a refresh pays; may be deleted

They are renamed and deleted together with the crawl. Each refresh is an ordinary job, which checks again under the lock
of its crawl whether it is due, so several servers and cron can follow schedules at the same time.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from orienteer.errors import CrawlFolderError, InputError, OrienteerError
from orienteer.fetch.webhook import Webhook
from orienteer.files.plain import make_plain_folder, read_private, write_durably, write_private
from orienteer.library.job import Job
from orienteer.library.jobs import Jobs
from orienteer.library.library import SCHEDULE_SUFFIXES, Library
from orienteer.library.schedule import Schedule, ScheduledCrawl, due_at
from orienteer.library.staleness import Staleness
from orienteer.live.webhook_deliveries import Receiver, WebhookDeliveries
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import from_table, to_table
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import FolderView

_TOML, _SECRET, _NOTE = SCHEDULE_SUFFIXES
_SECRET_BYTES = 32


class Schedules:
    """The schedules of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def names(self) -> list[str]:
        """Return the names of the crawls with a schedule, sorted."""
        return [name for name in self.library.names() if self.library.schedule_path(name, _TOML).is_file()]

    def get(self, name: str) -> Schedule | None:
        """Return the schedule of a crawl, or None. InputError if its file cannot be read."""
        self.library.path_of(name)
        path = self.library.schedule_path(name, _TOML)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not TOML: it is not UTF-8") from None
        return parse_schedule(text, str(path))

    def set(self, name: str, schedule: Schedule) -> None:
        """Store the schedule of a crawl; the first time also create the secret of its webhook."""
        self.library.path_of(name)
        self._make()
        path = self.library.schedule_path(name, _TOML)
        with map_disk_errors(path):
            if not self.library.schedule_path(name, _SECRET).exists():
                write_private(self.library.schedule_path(name, _SECRET), secrets.token_hex(_SECRET_BYTES).encode())
            write_durably(path, tomli_w.dumps(to_table(schedule)))

    def remove(self, name: str) -> None:
        """Remove the schedule of a crawl, but not its secret."""
        self.library.path_of(name)
        for suffix in (_TOML, _NOTE):
            with map_disk_errors(self.library.schedule_path(name, suffix)):
                self.library.schedule_path(name, suffix).unlink(missing_ok=True)

    def secret(self, name: str) -> str:
        """Return the signing key of a crawl's webhook; empty if it has none yet."""
        self.library.path_of(name)
        path = self.library.schedule_path(name, _SECRET)
        return read_private(path).decode("ascii", "replace").strip() if path.exists() else ""

    def receiver(self, name: str, schedule: Schedule) -> Receiver | None:
        """Return the webhook that receives the results of a crawl's refreshes, if there is one."""
        if not schedule.webhook:
            return None
        hook = Webhook(schedule.webhook, self.secret(name).encode(), schedule.allow_private)
        return Receiver(hook, name, schedule.feed or None)

    def note_started(self, name: str, now: float) -> None:
        """Record that a refresh is about to start: the schedule retries it after `RETRY_S` at the earliest."""
        self._note(name, {"tried": now})

    def state(self, name: str) -> ScheduledCrawl:
        """Return the state of a crawl that decides when it is due; InputError if it has no schedule."""
        schedule = self.get(name)
        if schedule is None:
            raise InputError(f"{name} has no schedule")
        notes = self._notes(name)
        path = self.library.path_of(name)
        receiver = self.receiver(name, schedule)
        state = schedule_state_of(path, schedule, receiver, lambda: self._pays_at(name, schedule, notes))
        last_start = notes.get("tried")
        return replace(state, last_start=float(last_start) if isinstance(last_start, int | float) else None)

    def _pays_at(self, name: str, schedule: Schedule, notes: Mapping[str, Any]) -> float | None:
        """Return `pays_at`, cached until the next refresh, since it needs the ranks of all pages."""
        path = self.library.path_of(name)
        with FolderView.open(path) as folder:
            key = [folder.database.history.next_position(), schedule.threshold]
        cached = notes.get("pays")
        if isinstance(cached, list) and cached[:2] == key and len(cached) == 3 and isinstance(cached[2], float | None):
            return cached[2]
        time = pays_at(path, schedule.threshold)
        self._note(name, {"pays": [*key, time]})
        return time

    def _make(self) -> None:
        self.library.make()
        folder = self.library.schedule_path("", "")
        with map_disk_errors(folder):
            make_plain_folder(folder)

    def _notes(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self.library.schedule_path(name, _NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, name: str, values: dict[str, Any]) -> None:
        self._make()
        path = self.library.schedule_path(name, _NOTE)
        with map_disk_errors(path):
            write_durably(path, json.dumps(self._notes(name) | values) + "\n")


def parse_schedule(text: str, where: str) -> Schedule:
    """Parse the text of a schedule file; an InputError names the file in one line."""
    try:
        return from_table(Schedule, tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not TOML: {error}") from None
    except InputError as error:
        raise InputError(str(error) if where in str(error) else f"{where}: {error}") from None


def schedule_state_of(
    path: Path,
    schedule: Schedule,
    receiver: Receiver | None = None,
    compute_pays_at: Callable[[], float | None] | None = None,
) -> ScheduledCrawl:
    """Return the state of a crawl folder for a schedule. Reads only a few rows, except for "pays"."""
    with FolderView.open(path) as folder:
        database = folder.database
        heads, times = database.epochs.all(), database.history.times()
        position = database.history.next_position()
        report = folder.report_path
    if times is None:
        return ScheduledCrawl(None)
    last = heads[-1] if heads else None
    last_refresh = times[1] if last is None else max(last.began, last.ended or last.began)
    is_interrupted = last is not None and last.ended is None and not _was_stopped(report, position)
    n_unsent = 0 if receiver is None else len(WebhookDeliveries(path, receiver).waiting())
    pays = None
    if schedule.every == "pays":
        pays = pays_at(path, schedule.threshold) if compute_pays_at is None else compute_pays_at()
    return ScheduledCrawl(last_refresh, is_interrupted, n_unsent, pays)


def pays_at(path: Path, threshold: float) -> float | None:
    """Return when a refresh of the crawl in a folder pays; None if no change rates are known.

    "Never" is returned as 1e12, since JSON has no infinity.
    """
    with FolderView.open(path) as folder:
        stale = Staleness.of(folder.database)
    time = None if stale is None else stale.time_of(threshold)
    return time if time is None or math.isfinite(time) else 1e12


def _was_stopped(report: Path, position: int) -> bool:
    """Whether the user stopped the last run. A killed run leaves no report of the crawl's present position."""
    with suppress(OSError, ValueError, RecursionError, CrawlFolderError):
        values = json.loads(report.read_text(encoding="utf-8"))
        if isinstance(values, dict) and isinstance(values.get("figures"), dict):
            is_current = values["figures"].get("position") == position
            return is_current and values.get("stopped_because") in [why for why in StopReason if why.is_pause]
    return False


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
