"""`orienteer schedule`: list and set the refresh schedules of a library; `refresh` shares its options."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import SERVER, command
from orienteer.cli.options import LIBRARY, chosen_library
from orienteer.cli.running import say
from orienteer.errors import InputError, OrienteerError

if TYPE_CHECKING:
    from orienteer.library.schedule import Schedule
    from orienteer.library.schedules import Schedules

_OFF = "never"
_WHEN, _WEBHOOK = "When", "Webhook"

EVERY_HELP = "Refresh only if due: once a day, once a week, or when enough pages have probably changed (pays)."
AT = typer.Option(None, "--at", metavar="HH:MM", help="Time of day (03:00).", rich_help_panel=_WHEN)
ON = typer.Option(None, "--on", metavar="DAY", help="With week: day of the week (monday).", rich_help_panel=_WHEN)
THRESHOLD = typer.Option(
    None,
    "--threshold",
    metavar="SHARE",
    help="With pays: refresh when pages with this share of a surfer's time have probably changed (0.1).",
    rich_help_panel=_WHEN,
)
WEBHOOK = typer.Option(
    None,
    "--webhook",
    metavar="URL",
    help="Send the result of each refresh to this URL, as JSON.",
    rich_help_panel=_WEBHOOK,
)
SECRET = typer.Option(
    None,
    "--webhook-secret",
    metavar="FILE",
    help="File with the key that signs messages (HMAC-SHA256); it must be readable by you only.",
    rich_help_panel=_WEBHOOK,
)
PRIVATE = typer.Option(
    False, "--webhook-allow-private", help="Allow a webhook at a private address.", rich_help_panel=_WEBHOOK
)
FEED = typer.Option(
    None, "--feed-url", metavar="URL", help="URL of the crawl's feed, to include in messages.", rich_help_panel=_WEBHOOK
)


@command(SERVER)
def schedule(
    name: str = typer.Argument(None, metavar="[NAME]", help="A crawl of the library; default: list all of them."),
    library: Path | None = LIBRARY,
    every: str | None = typer.Option(
        None,
        "--every",
        metavar="day|week|pays|never",
        help="How often to refresh the crawl; never: remove the schedule.",
    ),
    at: str | None = AT,
    on: str | None = ON,
    threshold: float | None = THRESHOLD,
    webhook: str | None = WEBHOOK,
    webhook_private: bool = PRIVATE,
    feed: str | None = FEED,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the refresh schedules of a library, or set the schedule of one crawl.

    A running server (orienteer serve) follows the schedules. Without one, let cron run orienteer refresh --library DIR
    --due. Each webhook has its own signing secret, which is printed when it is set.

    Example: [bold]orienteer schedule example.org --every week --on sunday[/bold]
    """
    from orienteer.library.schedules import Schedules

    schedules = Schedules(chosen_library(library))
    given = (every, at, on, threshold, webhook, feed)
    if any(value is not None for value in given):
        if name is None:
            raise InputError("no crawl given; name one of the library to set its schedule")
        _set(schedules, name, every, at, on, threshold, webhook, feed, webhook_private)
    rows, n_damaged = [], 0
    for one in [name] if name else schedules.names():
        try:
            rows.append(_row(schedules, one))
        except OrienteerError as error:  # continue with the others
            if name:
                raise
            n_damaged += 1
            say(f"orienteer: {error}")
    if json:
        display.print_json({"schedules": rows})
    elif rows or n_damaged:
        _print(rows, name is not None)
    else:
        print("No crawl has a schedule.")
    if n_damaged:
        raise typer.Exit(2)


def _print(rows: list[dict[str, Any]], with_secret: bool) -> None:
    with display.ignore_broken_pipe():
        for row in rows:
            print(f"{row['crawl']}: {row['line']}")
            if row["webhook"] and with_secret:
                print(f"  webhook {row['webhook']}\n  secret  {row['secret']}")


def _set(
    schedules: Schedules,
    name: str,
    every: str | None,
    at: str | None,
    on: str | None,
    threshold: float | None,
    webhook: str | None,
    feed: str | None,
    allow_private: bool,
) -> None:
    """Set the schedule; options that are not given stay unchanged."""
    if every == _OFF:
        schedules.remove(name)
        return
    before = schedules.get(name)
    new = schedule_of(every, at, on, threshold, webhook, feed, allow_private)
    if before is not None:
        options = {"every": every, "at": at, "on": on, "threshold": threshold, "webhook": webhook, "feed": feed}
        changes = {key: getattr(new, key) for key, value in options.items() if value is not None}
        new = replace(before, **changes, allow_private=allow_private or before.allow_private)
    schedules.set(name, new)


def _row(schedules: Schedules, name: str) -> dict[str, Any]:
    from orienteer.library.schedule import describe_due, due_at

    found = schedules.get(name)
    if found is None:
        return {"crawl": name, "line": "no schedule", "webhook": "", "secret": "", "schedule": None, "due": None}
    try:
        now = time.time()
        state = schedules.state(name).at(now)
        when, due = describe_due(found, state, now), due_at(found, state)
    except OrienteerError as error:
        when, due = str(error), None
    return {
        "crawl": name,
        "line": f"{found.describe()}; {when}",
        "webhook": found.webhook,
        "secret": schedules.secret(name) if found.webhook else "",
        "schedule": asdict(found),
        "due": due,
    }


def schedule_of(
    every: str | None,
    at: str | None,
    on: str | None,
    threshold: float | None,
    webhook: str | None,
    feed: str | None,
    allow_private: bool,
) -> Schedule:
    """Return the schedule that the options describe, with defaults for those not given."""
    from orienteer.library.schedule import Schedule

    given: dict[str, Any] = {
        "every": every, "at": at, "on": None if on is None else on.lower(), "threshold": threshold,
        "webhook": webhook, "feed": feed, "allow_private": allow_private or None,
    }  # fmt: skip
    return Schedule(**{name: value for name, value in given.items() if value is not None})
