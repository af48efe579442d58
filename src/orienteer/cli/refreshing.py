"""One crawl of `orienteer refresh`: is it due, what did the refresh find, who is told. Time is an argument.

All of it happens under a lock of its own (`refresh.lock`): where two run at once, the second does not look at a crawl
between the end of its refresh and the moment at which that is known.
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
    from orienteer.library.schedule import Schedule
    from orienteer.library.schedules import Schedules
    from orienteer.live.session import Report
    from orienteer.live.webhook_notes import Receiver

REFRESHED, NOT_DUE, BUSY, UNFINISHED = "refreshed", "not due", "busy", "unfinished"


@dataclass(frozen=True)
class Target:
    """A crawl to be refreshed: what it is called, where it is, when it is due, and who is told.

    `schedules` are those of the library that it stands in; None for a folder that somebody has named. `schedule` is
    None where it is refreshed whenever that is asked for.
    """

    name: str
    path: Path
    schedule: Schedule | None = None
    receiver: Receiver | None = None
    schedules: Schedules | None = None


@dataclass(frozen=True)
class Options:
    """`index` None: where there is an index, it is brought up to date."""

    only_if_due: bool = False
    goal: GoalOptions = field(default_factory=lambda: GoalOptions.of(None, None))
    index: bool | None = None
    quiet: bool = False
    pause: Callable[[float], None] = time.sleep  # between the tries of a webhook


@dataclass(frozen=True)
class Result:
    """What came of a crawl; `line` tells it to a person, `notes` what else happened."""

    crawl: str
    state: str
    line: str
    visits: dict[str, int] | None = None
    epoch: int | None = None
    notes: tuple[str, ...] = ()
    was_interrupted: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def refresh_one(target: Target, options: Options, now: float) -> Result:
    """Refresh a crawl, if it is due or nobody asks for that; then tell what was found."""
    from orienteer.live.webhook_notes import WebhookNotes
    from orienteer.store.folder_files import expect_crawl

    expect_crawl(target.path)
    with ExitStack() as stack:
        busy = _in_use(target.path, stack)
        if busy and options.only_if_due:
            return Result(target.name, BUSY, f"{target.name}: {busy}; skipped")
        if busy:
            raise CrawlFolderError(f"{target.path} is {busy}")
        notes = None if target.receiver is None else WebhookNotes(target.path, target.receiver)
        told = [] if notes is None else notes.deliver(options.pause)
        if options.only_if_due:
            line = _why_not(target, now)
            if line:
                return Result(target.name, NOT_DUE, f"{target.name}: {line}", notes=tuple(told))
        if target.schedules is not None:
            target.schedules.note_tried(target.name, now)
        if notes is not None:
            notes.begin()
        report = _refreshed(target.path, options, now)
        if not report.stopped_because.is_pause:
            told += _indexed(target.path, options)
            told += [] if notes is None else notes.deliver(options.pause)
    return _result(target, report, told)


def _in_use(path: Path, stack: ExitStack) -> str:
    """Who works on a crawl, in words; empty where nobody does: then it is held for us."""
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


def _why_not(target: Target, now: float) -> str:
    """Why a crawl is not refreshed now, in a line; empty where it is due."""
    from orienteer.library.schedule import due_at, due_in_words
    from orienteer.library.schedules import standing_of

    if target.schedule is None:
        return "it has no schedule"
    if target.schedules is None:
        standing = standing_of(target.path, target.schedule)
    else:
        standing = target.schedules.standing(target.name)
    standing = replace(standing, n_untold=0, tried=None)  # telling is done, and whoever starts this has waited
    due = due_at(target.schedule, standing)
    if due is not None and due <= now:
        return ""
    return f"not due; {due_in_words(target.schedule, standing, now)}"


def _refreshed(path: Path, options: Options, now: float) -> Report:
    """The refresh itself, with display and signals."""
    from orienteer.cli import crawl_display
    from orienteer.cli.crawl import crawl_plan
    from orienteer.live import session
    from orienteer.store.folder_files import settings_of_folder

    goal = options.goal
    given: dict[str, dict[str, Any]] = {"crawl": {"until": goal.until, "budget": goal.budget}}
    plan = crawl_plan(path, settings_of_folder(path), None, given, goal)
    with ExitStack() as stack:
        with waiting(path, options.quiet):
            live = stack.enter_context(session.opened(path, plan, refresh=True, now=now))
        if live.ledger.folder.upgrade is not None:
            say(live.ledger.folder.upgrade)
        stack.enter_context(stoppable(live))
        with crawl_display.shown(path, options.quiet) as show:
            return session.run(live, lambda figures: show(figures, live.stop_wanted), None if options.quiet else say)


def _indexed(path: Path, options: Options) -> list[str]:
    """Bring the index up to date, where there is one, or one is wanted."""
    from orienteer.cli.indexing_beside import indexed_at_the_end
    from orienteer.search.index_files import TEXTS, index_folder

    has_index = (index_folder(path) / TEXTS).is_file()
    if not (has_index if options.index is None else options.index):
        return []
    try:
        report = indexed_at_the_end(path, options.quiet)
    except OrienteerError as error:  # the refresh is done all the same
        return [f"the index was not updated: {error}"]
    return [f"{counted(report.n_pages, 'page')} can be searched"]


def _result(target: Target, report: Report, told: list[str]) -> Result:
    from orienteer.cli.epoch_display import visits_in_words

    state = REFRESHED if report.goal_reached else UNFINISHED
    how = "refreshed" if report.goal_reached else f"stopped ({report.stopped_because})"
    return Result(
        target.name,
        state,
        f"{target.name}: {how}: {visits_in_words(report.figures.visits)}",
        report.figures.visits,
        report.figures.epoch,
        tuple(told),
        report.stopped_because == StopReason.INTERRUPTED,
    )
