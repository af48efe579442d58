"""When a crawl is to be refreshed. Pure: time is an argument, in seconds since 1970.

day, week    at fixed moments of the local calendar. One that was missed (the machine was off, the crawl was busy)
             is caught up as soon as possible; several that were missed are caught up by one refresh
pays         when pages that have probably changed take up a share of a surfer's time (see `staleness`); never
             more often than `least_days`, and no more seldom than `most_days`, since new pages are not foreseen
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from orienteer.errors import InputError, unknown_name
from orienteer.fetch.webhook import expect_webhook
from orienteer.ledger.revisiting import DAY_S
from orienteer.url import canonical_url
from orienteer.wording import moment, plain

EVERY = ("day", "week", "pays")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
RETRY_S = 3600.0  # after a refresh that could not begin, or did not come to its end
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True)
class Schedule:
    """`at` is the local time of day, `on` the day of a week. `threshold` is for "pays", as are the days.

    `webhook` is told what each refresh has found, with the address of the `feed`; `allow_private` lets it be at an
    address of the local network.
    """

    every: str = "day"
    at: str = "03:00"
    on: str = "monday"
    threshold: float = 0.1
    least_days: float = 1.0
    most_days: float = 30.0
    webhook: str = ""
    feed: str = ""
    allow_private: bool = False

    def __post_init__(self) -> None:
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
            expect_webhook(self.webhook, self.allow_private)
        if self.feed and canonical_url(self.feed) is None:
            raise InputError(f"feed is {plain(self.feed, 100)!r}; it must be the address at which the feed is found")

    def next_after(self, time: float, pays_at: float | None = None) -> float:
        """The first moment after a time at which the crawl is due, when it was looked at then.

        `pays_at` is when the threshold is reached; None where nothing is known of the changes.
        """
        if self.every == "pays":
            least, most = time + self.least_days * DAY_S, time + self.most_days * DAY_S
            return least if pays_at is None else min(max(pays_at, least), most)
        hour, minute = map(int, self.at.split(":"))
        day = datetime.fromtimestamp(time).replace(hour=hour, minute=minute, second=0, microsecond=0)
        step = 1
        if self.every == "week":
            day += timedelta(days=(WEEKDAYS.index(self.on) - day.weekday()) % 7)
            step = 7
        if day.timestamp() <= time:
            day += timedelta(days=step)
        return day.timestamp()

    def in_words(self) -> str:
        """`every day at 03:00`."""
        if self.every == "day":
            return f"every day at {self.at}"
        if self.every == "week":
            return f"every {self.on.capitalize()} at {self.at}"
        return f"when pages with {100 * self.threshold:g} % of a surfer's time have probably changed"


@dataclass(frozen=True)
class Standing:
    """What a schedule must know of a crawl.

    `looked` is when it was last refreshed, or else crawled; None while it has no page. `is_broken_off`: its last
    refresh was killed; one that somebody stopped waits for the next time. `n_untold` refreshes are to be told to the
    webhook. `tried` is when the schedule last started something.
    """

    looked: float | None
    is_broken_off: bool = False
    n_untold: int = 0
    pays_at: float | None = None
    tried: float | None = None


def due_at(schedule: Schedule, standing: Standing) -> float | None:
    """When something is to be done; None where there is nothing to refresh yet."""
    if standing.looked is None:
        return None
    due = schedule.next_after(standing.looked, standing.pays_at)
    if standing.is_broken_off:
        due = standing.looked
    elif standing.n_untold:
        due = min(due, standing.looked + RETRY_S)
    return due if standing.tried is None else max(due, standing.tried + RETRY_S)


def due_in_words(schedule: Schedule, standing: Standing, now: float) -> str:
    """When the next refresh is, in a line."""
    due = due_at(schedule, standing)
    if due is None:
        return "there is no page to refresh yet"
    return "due now" if due <= now else f"next: {moment(due)}"
