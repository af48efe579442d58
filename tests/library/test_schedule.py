"""When a crawl is due: pure, time is an argument."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from orienteer.errors import InputError
from orienteer.ledger.revisiting import DAY_S
from orienteer.library.schedule import RETRY_S, Schedule, Standing, due_at, due_in_words


@pytest.fixture(autouse=True, params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def told(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s).isoformat(" ", "minutes")


@pytest.mark.parametrize(
    ("schedule", "looked", "due"),
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
def test_moments_of_the_calendar(schedule: Schedule, looked: str, due: str) -> None:
    assert told(due_at(schedule, Standing(local(looked))) or 0) == due


def test_a_daily_refresh_that_begins_a_little_later_each_day_misses_no_day() -> None:
    schedule, looked, n_refreshed = Schedule("day", at="03:00"), local("2026-05-01 02:00"), 0
    for minute in range(0, 10 * 24 * 60, 7):  # asked every seven minutes
        now = local("2026-05-01 02:00") + 60.0 * minute
        if due_at(schedule, Standing(looked)) <= now:  # type: ignore[operator]
            looked, n_refreshed = now + 1800.0, n_refreshed + 1
    assert n_refreshed == 10


def test_cron_at_the_same_time_each_day_is_never_a_few_seconds_too_early() -> None:
    schedule, looked = Schedule("day", at="03:00"), local("2026-05-01 02:30")
    for day in range(2, 12):
        now = local(f"2026-05-{day:02} 02:30") - day % 3
        assert due_at(schedule, Standing(looked)) <= now  # type: ignore[operator]
        looked = now + 5.0


def test_what_was_missed_is_caught_up_once() -> None:
    schedule = Schedule("day", at="03:00")
    now = local("2026-05-20 12:00")
    assert due_at(schedule, Standing(local("2026-05-01 03:10"))) <= now  # type: ignore[operator]
    assert told(due_at(schedule, Standing(now)) or 0) == "2026-05-21 03:00"


def test_when_it_pays() -> None:
    schedule = Schedule("pays", least_days=1, most_days=30)
    looked = local("2026-05-01 12:00")
    for pays_at, days in ((None, 1.0), (looked, 1.0), (looked + 5 * DAY_S, 5.0), (1e12, 30.0)):
        due = due_at(schedule, Standing(looked, pays_at=pays_at))
        assert due == pytest.approx(looked + days * DAY_S)


def test_a_refresh_that_was_killed_goes_on_but_not_every_minute() -> None:
    schedule, looked = Schedule("week"), local("2026-05-04 04:00")
    assert due_at(schedule, Standing(looked, is_broken_off=True)) == looked
    assert due_at(schedule, Standing(looked, is_broken_off=True, tried=looked + 60)) == looked + 60 + RETRY_S


def test_what_was_not_told_is_told_after_a_while() -> None:
    schedule, looked = Schedule("week"), local("2026-05-04 04:00")
    assert due_at(schedule, Standing(looked, n_untold=1)) == looked + RETRY_S


def test_a_refresh_that_cannot_begin_is_tried_again_after_a_while() -> None:
    schedule, looked, now = Schedule("day"), local("2026-05-04 04:00"), local("2026-05-05 12:00")
    assert due_at(schedule, Standing(looked, tried=now)) == now + RETRY_S


def test_in_words() -> None:
    assert Schedule().in_words() == "every day at 03:00"
    assert Schedule("week", on="friday").in_words() == "every Friday at 03:00"
    assert Schedule("pays", threshold=0.05).in_words().startswith("when pages with 5 % of a surfer's time have prob")
    looked = local("2026-05-04 04:00")
    assert due_in_words(Schedule(), Standing(looked), looked + 1).startswith("next: 2026-05-05 03:00:00")
    assert due_in_words(Schedule(), Standing(looked), looked + 2 * DAY_S) == "due now"
    assert due_in_words(Schedule(), Standing(None), looked) == "there is no page to refresh yet"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"every": "dya"}, "no schedule named 'dya'; did you mean 'day'? (choices: day, pays, week)"),
        ({"at": "25:00"}, "at is '25:00'; a time of day is like 03:00"),
        ({"at": "3"}, "at is '3'; a time of day is like 03:00"),
        ({"on": "funday"}, "no day of the week named 'funday'; did you mean 'sunday'?"),
        ({"threshold": 0.0}, "threshold is 0.0; a share of a surfer's time lies between 0 and 1"),
        ({"least_days": 5.0, "most_days": 2.0}, "least_days is 5.0, most_days 2.0; 0 < least <= most"),
        ({"webhook": "http://10.0.0.1/"}, "the webhook leads to 10.0.0.1, which is private"),
        ({"feed": "http://["}, "feed is 'http://['; it must be the address at which the feed is found"),
    ],
)
def test_what_cannot_be_is_one_line(values: dict[str, object], line: str) -> None:
    with pytest.raises(InputError) as refused:
        Schedule(**values)  # type: ignore[arg-type]
    assert str(refused.value).startswith(line)
