"""Options that `refresh` and `schedule` share: when a crawl is due, and its webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from orienteer.library.schedule import Schedule

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
