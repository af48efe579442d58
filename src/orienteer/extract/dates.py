"""Dates as pages write them, as ISO 8601 has them: to the day, the month or the year, whatever is known.

    2025-03-01    2025-03    2025

So dates are ordered as texts are, and a shorter one is before all dates in it. A date is that of the page's own time
zone; the time of day is dropped. Of `01/03/2025` nobody knows the month, so its year is left.
"""

from __future__ import annotations

import re
from datetime import date

_MAX_CHARS = 100
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_ISO = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2})(?!\d))?)?(?![\d/.-])")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?!\d)")
_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?[ .-]+(?:of )?{_NAME}[ ,.-]+(\d{{4}})(?!\d)")
_MONTH_FIRST = re.compile(rf"{_NAME} +(?:(\d{{1,2}})(?:st|nd|rd|th)?,? +)?(\d{{4}})(?!\d)")
_FIGURES = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?!\d)")
_NOBODY_MEANS = frozenset(("1970-01-01", "1970-01", "1970"))  # what a clock shows that was never set


def iso_date(text: str) -> str:
    """The date that a text begins with, or names; "" for what is none.

    >>> iso_date("2025-03-01T23:30:00+02:00"), iso_date("Sat, 01 Mar 2025 10:00:00 GMT"), iso_date("March 2025")
    ('2025-03-01', '2025-03-01', '2025-03')
    """
    found = _read(text[:_MAX_CHARS].strip().lower())
    return "" if found in _NOBODY_MEANS else found


def _read(text: str) -> str:
    if (found := _ISO.match(text)) is not None:
        return _checked(found[1], found[3], found[4])
    if (found := _COMPACT.match(text)) is not None:
        return _checked(*found.groups())
    if (found := _FIGURES.match(text)) is not None:
        one, mark, other, year = found.groups()
        if mark == "." or int(one) > 12:
            return _checked(year, other, one)
        return _checked(year, one, other) if int(other) > 12 or one == other else _checked(year)
    if (found := _DAY_FIRST.search(text)) is not None:
        return _checked(found[3], _month(found[2]), found[1])
    if (found := _MONTH_FIRST.search(text)) is not None:
        return _checked(found[3], _month(found[1]), found[2])
    return ""


def _month(name: str) -> str:
    return str(_MONTHS.index(name) + 1)


def _checked(year: str, month: str | None = None, day: str | None = None) -> str:
    """The date, if there is such a one."""
    if int(year) < 1000:
        return ""
    try:
        found = date(int(year), int(month or 1), int(day or 1)).isoformat()
    except ValueError:
        return ""
    return found if day else found[:7] if month else found[:4]
