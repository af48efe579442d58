"""Addresses on the origin of archived pages: /VIEW/KIND/TIME/URL, with the URL unquoted and including its query.

    rendered    a page in the frame, as a browser rendered it, if one did
    sent        a page in the frame, as the server sent it
    frame       a page in a frame of a page
    asset       pictures, styles and fonts of a page
    file        a file to be saved

A time selects the nearest record: 20260131180509, with up to six more digits for fractions of a second.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

RENDERED, SENT, FRAME, ASSET, FILE = "rendered", "sent", "frame", "asset", "file"
_ADDRESS = re.compile(r"/([\w-]{8,64})/(rendered|sent|frame|asset|file)/(\d{4,20})/(https?:/.+)", re.ASCII | re.DOTALL)
_FIRST = "00010101000000000000"
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


class ViewAddress(NamedTuple):
    view: str
    kind: str
    time: float
    url: str


def address_in(target: str) -> ViewAddress | None:
    """Parse the target of a request; None if it is not such an address."""
    found = _ADDRESS.fullmatch(target)
    time = time_in(found[3]) if found else None
    if found is None or time is None:
        return None
    url = re.sub("^(https?:)/+", r"\1//", found[4])  # proxies like to make one slash of two
    return ViewAddress(found[1], found[2], time, url)


def path_to(view: str, kind: str, time: float, url: str) -> str:
    return f"/{view}/{kind}/{time_text(time)}/{url}"


def time_text(time: float) -> str:
    """
    >>> time_text(1769882709.0), time_text(1769882709.25)
    ('20260131180509', '20260131180509250000')
    """
    moment = _BEGIN + timedelta(microseconds=round(time * 1e6))
    text = moment.strftime("%Y%m%d%H%M%S").zfill(14)
    return text + (f"{moment.microsecond:06}" if moment.microsecond else "")


def time_in(text: str) -> float | None:
    """Parse the digits of a time; missing digits mean the earliest time. None if there is no such time.

    >>> time_in("20260131180509"), time_in("1970"), time_in("20261331")
    (1769882709.0, 0.0, None)
    """
    if not (text.isascii() and text.isdecimal() and 4 <= len(text) <= 20):
        return None
    digits = text + _FIRST[len(text) :]
    try:
        moment = datetime.strptime(digits, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _BEGIN).total_seconds()
