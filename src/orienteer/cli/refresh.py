"""`orienteer refresh`: refresh crawls, now or when they are due."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display, interruption
from orienteer.cli.goal_option import BUDGET_HELP, UNTIL_HELP, GoalOptions
from orienteer.cli.library_option import chosen_library
from orienteer.cli.running import say
from orienteer.cli.schedule_options import AT, EVERY_HELP, FEED, ON, PRIVATE, SECRET, THRESHOLD, WEBHOOK, schedule_of
from orienteer.errors import InputError, OrienteerError

if TYPE_CHECKING:
    from orienteer.cli.refreshing import RefreshTarget, Result
    from orienteer.library.schedule import Schedule
    from orienteer.library.schedules import Schedules

_WHEN = "When"


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
    every: str | None = typer.Option(None, "--every", metavar="day|week|pays", help=EVERY_HELP, rich_help_panel=_WHEN),
    at: str | None = AT,
    on: str | None = ON,
    threshold: float | None = THRESHOLD,
    until: str | None = typer.Option(None, metavar="SHARE", help=UNTIL_HELP),
    budget: str | None = typer.Option(None, metavar="N", help=BUDGET_HELP),
    index: bool | None = typer.Option(
        None, "--index/--no-index", help="Update the search index afterwards; default: if there is one."
    ),
    webhook: str | None = WEBHOOK,
    webhook_secret: Path | None = SECRET,
    webhook_private: bool = PRIVATE,
    feed: str | None = FEED,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print no progress, and no line for crawls that are not due."
    ),
) -> None:
    """Refresh crawls: fetch new and changed pages. For cron: with --due, only the crawls that are due.

    A folder is due by --every, a crawl of a library by its own schedule (orienteer schedule). After several missed
    times there is one refresh. The command may run several times in parallel: a crawl in use is skipped.

    With a webhook, the changes (new, changed, missing, gone) are sent after each refresh. If sending fails, the next
    run sends them again; the refresh itself does not fail.

    Exit code 0: all crawls that were due are refreshed; 3: a refresh ended without reaching its goal; 2: one could not
    start; 130: interrupted.

    Example: [bold]orienteer refresh example.org-crawl --every day[/bold]
    """
    from orienteer.cli.refreshing import NOT_DUE, Options, refresh_one

    if due and every is None and library is None:
        raise InputError("--due needs a schedule: give --every, or a --library whose crawls have schedules")
    own = schedule_of(every, at, on, threshold, webhook, feed, webhook_private)
    targets = _targets(places or [], library, own if every or webhook else None, webhook_secret)
    options = Options(due or every is not None, GoalOptions.of(until, budget), index, quiet or json)
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
    from orienteer.cli.refreshing import UNFINISHED

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
    from orienteer.cli.refreshing import RefreshTarget
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
    from orienteer.cli.refreshing import RefreshTarget

    path, schedule = schedules.library.path_of(name), schedules.get(name)
    receiver = None if schedule is None else schedules.receiver(name, schedule)
    return RefreshTarget(name, path, schedule, receiver, schedules)


def _name_in(place: str, library: Path) -> str:
    """Return the name of a crawl of a library, which may be given as a path."""
    path = Path(place)
    return path.name if len(path.parts) > 1 and path.parent.resolve() == library.resolve() else place
