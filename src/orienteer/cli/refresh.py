"""`orienteer refresh`: refresh crawls, now or when they are due; then update the index, and call the webhook.

A refresh happens under a separate lock (`refresh.lock`), so that of two parallel commands the second does not see a
crawl between the end of its refresh and the moment when that is recorded. Time is an argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, interruption
from orienteer.cli.command import command
from orienteer.cli.options import GivenSettings, chosen_library, with_fields, with_settings
from orienteer.cli.running import run_crawl, say
from orienteer.errors import CrawlFolderError, InputError, OrienteerError
from orienteer.library.schedule import Schedule
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import stated
from orienteer.wording import counted

if TYPE_CHECKING:
    from orienteer.inspect.run_report import Report
    from orienteer.library.schedules import Schedules
    from orienteer.live.webhook_deliveries import Receiver

_WHEN = "When"

REFRESHED, NOT_DUE, BUSY, UNFINISHED = "refreshed", "not due", "busy", "unfinished"


@command("")
@with_fields("how", Schedule)
@with_settings("--until", "--budget", "--stop-when", runs=True)
def refresh(
    places: list[str] = typer.Argument(
        None, metavar="[DIR]...", help="Crawl folders; with --library, names or folders there."
    ),
    library: Path | None = typer.Option(
        None,
        "--library",
        metavar="DIR",
        help="Folder of crawls with schedules; default: refresh all crawls that have one.",
    ),
    due: bool = typer.Option(
        False, "--due", help="Refresh only crawls that are due by their schedule.", rich_help_panel=_WHEN
    ),
    every: str | None = typer.Option(
        None,
        "--every",
        metavar="day|week|pays",
        help="Refresh only if due: once a day, once a week, or when enough pages have probably changed (pays).",
        rich_help_panel=_WHEN,
    ),
    *,
    how: dict[str, Any],
    webhook_secret: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="File with the key that signs messages (HMAC-SHA256); it must be readable by you only.",
        rich_help_panel="Webhook",
    ),
    index: bool | None = typer.Option(
        None, "--index/--no-index", help="Update the search index afterwards; default: if there is one."
    ),
    given: GivenSettings,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print no progress, and no line for crawls that are not due."
    ),
) -> None:
    """Refresh crawls: fetch new and changed pages. For cron: with --due, only the crawls that are due.

    New seeds are chosen from the known pages (table refresh of the settings), and pages that may have changed are
    requested again, conditionally if possible. Missing pages are kept for some days before they are removed. An
    interrupted refresh is continued.

    A folder is due by --every, a crawl of a library by its own schedule (orienteer schedule). After several missed
    times there is one refresh. The command may run several times in parallel: a crawl in use is skipped.

    With a webhook, the changes (new, changed, missing, gone) are sent after each refresh. If sending fails, the next
    run sends them again; the refresh itself does not fail.

    Exit code 0: all crawls that were due are refreshed; 3: a refresh ended without reaching its goal; 2: one could not
    start; 130: interrupted.

    Example: [bold]orienteer refresh example.org-crawl --every day[/bold]
    """
    if due and every is None and library is None:
        raise InputError("--due needs a schedule: give --every, or a --library whose crawls have schedules")
    own = Schedule(**how | stated(every=every))
    targets = _targets(places or [], library, own if every or own.webhook else None, webhook_secret)
    options = Options(due or every is not None, given, index, quiet or json)
    results: list[Result] = []
    n_failed = 0
    for name, target_of in targets.items():
        try:
            result = refresh_one(target_of(), options, time.time())
        except OrienteerError as error:  # continue with the others
            n_failed += 1
            say(f"orienteer: {error}" if name in str(error) else f"orienteer: {name}: {error}")
            continue
        results.append(result)
        if not json and not (quiet and result.state == NOT_DUE and not result.notes):
            _print(result)
        if result.was_interrupted:
            break
    if json:
        display.print_json({"crawls": [result.as_dict() for result in results], "n_failed": n_failed})
    _end(results, n_failed)


def _print(result: Result) -> None:
    with display.ignore_broken_pipe():
        print(result.line, flush=True)
        for note in result.notes:
            print(f"  {note}", flush=True)


def _end(results: list[Result], n_failed: int) -> None:
    if any(result.was_interrupted for result in results):
        raise typer.Exit(interruption.exit_code())
    if n_failed:
        raise typer.Exit(2)
    if any(result.state == UNFINISHED for result in results):
        raise typer.Exit(3)


def _targets(
    places: list[str], library: Path | None, own: Schedule | None, secret: Path | None
) -> dict[str, Callable[[], RefreshTarget]]:
    """Return the crawls to refresh by name, as functions that create the target."""
    if library is not None:
        if own is not None:
            raise InputError("--every and --webhook go with folders; crawls of a library have their own schedules")
        return _of_library(places, library)
    if not places:
        raise InputError("no crawl given; name a crawl folder, or a library (--library DIR)")
    return {place: partial(_of_folder, Path(place), own, secret) for place in places}


def _of_folder(path: Path, own: Schedule | None, secret: Path | None) -> RefreshTarget:
    from orienteer.fetch.webhook import Webhook
    from orienteer.files.plain import read_private
    from orienteer.live.webhook_deliveries import Receiver

    name = path.resolve().name
    if own is None or not own.webhook:
        return RefreshTarget(str(path), path, own)
    key = b"" if secret is None else read_private(secret).strip()
    receiver = Receiver(Webhook(own.webhook, key, own.allow_private), name, own.feed or None)
    return RefreshTarget(str(path), path, own, receiver)


def _of_library(places: list[str], library: Path) -> dict[str, Callable[[], RefreshTarget]]:
    from orienteer.library.schedules import Schedules

    schedules = Schedules(chosen_library(library))
    names = [_name_in(place, library) for place in places] if places else schedules.names()
    return {name: partial(_of_name, schedules, name) for name in names}


def _of_name(schedules: Schedules, name: str) -> RefreshTarget:
    path, schedule = schedules.library.path_of(name), schedules.get(name)
    receiver = None if schedule is None else schedules.receiver(name, schedule)
    return RefreshTarget(name, path, schedule, receiver, schedules)


def _name_in(place: str, library: Path) -> str:
    """Return the name of a crawl of a library, which may be given as a path."""
    path = Path(place)
    return path.name if len(path.parts) > 1 and path.parent.resolve() == library.resolve() else place


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
    given: GivenSettings = field(default_factory=lambda: GivenSettings({}))
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
    report: dict[str, Any] | None = None  # of its run, as `orienteer crawl --json` prints it

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
    from orienteer.store.folder_view import settings_of_folder

    plan = options.given.plan(path, settings_of_folder(path))
    return run_crawl(path, plan, options.given, refresh=True, now=now, quiet=options.quiet)


def _indexed(path: Path, options: Options) -> list[str]:
    """Update the index, if there is one or one is requested."""
    from orienteer.cli.index import indexed_at_the_end
    from orienteer.store.page_texts import TEXTS, index_folder

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
        report.as_dict(),
    )
