"""`orienteer refresh`: look at the pages of crawls again, now or when they are due."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.goal_option import BUDGET_HELP, UNTIL_HELP, GoalOptions
from orienteer.cli.library_option import chosen_library
from orienteer.cli.running import say
from orienteer.cli.schedule_options import AT, EVERY_HELP, FEED, ON, PRIVATE, SECRET, THRESHOLD, WEBHOOK, schedule_of
from orienteer.errors import InputError, OrienteerError

if TYPE_CHECKING:
    from orienteer.cli.refreshing import Result, Target
    from orienteer.library.schedule import Schedule
    from orienteer.library.schedules import Schedules

_WHEN = "When"


def refresh(
    places: list[str] = typer.Argument(None, metavar="[DIR]...", help="Crawl folders; with --library, or names there."),
    library: Path | None = typer.Option(
        None,
        "--library",
        metavar="DIR",
        help="A folder of crawls, with their schedules; all that have one, if none is named.",
    ),
    due: bool = typer.Option(False, "--due", help="Only crawls that are due by their schedule.", rich_help_panel=_WHEN),
    every: str | None = typer.Option(None, "--every", metavar="day|week|pays", help=EVERY_HELP, rich_help_panel=_WHEN),
    at: str | None = AT,
    on: str | None = ON,
    threshold: float | None = THRESHOLD,
    until: str | None = typer.Option(None, metavar="SHARE", help=UNTIL_HELP),
    budget: str | None = typer.Option(None, metavar="N", help=BUDGET_HELP),
    index: bool | None = typer.Option(
        None, "--index/--no-index", help="Make it searchable afterwards; default: if it has an index already."
    ),
    webhook: str | None = WEBHOOK,
    webhook_secret: Path | None = SECRET,
    webhook_private: bool = PRIVATE,
    feed: str | None = FEED,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No display, and no line for what is not due."),
) -> None:
    """Refresh crawls: fetch what is new or has changed. For cron: with --due, those whose time has come.

    A folder is due by --every, a crawl of a library by its own schedule (orienteer schedule). What was missed is caught
    up once. The same command may run several times at once: a crawl that is being worked on is skipped.

    With a webhook, what was new, changed and gone is sent there after each refresh, and sent again by the next run if
    it could not be. That never fails a refresh.

    Exit code 0: all that was due is refreshed; 3: a refresh ended without reaching its goal; 2: one could not begin.

    Example: [bold]orienteer refresh example.org-crawl --every day[/bold]
    """
    from orienteer.cli.refreshing import NOT_DUE, Options, refresh_one

    if due and every is None and library is None:
        raise InputError("--due: by which schedule? Say --every day, or name a library whose crawls have schedules")
    own = schedule_of(every, at, on, threshold, webhook, feed, webhook_private)
    targets = _targets(places or [], library, own if every or webhook else None, webhook_secret)
    options = Options(due or every is not None, GoalOptions.of(until, budget), index, quiet or json)
    results: list[Result] = []
    n_failed = 0
    for name, target_of in targets.items():
        try:
            result = refresh_one(target_of(), options, time.time())
        except OrienteerError as error:  # the others may be all right
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

    if n_failed:
        raise typer.Exit(2)
    if any(result.state == UNFINISHED for result in results):
        raise typer.Exit(3)


def _targets(
    places: list[str], library: Path | None, own: Schedule | None, secret: Path | None
) -> dict[str, Callable[[], Target]]:
    """The crawls that are meant, by name, and what makes them ready."""
    if library is not None:
        if own is not None:
            raise InputError("--every and --webhook are for folders; crawls of a library have schedules of their own")
        return _of_library(places, library)
    if not places:
        raise InputError("which crawl? Name its folder, or a library (--library DIR)")
    return {place: partial(_of_folder, Path(place), own, secret) for place in places}


def _of_folder(path: Path, own: Schedule | None, secret: Path | None) -> Target:
    from orienteer.cli.refreshing import Target
    from orienteer.fetch.webhook import Webhook
    from orienteer.files.private import read_private
    from orienteer.live.webhook_notes import Receiver

    name = path.resolve().name
    if own is None or not own.webhook:
        return Target(str(path), path, own)
    key = b"" if secret is None else read_private(secret).strip()
    receiver = Receiver(Webhook(own.webhook, key, own.allow_private), name, own.feed or None)
    return Target(str(path), path, own, receiver)


def _of_library(places: list[str], library: Path) -> dict[str, Callable[[], Target]]:
    from orienteer.library.schedules import Schedules

    schedules = Schedules(chosen_library(library))
    names = [_name_in(place, library) for place in places] if places else schedules.names()
    return {name: partial(_of_name, schedules, name) for name in names}


def _of_name(schedules: Schedules, name: str) -> Target:
    from orienteer.cli.refreshing import Target

    path, schedule = schedules.library.path_of(name), schedules.get(name)
    receiver = None if schedule is None else schedules.receiver(name, schedule)
    return Target(name, path, schedule, receiver, schedules)


def _name_in(place: str, library: Path) -> str:
    """The name of a crawl of a library, which may be given by its path."""
    path = Path(place)
    return path.name if len(path.parts) > 1 and path.parent.resolve() == library.resolve() else place
