"""How times, sizes, shares and what strangers wrote are put into words and links, on the screen and in the browser."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_MAX_URL_CHARS = 3000
_LONGEST_LEFT_S = 365 * _DAY_S
_UNITS = ((_DAY_S, "days"), (_HOUR_S, "h"), (_MINUTE_S, "min"))
# What a terminal would obey, what turns the direction of writing around, what cannot be seen or encoded.
_NOT_PLAIN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def duration(seconds: float) -> str:
    """`8 s`, `12 min 05 s`, `3 h 20 min`, `2 d 5 h`."""
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s"
    if whole < _DAY_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02} min"
    return f"{whole // _DAY_S} d {whole % _DAY_S // _HOUR_S} h"


def time_left(seconds: float | None) -> str:
    """`about 4 min`; `not known yet` while nothing can be said."""
    if seconds is None or not 0 <= seconds < _LONGEST_LEFT_S:
        return "not known yet"
    unit_s, name = next((unit for unit in _UNITS if seconds >= 1.5 * unit[0]), (1, "s"))
    return f"about {seconds / unit_s:.0f} {name}"


def moment(unix_s: float) -> str:
    """The local time, such as `2026-01-31 18:05:09 CET`."""
    return datetime.fromtimestamp(unix_s).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def size(n_bytes: int) -> str:
    """`512 bytes`, `1.2 MB`."""
    from rich.filesize import decimal

    return decimal(n_bytes)


def goal_share(share: float) -> str:
    """A coverage that was asked for, as it was written: `98 %`, `99.95 %`."""
    return f"{100 * share:.10g} %"


def share_text(share: float) -> str:
    """`12.3 %`, `0.0123 %`: three figures, however small."""
    places = 2 - math.floor(math.log10(100 * share)) if share > 0 else 0
    return f"{100 * share:.{min(max(places, 0), 9)}f} %"


def is_link(url: str) -> bool:
    """Whether one may be sent there: nothing but http and https ever becomes a link."""
    return url.startswith(("http://", "https://")) and len(url) <= _MAX_URL_CHARS


def counted(n: int, one: str, many: str | None = None) -> str:
    """`1 page`, `2,345 pages`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def tally(counts: Mapping[str, int], at_most: int) -> str:
    """The largest counts with what they count: `http 404 (512), timed out (33) and 2 other kinds`."""
    largest = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    text = ", ".join(f"{plain(name, 60)} ({n:,})" for name, n in largest[:at_most])
    n_more = len(largest) - at_most
    return f"{text} and {counted(n_more, 'other kind')}" if n_more > 0 else text


def plain(text: str, max_chars: int = 1000) -> str:
    """What somebody else wrote, on one line and without anything that a terminal would obey."""
    line = visible(" ".join(text[: 10 * max_chars].split()))
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def visible(text: str) -> str:
    """What somebody else wrote, with a sign in place of what cannot be seen."""
    return _NOT_PLAIN.sub("\ufffd", text)
