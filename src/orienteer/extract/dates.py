"""Parse dates of pages to ISO 8601, to the day, the month or the year, as far as known.

    2025-03-01    2025-03    2025

These dates sort as texts, and a shorter one is before all dates in it. A date is in the page's own time zone; the time
of day is dropped. The month of `01/03/2025` is ambiguous, so only its year is used.
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
_UNSET_CLOCKS = frozenset(("1970-01-01", "1970-01", "1970"))  # the Unix epoch: a clock that was never set


def iso_date(text: str) -> str:
    """Return the date at the beginning of a text or in it; "" if there is none.

    >>> iso_date("2025-03-01T23:30:00+02:00"), iso_date("Sat, 01 Mar 2025 10:00:00 GMT"), iso_date("March 2025")
    ('2025-03-01', '2025-03-01', '2025-03')
    """
    found = _read(text[:_MAX_CHARS].strip().lower())
    return "" if found in _UNSET_CLOCKS else found


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
    """Return the date, or "" if it does not exist."""
    if int(year) < 1000:
        return ""
    try:
        found = date(int(year), int(month or 1), int(day or 1)).isoformat()
    except ValueError:
        return ""
    return found if day else found[:7] if month else found[:4]
