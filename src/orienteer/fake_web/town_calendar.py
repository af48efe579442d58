"""The town's calendar of events, with a page for every future month and day: it is endless.

Each month links to its days, to the months before and after, and a year ahead; each day to the next. Few of them have
anything to say. A crawler that follows every link stays here for ever.
"""

from __future__ import annotations

import calendar
import re

from orienteer.fake_web.page import Link, ProseWriter, TownPage

PATH = "/calendar/"
FIRST_YEAR, FIRST_MONTH = 2026, 5

_PLACE = re.compile(r"/calendar/(\d{4,6})-(\d\d)(?:-(\d\d))?")
_EVERY = 400  # years after which the calendar repeats itself
_SHARE_OF_DAYS_WITH_EVENTS = 0.04


def first_month(host: str) -> str:
    return _url(host, FIRST_YEAR, FIRST_MONTH)


def calendar_page(rng: int, host: str, path: str) -> TownPage | None:
    """Return the page at this path of the calendar; None for an impossible date."""
    match = _PLACE.fullmatch(path)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 1)
    if not 1 <= month <= 12 or (year, month) < (FIRST_YEAR, FIRST_MONTH) or not 1 <= day <= _n_days(year, month):
        return None
    return _month(host, year, month) if match[3] is None else _day(rng, host, year, month, day)


def _month(host: str, year: int, month: int) -> TownPage:
    days = [Link(f"{day} {_name(month)}", _url(host, year, month, day)) for day in range(1, _n_days(year, month) + 1)]
    onwards = [
        Link("Next month", _url(host, *_after(year, month))),
        Link("The same month next year", _url(host, year + 1, month)),
    ]
    if (year, month) > (FIRST_YEAR, FIRST_MONTH):
        before = (year - 1, 12) if month == 1 else (year, month - 1)
        onwards.insert(0, Link("Previous month", _url(host, *before)))
    text = f"What is on in Quillhaven in {_name(month)} {year}. Choose a day to see its events."
    return TownPage(f"Events in {_name(month)} {year}", (text,), (("Days", tuple(days)), ("Onwards", tuple(onwards))))


def _day(rng: int, host: str, year: int, month: int, day: int) -> TownPage:
    writer = ProseWriter(rng, "calendar", year, month, day)
    text = "No events have been entered for this day."
    if writer.draw.random() < _SHARE_OF_DAYS_WITH_EVENTS:
        text = " ".join(writer.paragraphs(2, "culture", "town"))
    last = day == _n_days(year, month)
    after = (*_after(year, month), 1) if last else (year, month, day + 1)
    onwards = (Link("Next day", _url(host, *after)), Link(f"{_name(month)} {year}", _url(host, year, month)))
    return TownPage(f"Events on {day} {_name(month)} {year}", (text,), (("Onwards", onwards),))


def _url(host: str, year: int, month: int, day: int | None = None) -> str:
    return f"http://{host}{PATH}{year:04}-{month:02}" + (f"-{day:02}" if day is not None else "")


def _after(year: int, month: int) -> tuple[int, int]:
    return (year + 1, 1) if month == 12 else (year, month + 1)


def _n_days(year: int, month: int) -> int:
    return calendar.monthrange(2000 + year % _EVERY, month)[1]


def _name(month: int) -> str:
    return calendar.month_name[month]
