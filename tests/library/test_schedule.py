"""When a crawl is due: pure, time is an argument."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from orienteer.errors import InputError
from orienteer.ledger.revisiting import DAY_S
from orienteer.library.schedule import RETRY_S, Schedule, ScheduledCrawl, describe_due, due_at
from tests.tables import over_rows


@pytest.fixture(autouse=True, params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def minute_of(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s).isoformat(" ", "minutes")


@over_rows(
    ("schedule", "last_refresh", "due"),
    [
        (Schedule("day", at="03:00"), "2026-05-04 02:59", "2026-05-04 03:00"),
        (Schedule("day", at="03:00"), "2026-05-04 03:00", "2026-05-05 03:00"),
        (Schedule("day", at="23:30"), "2026-12-31 23:45", "2027-01-01 23:30"),
        (Schedule("day", at="03:30"), "2026-03-07 12:00", "2026-03-08 03:30"),  # the clocks change in New York
        (Schedule("week", at="03:00"), "2026-05-04 04:00", "2026-05-11 03:00"),  # a Monday
        (Schedule("week", at="03:00", on="sunday"), "2026-05-04 04:00", "2026-05-10 03:00"),
        (Schedule("week", at="03:00", on="monday"), "2026-05-04 01:00", "2026-05-04 03:00"),
    ],
)
def test_calendar_times(schedule: Schedule, last_refresh: str, due: str) -> None:
    assert minute_of(due_at(schedule, ScheduledCrawl(local(last_refresh))) or 0) == due


def test_a_daily_refresh_that_begins_a_little_later_each_day_misses_no_day() -> None:
    schedule, last_refresh, n_refreshed = Schedule("day", at="03:00"), local("2026-05-01 02:00"), 0
    for minute in range(0, 10 * 24 * 60, 7):  # checked every seven minutes
        now = local("2026-05-01 02:00") + 60.0 * minute
        if due_at(schedule, ScheduledCrawl(last_refresh)) <= now:  # type: ignore[operator]
            last_refresh, n_refreshed = now + 1800.0, n_refreshed + 1
    assert n_refreshed == 10


def test_cron_at_the_same_time_each_day_is_never_a_few_seconds_too_early() -> None:
    schedule, last_refresh = Schedule("day", at="03:00"), local("2026-05-01 02:30")
    for day in range(2, 12):
        now = local(f"2026-05-{day:02} 02:30") - day % 3
        assert due_at(schedule, ScheduledCrawl(last_refresh)) <= now  # type: ignore[operator]
        last_refresh = now + 5.0


def test_missed_refreshes_are_made_up_for_once() -> None:
    schedule = Schedule("day", at="03:00")
    now = local("2026-05-20 12:00")
    assert due_at(schedule, ScheduledCrawl(local("2026-05-01 03:10"))) <= now  # type: ignore[operator]
    assert minute_of(due_at(schedule, ScheduledCrawl(now)) or 0) == "2026-05-21 03:00"


def test_when_it_pays() -> None:
    schedule = Schedule("pays", least_days=1, most_days=30)
    last_refresh = local("2026-05-01 12:00")
    for pays_at, days in ((None, 1.0), (last_refresh, 1.0), (last_refresh + 5 * DAY_S, 5.0), (1e12, 30.0)):
        due = due_at(schedule, ScheduledCrawl(last_refresh, pays_at=pays_at))
        assert due == pytest.approx(last_refresh + days * DAY_S)


def test_a_killed_refresh_is_retried_but_not_every_minute() -> None:
    schedule, last_refresh = Schedule("week"), local("2026-05-04 04:00")
    assert due_at(schedule, ScheduledCrawl(last_refresh, is_interrupted=True)) == last_refresh
    retried = ScheduledCrawl(last_refresh, is_interrupted=True, last_start=last_refresh + 60)
    assert due_at(schedule, retried) == last_refresh + 60 + RETRY_S


def test_an_unsent_report_is_sent_after_the_retry_time() -> None:
    schedule, last_refresh = Schedule("week"), local("2026-05-04 04:00")
    assert due_at(schedule, ScheduledCrawl(last_refresh, n_unsent=1)) == last_refresh + RETRY_S


def test_a_refresh_that_cannot_start_is_retried_later() -> None:
    schedule, last_refresh, now = Schedule("day"), local("2026-05-04 04:00"), local("2026-05-05 12:00")
    assert due_at(schedule, ScheduledCrawl(last_refresh, last_start=now)) == now + RETRY_S


def test_descriptions() -> None:
    assert Schedule().describe() == "every day at 03:00"
    assert Schedule("week", on="friday").describe() == "every Friday at 03:00"
    assert Schedule("pays", threshold=0.05).describe().startswith("when pages with 5 % of a surfer's time have prob")
    last_refresh = local("2026-05-04 04:00")
    first = describe_due(Schedule(), ScheduledCrawl(last_refresh), last_refresh + 1)
    assert first.startswith("next: 2026-05-05 03:00:00")
    assert describe_due(Schedule(), ScheduledCrawl(last_refresh), last_refresh + 2 * DAY_S) == "due now"
    assert describe_due(Schedule(), ScheduledCrawl(None), last_refresh) == "there is no page to refresh yet"


@over_rows(
    ("values", "line"),
    [
        ({"every": "dya"}, "no schedule named 'dya'; did you mean 'day'? (choices: day, pays, week)"),
        ({"at": "25:00"}, "at is '25:00'; a time of day is like 03:00"),
        ({"at": "3"}, "at is '3'; a time of day is like 03:00"),
        ({"on": "funday"}, "no day of the week named 'funday'; did you mean 'sunday'?"),
        ({"threshold": 0.0}, "threshold is 0.0; a share of a surfer's time lies between 0 and 1"),
        ({"least_days": 5.0, "most_days": 2.0}, "least_days is 5.0, most_days 2.0; 0 < least <= most"),
        ({"webhook": "http://10.0.0.1/"}, "the webhook leads to 10.0.0.1, which is private"),
        ({"feed": "http://["}, "feed is 'http://['; it must be the URL of the feed"),
    ],
)
def test_an_invalid_value_is_an_error_of_one_line(values: dict[str, object], line: str) -> None:
    with pytest.raises(InputError) as refused:
        Schedule(**values)  # type: ignore[arg-type]
    assert str(refused.value).startswith(line)
