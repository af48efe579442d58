"""What `refresh` and `schedule` have in common: when a crawl is due, and who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from orienteer.library.schedule import Schedule

_WHEN, _TOLD = "When", "Webhook"

EVERY_HELP = "Only if it is due: once a day, once a week, or when a refresh pays, by how often the pages change."
AT = typer.Option(None, "--at", metavar="HH:MM", help="The time of day (03:00).", rich_help_panel=_WHEN)
ON = typer.Option(None, "--on", metavar="DAY", help="With week: the day (monday).", rich_help_panel=_WHEN)
THRESHOLD = typer.Option(
    None,
    "--threshold",
    metavar="SHARE",
    help="With pays: the share of a surfer's time on pages that have probably changed (0.1).",
    rich_help_panel=_WHEN,
)
WEBHOOK = typer.Option(
    None, "--webhook", metavar="URL", help="Send what a refresh has found there, as JSON.", rich_help_panel=_TOLD
)
SECRET = typer.Option(
    None,
    "--webhook-secret",
    metavar="FILE",
    help="A file that nobody else can read: messages are signed with what is in it (HMAC-SHA256).",
    rich_help_panel=_TOLD,
)
PRIVATE = typer.Option(
    False, "--webhook-private", help="The webhook may be at a private address.", rich_help_panel=_TOLD
)
FEED = typer.Option(
    None, "--feed", metavar="URL", help="The URL of the feed of the crawl, to be sent along.", rich_help_panel=_TOLD
)


def schedule_of(
    every: str | None,
    at: str | None,
    on: str | None,
    threshold: float | None,
    webhook: str | None,
    feed: str | None,
    allow_private: bool,
) -> Schedule:
    """The schedule that the options say, with the defaults where they say nothing."""
    from orienteer.library.schedule import Schedule

    given: dict[str, Any] = {
        "every": every, "at": at, "on": None if on is None else on.lower(), "threshold": threshold,
        "webhook": webhook, "feed": feed, "allow_private": allow_private or None,
    }  # fmt: skip
    return Schedule(**{name: value for name, value in given.items() if value is not None})
