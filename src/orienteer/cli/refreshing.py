"""One crawl of `orienteer refresh`: whether it is due, its refresh, and its webhook. Time is an argument.

All of it happens under a separate lock (`refresh.lock`), so that of two parallel commands the second does not see a
crawl between the end of its refresh and the moment when that is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.cli.goal_option import GoalOptions
from orienteer.cli.running import say, stoppable, waiting
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import counted

if TYPE_CHECKING:
    from orienteer.inspect.run_report import Report
    from orienteer.library.schedule import Schedule
    from orienteer.library.schedules import Schedules
    from orienteer.live.webhook_deliveries import Receiver

REFRESHED, NOT_DUE, BUSY, UNFINISHED = "refreshed", "not due", "busy", "unfinished"


@dataclass(frozen=True)
class RefreshTarget:
    """A crawl to refresh: its name, path, schedule and webhook.

    `schedules` are those of its library; None for a folder named on the command line. Without a `schedule` it is
    refreshed on every call.
    """

    name: str
    path: Path
    schedule: Schedule | None = None
    receiver: Receiver | None = None
    schedules: Schedules | None = None


@dataclass(frozen=True)
class Options:
    """Options of a refresh. `index` None: update the index if there is one."""

    only_if_due: bool = False
    goal: GoalOptions = field(default_factory=lambda: GoalOptions.of(None, None))
    index: bool | None = None
    quiet: bool = False
    pause: Callable[[float], None] = time.sleep  # between attempts to call a webhook


@dataclass(frozen=True)
class Result:
    """The result for one crawl; `line` is its text, `notes` are further lines."""

    crawl: str
    state: str
    line: str
    visits: dict[str, int] | None = None
    epoch: int | None = None
    missing: tuple[dict[str, Any], ...] = ()  # pages missing now, whose last copies are stored
    notes: tuple[str, ...] = ()
    was_interrupted: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def refresh_one(target: RefreshTarget, options: Options, now: float) -> Result:
    """Refresh a crawl, if it is due or that does not matter; then deliver the results to its webhook."""
    from orienteer.live.webhook_deliveries import WebhookDeliveries
    from orienteer.store.folder_view import expect_crawl

    expect_crawl(target.path)
    with ExitStack() as stack:
        busy = _in_use(target.path, stack)
        if busy and options.only_if_due:
            return Result(target.name, BUSY, f"{target.name}: {busy}; skipped")
        if busy:
            raise CrawlFolderError(f"{target.path} is {busy}")
        notes = None if target.receiver is None else WebhookDeliveries(target.path, target.receiver)
        sent = [] if notes is None else notes.deliver(options.pause)
        if options.only_if_due:
            line = _why_not(target, now)
            if line:
                return Result(target.name, NOT_DUE, f"{target.name}: {line}", notes=tuple(sent))
        if target.schedules is not None:
            target.schedules.note_started(target.name, now)
        if notes is not None:
            notes.begin()
        report = _refreshed(target.path, options, now)
        if not report.stopped_because.is_pause:
            sent += _indexed(target.path, options)
            sent += [] if notes is None else notes.deliver(options.pause)
    return _result(target, report, sent)


def _in_use(path: Path, stack: ExitStack) -> str:
    """Describe the process that uses a crawl; empty if none does, and the crawl is then locked for us."""
    from orienteer.store.lock import REFRESH_LOCK, FolderLock, holder_of

    process = holder_of(path)
    if process is None:
        try:
            stack.callback(FolderLock(path, REFRESH_LOCK).release)
            return ""
        except CrawlFolderError:
            process = holder_of(path, REFRESH_LOCK)
            if process is None:
                raise
    return f"in use by process {process or '(unknown)'}"


def _why_not(target: RefreshTarget, now: float) -> str:
    """Return why a crawl is not refreshed now, in a line; empty if it is due."""
    from orienteer.library.schedule import describe_due, due_at
    from orienteer.library.schedules import schedule_state_of

    if target.schedule is None:
        return "it has no schedule"
    if target.schedules is None:
        state = schedule_state_of(target.path, target.schedule)
    else:
        state = target.schedules.state(target.name)
    # Webhooks are delivered, and the caller has waited.
    state = replace(state.at(now), n_unsent=0, last_start=None)
    if state.warning():
        say(f"{target.name}: {state.warning()}")
    due = due_at(target.schedule, state)
    if due is not None and due <= now:
        return ""
    return f"not due; {describe_due(target.schedule, state, now)}"


def _refreshed(path: Path, options: Options, now: float) -> Report:
    """Run the refresh, with display and signals."""
    from orienteer.cli import crawl_display
    from orienteer.cli.crawl import crawl_plan
    from orienteer.live import session
    from orienteer.store.folder_view import settings_of_folder

    goal = options.goal
    given: dict[str, dict[str, Any]] = {"crawl": {"until": goal.until, "budget": goal.budget}}
    plan = crawl_plan(path, settings_of_folder(path), None, given, goal)
    with ExitStack() as stack:
        with waiting(path, options.quiet):
            live = stack.enter_context(session.open_crawl(path, plan, refresh=True, now=now))
        if live.ledger.folder.upgrade is not None:
            say(live.ledger.folder.upgrade)
        stack.enter_context(stoppable(live))
        with crawl_display.progress_display(path, options.quiet) as show:
            return session.run(live, lambda figures: show(figures, live.stop_level), None if options.quiet else say)


def _indexed(path: Path, options: Options) -> list[str]:
    """Update the index, if there is one or one is requested."""
    from orienteer.cli.background_indexing import indexed_at_the_end
    from orienteer.search.index_files import TEXTS, index_folder

    has_index = (index_folder(path) / TEXTS).is_file()
    if not (has_index if options.index is None else options.index):
        return []
    try:
        report = indexed_at_the_end(path, options.quiet)
    except OrienteerError as error:  # the refresh itself succeeded
        return [f"the index was not updated: {error}"]
    return [f"{counted(report.n_pages, 'page')} can be searched"]


def _result(target: RefreshTarget, report: Report, sent: list[str]) -> Result:
    from orienteer.cli.epoch_display import describe_missing, describe_visits

    state = REFRESHED if report.ending.is_success else UNFINISHED
    how = "refreshed" if report.ending.is_success else f"stopped ({report.stopped_because})"
    return Result(
        target.name,
        state,
        f"{target.name}: {how}: {describe_visits(report.figures.visits)}",
        report.figures.visits,
        report.figures.epoch,
        tuple(page.as_dict() for page in report.missing),
        (*describe_missing(report.missing, target.path), *sent),
        report.stopped_because == StopReason.INTERRUPTED,
    )
