"""When a crawl is due for a refresh. Pure: time is an argument, in seconds since 1970.

day, week    at fixed times of the local calendar. A refresh that was missed (the machine was off, the crawl was busy)
             is made up for as soon as possible; several missed ones, by a single refresh. A time of day that occurs
             twice, when clocks are set back, counts the first time; one that is skipped, when they are set forward,
             is shifted by as much as the clocks are
pays         when the pages that have probably changed reach a share of a surfer's time (see `staleness`); at least
             `least_days` and at most `most_days` after the last refresh, since new pages cannot be predicted
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from datetime import time as time_of_day

from orienteer.errors import InputError, unknown_name
from orienteer.settings import setting
from orienteer.url import canonical_url
from orienteer.wording import moment, plain

EVERY = ("day", "week", "pays")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
RETRY_S = 3600.0  # after a refresh that could not start or was interrupted
_WHEN, _WEBHOOK = "When", "Webhook"
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True)
class Schedule:
    """When and how a crawl is refreshed; `least_days` and `most_days` apply to "pays"."""

    every: str = setting("day", "How often: every day, every week, or when a refresh pays.")
    at: str = setting("03:00", "Time of day.", option="--at", group=_WHEN, metavar="HH:MM")
    on: str = setting("monday", "With week: day of the week.", option="--on", group=_WHEN, metavar="DAY")
    threshold: float = setting(
        0.1,
        "With pays: refresh when pages with this share of a surfer's time have probably changed.",
        option="--threshold", group=_WHEN, metavar="SHARE",
    )  # fmt: skip
    least_days: float = 1.0
    most_days: float = 30.0
    webhook: str = setting(
        "", "Send the result of each refresh to this URL, as JSON.", option="--webhook", group=_WEBHOOK, metavar="URL"
    )
    feed: str = setting(
        "", "URL of the crawl's feed, to include in messages.", option="--feed-url", group=_WEBHOOK, metavar="URL"
    )
    allow_private: bool = setting(
        False, "Allow a webhook at a private address.", option="--webhook-allow-private", group=_WEBHOOK
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", self.on.lower())
        if self.every not in EVERY:
            raise unknown_name("schedule", plain(self.every, 40), EVERY)
        if _TIME.fullmatch(self.at) is None:
            raise InputError(f"at is {plain(self.at, 40)!r}; a time of day is like 03:00")
        if self.on not in WEEKDAYS:
            raise unknown_name("day of the week", plain(self.on, 40), WEEKDAYS)
        if not 0 < self.threshold < 1:
            raise InputError(f"threshold is {self.threshold}; a share of a surfer's time lies between 0 and 1")
        if not 0 < self.least_days <= self.most_days < math.inf:
            raise InputError(f"least_days is {self.least_days}, most_days {self.most_days}; 0 < least <= most")
        if self.webhook:
            from orienteer.fetch.webhook import expect_webhook

            expect_webhook(self.webhook, self.allow_private)
        if self.feed and canonical_url(self.feed) is None:
            raise InputError(f"feed is {plain(self.feed, 100)!r}; it must be the URL of the feed")

    def next_after(self, time: float, pays_at: float | None = None) -> float:
        """Return when the crawl is due if its last refresh was at `time`.

        `pays_at` is when the threshold is reached; None if no change rates are known.
        """
        from orienteer.ledger.revisiting import DAY_S

        if self.every == "pays":
            least, most = time + self.least_days * DAY_S, time + self.most_days * DAY_S
            return least if pays_at is None else min(max(pays_at, least), most)
        hour, minute = map(int, self.at.split(":"))
        at = time_of_day(hour, minute)
        # From yesterday on: a time that the clock skipped yesterday may have moved past midnight.
        days = [datetime.fromtimestamp(time).date() + timedelta(days=k) for k in range(-1, 9)]
        moments = [
            datetime.combine(day, at).timestamp()  # of two moments the first, since `fold` is 0
            for day in days
            if self.every == "day" or day.weekday() == WEEKDAYS.index(self.on)
        ]
        return min(moment for moment in moments if moment > time)

    def describe(self) -> str:
        """Return a text like `every day at 03:00`."""
        if self.every == "day":
            return f"every day at {self.at}"
        if self.every == "week":
            return f"every {self.on.capitalize()} at {self.at}"
        return f"when pages with {100 * self.threshold:g} % of a surfer's time have probably changed"


@dataclass(frozen=True)
class ScheduledCrawl:
    """The state of a crawl that decides when it is due.

    `last_refresh` is when it was last refreshed, or else crawled; None while it has no page. `is_interrupted`: its last
    refresh was killed; one that the user stopped is not retried early. `n_unsent` refreshes are not yet posted to the
    webhook. `last_start` is when the schedule last started a job. `future_time` is the recorded time of the last
    refresh if it lies in the future.
    """

    last_refresh: float | None
    is_interrupted: bool = False
    n_unsent: int = 0
    pays_at: float | None = None
    last_start: float | None = None
    future_time: float | None = None

    def at(self, now: float) -> ScheduledCrawl:
        """Return the state without times in the future: one wrong clock must not stop a schedule for years.

        A crawl with its last refresh in the future is due now, since the true time is unknown.
        """
        from orienteer.ledger.revisiting import CLOCK_TOLERANCE_S

        latest, state = now + CLOCK_TOLERANCE_S, self
        if self.last_start is not None and self.last_start > latest:
            state = replace(state, last_start=None)
        if self.last_refresh is not None and self.last_refresh > latest:
            state = replace(state, last_refresh=now, is_interrupted=True, future_time=self.last_refresh)
        return state

    def warning(self) -> str:
        """Return one line about a time in the future; empty if there is none."""
        if self.future_time is None:
            return ""
        return f"it was last refreshed on {moment(self.future_time)}, which is in the future: was a clock wrong?"


def due_at(schedule: Schedule, state: ScheduledCrawl) -> float | None:
    """Return when the crawl is due; None if it has no page to refresh yet."""
    if state.last_refresh is None:
        return None
    due = schedule.next_after(state.last_refresh, state.pays_at)
    if state.is_interrupted:
        due = state.last_refresh
    elif state.n_unsent:
        due = min(due, state.last_refresh + RETRY_S)
    return due if state.last_start is None else max(due, state.last_start + RETRY_S)


def describe_due(schedule: Schedule, state: ScheduledCrawl, now: float) -> str:
    """Describe in one line when the next refresh is."""
    state = state.at(now)
    due = due_at(schedule, state)
    if due is None:
        return "there is no page to refresh yet"
    line = "due now" if due <= now else f"next: {moment(due)}"
    return f"{line}; {state.warning()}" if state.warning() else line
