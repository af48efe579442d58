"""Schedules where clocks are set back or forward, and where a clock was wrong. Pure, time is an argument."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.ledger.revisiting import DAY_S, after_visit, due_pages
from orienteer.library.schedule import RETRY_S, WEEKDAYS, Schedule, ScheduledCrawl, describe_due, due_at
from orienteer.pages.states import PageState
from orienteer.store.visit_tables import SeenPages
from orienteer.store.visits import Revisits, VisitKind
from tests.tables import over_rows

# Lord Howe is set forward by half an hour; Havana and Beirut at midnight; Apia left out 30 December 2011.
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut", "Pacific/Apia",
)  # fmt: skip
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()
YEARS_AHEAD = NOW + 4 * 365 * DAY_S


@contextmanager
def local_zone(name: str) -> Iterator[ZoneInfo]:
    """The local time of this process is that of a zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        try:
            yield ZoneInfo(name)
        finally:
            patch.undo()
            time.tzset()


def moments_of(zone: ZoneInfo, day: date, at: str) -> list[float]:
    """Every moment of a day at which clocks in the zone show this time, minute by minute."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone).timestamp()
    hours, minutes = map(int, at.split(":"))
    wanted = (day.year, day.month, day.day, hours, minutes)
    all_minutes = (noon + 60 * minute for minute in range(-16 * 60, 16 * 60))
    return [moment for moment in all_minutes if datetime.fromtimestamp(moment, zone).timetuple()[:5] == wanted]


def due_times(schedule: Schedule, start: float, end: float, wait_s: float) -> list[float]:
    """When a schedule is due, if each refresh ends some time after it was due."""
    found, last_refresh = [], start
    while True:
        due = due_at(schedule, ScheduledCrawl(last_refresh))
        assert due is not None
        assert due > last_refresh
        if due > end:
            return found
        found.append(due)
        last_refresh = due + wait_s


times_of_day = st.one_of(
    st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59)),
    st.sampled_from(["00:00", "00:30", "01:30", "01:45", "02:00", "02:15", "02:30", "02:59", "03:00", "23:30"]),
)


@given(
    zone=st.sampled_from(ZONES),
    first=st.dates(date(2009, 1, 1), date(2036, 1, 1)),
    at=times_of_day,
    every=st.sampled_from(["day", "week"]),
    on=st.sampled_from(WEEKDAYS),
    wait_s=st.sampled_from([0.0, 1.0, 300.0, 1800.0, 3600.0, 5400.0]),
)
def test_each_time_of_the_calendar_is_due_once(
    zone: str, first: date, at: str, every: str, on: str, wait_s: float
) -> None:
    """Once a day, or once on each such day of the week, whatever the clocks do."""
    schedule = Schedule(every, at=at, on=on)
    with local_zone(zone) as info:
        start = datetime(first.year, first.month, first.day, 12, tzinfo=info).timestamp()
        n_days = 300
        days = [first + timedelta(days=k) for k in range(1, n_days)]
        found = [
            datetime.fromtimestamp(due, info) for due in due_times(schedule, start, start + n_days * DAY_S, wait_s)
        ]
        found = [due for due in found if days[0] <= due.date() <= days[-1]]
        request = [day for day in days if every == "day" or day.weekday() == WEEKDAYS.index(on)]
        usual = {due.date() for due in found if due.strftime("%H:%M") == at}
        unusual = [day for day in request if day not in usual]
        for day in unusual:
            assert moments_of(info, day, at) == [], "a time that clocks show is due when they show it"
        assert len(unusual) <= n_days // 100 + 1
    assert abs(len(found) - len(request)) <= 1, "a time that is left out may move past the end, or onto another one"


def change_days(zone: str, year: int) -> Iterator[tuple[date, str]]:
    """The days on which clocks are changed, and each quarter of an hour on them."""
    info, day = ZoneInfo(zone), date(year, 1, 1)
    while day.year == year:
        offsets = [datetime(day.year, day.month, day.day, hour, tzinfo=info).utcoffset() for hour in (0, 23)]
        if offsets[0] != offsets[1]:
            yield from ((day, f"{hour:02}:{minute:02}") for hour in range(24) for minute in (0, 15, 30, 45))
        day += timedelta(days=1)


@over_rows("wait_s", [1.0, 2700.0])
@over_rows("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_on_the_days_that_clocks_change(zone: str, wait_s: float) -> None:
    """A time that occurs twice is due the first time; one that does not occur is due once, after the gap."""
    kinds = set()
    with local_zone(zone) as info:
        for day, at in change_days(zone, 2026):
            noon = datetime(day.year, day.month, day.day, 12, tzinfo=info).timestamp()
            due = due_times(Schedule(at=at), noon - 1.5 * DAY_S, noon + 1.5 * DAY_S, wait_s)
            occurring = moments_of(info, day, at)
            of_day = [one for one in due if datetime.fromtimestamp(one, info).date() == day]
            kinds.add(len(occurring))
            assert len(of_day) == 1, (day, at)
            if occurring:
                assert of_day == occurring[:1]
            else:
                assert datetime.fromtimestamp(of_day[0], info).strftime("%H:%M") > at
    assert kinds == {0, 1, 2}


@pytest.mark.parametrize("every", ["day", "week", "pays"])
def test_a_look_in_the_future_does_not_stop_a_schedule(every: str) -> None:
    state = ScheduledCrawl(YEARS_AHEAD, last_start=YEARS_AHEAD, pays_at=YEARS_AHEAD)
    found = state.at(NOW)
    assert due_at(Schedule(every), found) == NOW
    assert due_at(Schedule(every), state.at(NOW + DAY_S)) == NOW + DAY_S, "it is due until it is refreshed"
    line = describe_due(Schedule(every), state, NOW)
    assert line.startswith("due now; it was last refreshed on 2030-05-03 ")
    assert line.endswith(", which is in the future: was a clock wrong?")
    again = replace(found, last_start=NOW)
    assert due_at(Schedule(every), again.at(NOW)) == NOW + RETRY_S, "where it fails it is tried once an hour"


def test_a_clock_that_is_a_little_ahead_changes_nothing() -> None:
    """By a week at most, which is how long a schedule then waits at worst."""
    state = ScheduledCrawl(NOW + 7 * DAY_S, last_start=NOW + 7 * DAY_S)
    assert state.at(NOW) == state
    assert state.at(NOW - 1.0).last_refresh == NOW - 1.0
    assert state.warning() == ""
    assert ScheduledCrawl(None).at(NOW) == ScheduledCrawl(None)


def seen(checked: float, n_checks: int) -> SeenPages:
    one = {"pages": [7], "states": [PageState.FETCHED], "checked": [checked], "first_times": [NOW - 300 * DAY_S]}
    counts = {"n_checks": [n_checks], "n_changes": [0], "n_missing": [0]}
    return SeenPages(**{name: np.array(value) for name, value in (one | counts).items()})


def test_pages_fetched_in_the_future_are_due_once() -> None:
    assert due_pages(seen(YEARS_AHEAD, 9), NOW, 0.2).tolist() == [7]
    assert due_pages(seen(NOW + 60.0, 9), NOW, 0.2).tolist() == []
    before = Revisits(7, NOW - 300 * DAY_S, YEARS_AHEAD, n_checks=9)
    after = after_visit(before, VisitKind.UNCHANGED, NOW)
    assert after.checked == NOW
    assert due_pages(seen(after.checked, after.n_checks), NOW + DAY_S, 0.2).tolist() == []


def test_a_page_first_seen_in_the_future_begins_again() -> None:
    """An interval that a wrong clock has measured says nothing of how often the page changes."""
    before = Revisits(7, YEARS_AHEAD, YEARS_AHEAD + DAY_S, n_checks=9, n_changes=9)
    assert after_visit(before, VisitKind.CHANGED, NOW) == Revisits(7, NOW, NOW)


def test_a_page_missing_since_the_future_is_missing_since_now() -> None:
    before = Revisits(7, NOW - DAY_S, NOW, n_checks=1, n_missing=1, missing_since=YEARS_AHEAD)
    assert after_visit(before, VisitKind.MISSING, NOW).missing_since == NOW
