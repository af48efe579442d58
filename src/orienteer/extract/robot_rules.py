"""Rules for robots on a page: noindex, nofollow, noarchive.

The grammar is that of Google's documentation for `meta` elements and for the `X-Robots-Tag` header: rules separated by
commas, some with a value after a colon. In the header, a robot's name and a colon may precede the rules for it. Unknown
rules are ignored. A robot's name is the product token of its User-Agent (`robot_name`).

`noarchive`, or its alias `nocache`: the page must not be archived.

Rules with a value forbid nothing, with one exception: a page past its `unavailable_after` must not be indexed. The date
may contain commas and colons.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

OUR_NAME = "orienteer"  # the default name of our robot
ALL_ROBOTS = "robots"  # the name in rules for all robots

_MAX_CHARS = 20_000  # of one line; more is not read
_NAMED = re.compile(r"\s*([a-z*][\w.*/-]*)?\s*:(.*)", re.DOTALL)  # in lower case
_WITH_VALUES = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))
_PRODUCT = re.compile(r"[^\s/*;,()]+")
_RULES = frozenset((
    "all", "follow", "index", "indexifembedded", "noai", "noarchive", "nocache", "nofollow", "noimageai",
    "noimageindex", "noindex", "none", "noodp", "nositelinkssearchbox", "nosnippet", "notranslate", "noydir",
))  # fmt: skip


class RobotRules(NamedTuple):
    """The rules of a page. Rules combine by OR: a restriction is never lifted by another rule."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotRules:
        return RobotRules._make(one or bool(more) for one, more in zip(self, other, strict=True))


def robot_name(user_agent: str) -> str:
    """Return the name of a robot in pages and robots.txt: its product token in lower case, or "".

    >>> robot_name("My-Bot/1.0 (+http://example.org/bot)")
    'my-bot'
    """
    product = _PRODUCT.search(user_agent)
    return "" if product is None else product[0].lower()


def rules_of(content: str, now: float | None = None) -> RobotRules:
    """Parse the content of a `meta` element for robots, at a time in seconds since 1970.

    Without a time, `unavailable_after` is ignored.

    >>> rules_of("NoIndex, max-image-preview: none"), rules_of("none").nofollow
    (RobotRules(noindex=True, nofollow=False, noarchive=False), True)
    """
    return _rules(content, now, None)


def rules_of_header(text: str, now: float | None = None, robot: str = OUR_NAME) -> RobotRules:
    """Parse an `X-Robots-Tag` header for a robot of this name; several headers are given as several lines.

    A robot's name applies to the rules after it in its line, up to the next name. Rules for other robots are ignored.

    >>> rules_of_header("otherbot: noindex, nofollow\\nOrienteer: nofollow")
    RobotRules(noindex=False, nofollow=True, noarchive=False)
    """
    rules = RobotRules()
    for line in text.splitlines():
        rules |= _rules(line, now, robot)
    return rules


def _rules(text: str, now: float | None, robot: str | None) -> RobotRules:
    """Parse a line of rules; without the name of a robot, names are not expected."""
    rules = RobotRules()
    is_ours = True
    items = text[:_MAX_CHARS].lower().split(",")[::-1]
    while items:
        item = items.pop()
        named = _NAMED.match(item)
        name = None if named is None else named[1]
        while robot is not None and named is not None and name not in _WITH_VALUES:
            if name is not None:
                is_ours = name in (robot, "*", ALL_ROBOTS)
            item = named[2]
            named = _NAMED.match(item)
            name = None if named is None else named[1]
        if named is not None and name in _WITH_VALUES:
            if name == "unavailable_after":
                date = _whole_date(named[2], items)
                if is_ours and now is not None and _is_past(date, now):
                    rules |= RobotRules(noindex=True)
        elif is_ours:
            words = item.split()
            is_none = "none" in words
            noarchive = "noarchive" in words or "nocache" in words
            rules |= RobotRules(is_none or "noindex" in words, is_none or "nofollow" in words, noarchive)
    return rules


def _whole_date(date: str, items: list[str]) -> str:
    """Return a date that contains commas: with the following items up to the next rule or name."""
    while items and _RULES.isdisjoint(items[-1].split()) and _NAMED.match(items[-1]) is None:
        date = f"{date},{items.pop()}"
    return date.strip()


def _is_past(text: str, now: float) -> bool:
    """Whether a date in a format of HTTP, mail or ISO 8601 is past; False for invalid dates."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(text.upper())
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() <= now
        except (ValueError, OverflowError, IndexError, TypeError):
            continue
    return False
