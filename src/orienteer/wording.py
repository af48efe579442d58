"""Text formats of times, sizes, shares and untrusted texts, for terminals and the web interface."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime

# The assumption of every statement with a confidence (docs/theory/survey.md); certificates store this text.
SAME_RESPONSES = "the response for a page does not depend on when, in which order or for whom it is fetched"

JSON_VERSION = 2  # of the keys of JSON documents: of commands, and of the HTTP API; version 0.2 printed none

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_MAX_URL_CHARS = 3000
_LONGEST_LEFT_S = 365 * _DAY_S
_BRIEF_S, _FEW = 15, 20
_UNITS = ((_DAY_S, "days"), (_HOUR_S, "h"), (_MINUTE_S, "min"))
# Control characters of terminals, changes of the writing direction, invisible and unencodable characters.
_NOT_PLAIN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def duration(seconds: float) -> str:
    """Format a duration: `8 s`, `12 min 05 s`, `3 h 20 min`, `2 d 5 h`."""
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s"
    if whole < _DAY_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02} min"
    return f"{whole // _DAY_S} d {whole % _DAY_S // _HOUR_S} h"


def time_left(seconds: float | None) -> str:
    """Format an estimate as a range, a factor of two wide: `3–6 min`; `not known yet` where there is none."""
    if seconds is None or not 0 <= seconds < _LONGEST_LEFT_S:
        return "not known yet"
    least, most = seconds / math.sqrt(2), seconds * math.sqrt(2)
    if most < _BRIEF_S:
        return f"less than {_BRIEF_S} s"
    unit_s, name = next((unit for unit in _UNITS if most >= 1.5 * unit[0]), (1, "s"))
    step = 1 if most < _FEW * unit_s else 10
    low, high = round(least / (step * unit_s)), math.ceil(most / (step * unit_s) - 0.25)
    return f"{max(low, 1) * step}–{max(high, low + 1, 2) * step} {name}"


def moment(unix_s: float) -> str:
    """Format a local time, such as `2026-01-31 18:05:09 CET`."""
    return datetime.fromtimestamp(unix_s).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def size(n_bytes: int) -> str:
    """Format a size: `512 bytes`, `1.2 MB`."""
    from rich.filesize import decimal

    return decimal(n_bytes)


def goal_share(share: float, of_reachable: bool = False) -> str:
    """Format the coverage of a goal, as it was written: `98 %`, `99.95 % of what is reachable`."""
    return f"{100 * share:.10g} %" + " of what is reachable" * of_reachable


def share_text(share: float) -> str:
    """Format a share with three digits, however small: `12.3 %`, `0.0123 %`."""
    places = 2 - math.floor(math.log10(100 * share)) if share > 0 else 0
    return f"{100 * share:.{min(max(places, 0), 9)}f} %"


def is_link(url: str) -> bool:
    """Whether a URL may become a link: only http and https do."""
    return url.startswith(("http://", "https://")) and len(url) <= _MAX_URL_CHARS


def counted(n: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun: `1 page`, `2,345 pages`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def tally(counts: Mapping[str, int], at_most: int) -> str:
    """Format the largest counts by name: `http 404 (512), timed out (33) and 2 other kinds`."""
    largest = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    text = ", ".join(f"{plain(name, 60)} ({n:,})" for name, n in largest[:at_most])
    n_more = len(largest) - at_most
    return f"{text} and {counted(n_more, 'other kind')}" if n_more > 0 else text


def plain(text: str, max_chars: int = 1000) -> str:
    """Return an untrusted text on one line, shortened and without control characters."""
    line = visible(" ".join(text[: 10 * max_chars].split()))
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def visible(text: str) -> str:
    """Return an untrusted text with a replacement character for each invisible one."""
    return _NOT_PLAIN.sub("\ufffd", text)
