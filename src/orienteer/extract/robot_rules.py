"""What a page asks of robots: not to be indexed, its links not to be followed.

The grammar is the one that Google documents for `meta` elements and for the `X-Robots-Tag` header: rules with commas
between them, some of which have a value behind a colon. In the header, a robot's name and a colon may come before the
rules that are for it. What is no rule is ignored. A robot's name is the product token of its User-Agent (`robot_name`).

`noarchive`, or `nocache` as some call it: the page is not to be kept as it came.

A rule with a value forbids nothing, with one exception: a page that is past its `unavailable_after` is not to be
indexed. Its date may hold commas and colons.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

OUR_NAME = "orienteer"  # of a robot that says nothing else of itself
ANYBODY = "robots"  # what is for all of them

_MAX_CHARS = 20_000  # of one line; more is not read
_NAMED = re.compile(r"\s*([a-z*][\w.*/-]*)?\s*:(.*)", re.DOTALL)  # in lower case
_WITH_VALUES = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))
_PRODUCT = re.compile(r"[^\s/*;,()]+")
_RULES = frozenset((
    "all", "follow", "index", "indexifembedded", "noai", "noarchive", "nocache", "nofollow", "noimageai",
    "noimageindex", "noindex", "none", "noodp", "nositelinkssearchbox", "nosnippet", "notranslate", "noydir",
))  # fmt: skip


class RobotRules(NamedTuple):
    """Rules add up: what one of them forbids stays forbidden."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotRules:
        return RobotRules._make(one or bool(more) for one, more in zip(self, other, strict=True))


def robot_name(user_agent: str) -> str:
    """The name by which pages and robots.txt speak to a robot: its product token, in lower case; "" for none.

    >>> robot_name("My-Bot/1.0 (+http://example.org/bot)")
    'my-bot'
    """
    product = _PRODUCT.search(user_agent)
    return "" if product is None else product[0].lower()


def rules_of(content: str, now: float | None = None) -> RobotRules:
    """The rules in the content of a `meta` element for robots, at a time in seconds since 1970.

    Without a time no page is past its date.

    >>> rules_of("NoIndex, max-image-preview: none"), rules_of("none").nofollow
    (RobotRules(noindex=True, nofollow=False, noarchive=False), True)
    """
    return _rules(content, now, None)


def rules_of_header(text: str, now: float | None = None, robot: str = OUR_NAME) -> RobotRules:
    """The rules in an `X-Robots-Tag` header for a robot of this name; several headers are several lines.

    A robot's name holds for what follows it in its line, up to the next name. Rules for others do not count.

    >>> rules_of_header("otherbot: noindex, nofollow\\nOrienteer: nofollow")
    RobotRules(noindex=False, nofollow=True, noarchive=False)
    """
    rules = RobotRules()
    for line in text.splitlines():
        rules |= _rules(line, now, robot)
    return rules


def _rules(text: str, now: float | None, robot: str | None) -> RobotRules:
    """Without a name of a robot no names are expected."""
    rules = RobotRules()
    is_ours = True
    parts = text[:_MAX_CHARS].lower().split(",")[::-1]
    while parts:
        part = parts.pop()
        named = _NAMED.match(part)
        name = None if named is None else named[1]
        while robot is not None and named is not None and name not in _WITH_VALUES:
            if name is not None:
                is_ours = name in (robot, "*", ANYBODY)
            part = named[2]
            named = _NAMED.match(part)
            name = None if named is None else named[1]
        if named is not None and name in _WITH_VALUES:
            if name == "unavailable_after":
                date = _with_the_rest(named[2], parts)
                if is_ours and now is not None and _is_past(date, now):
                    rules |= RobotRules(noindex=True)
        elif is_ours:
            words = part.split()
            is_none = "none" in words
            is_kept = "noarchive" not in words and "nocache" not in words
            rules |= RobotRules(is_none or "noindex" in words, is_none or "nofollow" in words, not is_kept)
    return rules


def _with_the_rest(date: str, parts: list[str]) -> str:
    """A date with its parts behind commas: those up to the next rule, or the next name."""
    while parts and _RULES.isdisjoint(parts[-1].split()) and _NAMED.match(parts[-1]) is None:
        date = f"{date},{parts.pop()}"
    return date.strip()


def _is_past(text: str, now: float) -> bool:
    """Whether a date in one of the forms of HTTP, mail and ISO 8601 is past; what is none is not."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(text.upper())
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() <= now
        except (ValueError, OverflowError, IndexError, TypeError):
            continue
    return False
