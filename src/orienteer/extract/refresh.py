"""Refreshes: redirects by the page after a delay, in the `Refresh` header or the `meta` element of that name.

Browsers treat both alike and use the first valid one; the header comes before the page.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_REFRESH_CHARS = 16_384  # longer than any URL that is followed

_SPACE = "\t\n\f\r "
_TIME = re.compile(r"[\t\n\f\r ]*(?:(\d+)|(?=\.))[\d.]*", re.ASCII)
_SEPARATOR = re.compile(r"[\t\n\f\r ]*[;,]?[\t\n\f\r ]*")
_URL_EQUALS = re.compile(r"url[\t\n\f\r ]*=[\t\n\f\r ]*", re.IGNORECASE)


class Refresh(NamedTuple):
    """A resolved refresh; `url` is canonical, or None if it cannot be fetched."""

    url: str | None
    delay_s: int


class StatedRefresh(NamedTuple):
    """A refresh as stated: the reference may be relative, and "" is the page itself."""

    reference: str
    delay_s: int


def stated_refresh(value: str) -> StatedRefresh | None:
    """Parse the value of the header, or the content of the element; None if it is invalid.

    >>> stated_refresh("5; URL='next.html'"), stated_refresh("1 next"), stated_refresh("30"), stated_refresh("soon")
    (StatedRefresh(reference='next.html', delay_s=5), StatedRefresh(reference='next', delay_s=1), \
StatedRefresh(reference='', delay_s=30), None)
    """
    if len(value) > MAX_REFRESH_CHARS:
        return None
    time = _TIME.match(value)
    if time is None:
        return None
    delay_s = min(int((time[1] or "0")[:9]), 10**9)
    rest = value[time.end() :]
    if not rest:
        return StatedRefresh("", delay_s)
    if rest[0] not in ";," + _SPACE:
        return None
    separator = _SEPARATOR.match(rest)
    assert separator is not None  # it may be empty
    return StatedRefresh(_reference(rest[separator.end() :]), delay_s)


def _reference(text: str) -> str:
    named = _URL_EQUALS.match(text)
    if named is not None:
        text = text[named.end() :]
    elif text[:1] in ("u", "U"):
        return text.strip(_SPACE)  # a reference that begins with u, not `url=`
    quote = text[:1]
    if quote in ("'", '"'):
        text = text[1:].partition(quote)[0]
    return text.strip(_SPACE)
