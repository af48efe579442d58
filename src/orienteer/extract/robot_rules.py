"""What a page asks of robots: not to be indexed, its links not to be followed.

The grammar is the one that Google documents for `meta` elements and for the `X-Robots-Tag` header: rules with commas
between them, some of which have a value behind a colon. In the header, a robot's name and a colon may come before the
rules that are for it. What is no rule is ignored.

A rule with a value forbids nothing, with one exception: a page that is past its `unavailable_after` is not to be
indexed. Its date may hold commas and colons.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

OUR_NAME = "orienteer"

_MAX_CHARS = 20_000  # of one line; more is not read
_NAMED = re.compile(r"\s*([a-z*][\w.*/-]*)?\s*:(.*)", re.DOTALL)  # in lower case
_WITH_VALUES = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))
_RULES = frozenset((
    "all", "follow", "index", "indexifembedded", "noai", "noarchive", "nocache", "nofollow", "noimageai",
    "noimageindex", "noindex", "none", "noodp", "nositelinkssearchbox", "nosnippet", "notranslate", "noydir",
))  # fmt: skip


class RobotRules(NamedTuple):
    """Rules add up: what one of them forbids stays forbidden."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotRules:
        noindex, nofollow = other
        return RobotRules(self.noindex or bool(noindex), self.nofollow or bool(nofollow))


def rules_of(content: str, now: float | None = None) -> RobotRules:
    """The rules in the content of a `meta` element for robots, at a time in seconds since 1970.

    Without a time no page is past its date.

    >>> rules_of("NoIndex, max-image-preview: none"), rules_of("none").nofollow
    (RobotRules(noindex=True, nofollow=False), True)
    """
    return _rules(content, now, are_named=False)


def rules_of_header(text: str, now: float | None = None) -> RobotRules:
    """The rules in an `X-Robots-Tag` header; several headers are several lines.

    A robot's name holds for what follows it in its line, up to the next name. Rules for others than us do not count.

    >>> rules_of_header("otherbot: noindex, nofollow\\nOrienteer: nofollow")
    RobotRules(noindex=False, nofollow=True)
    """
    rules = RobotRules()
    for line in text.splitlines():
        rules |= _rules(line, now, are_named=True)
    return rules


def _rules(text: str, now: float | None, are_named: bool) -> RobotRules:
    rules = RobotRules()
    is_ours = True
    parts = text[:_MAX_CHARS].lower().split(",")[::-1]
    while parts:
        part = parts.pop()
        named = _NAMED.match(part)
        name = None if named is None else named[1]
        while are_named and named is not None and name not in _WITH_VALUES:
            if name is not None:
                is_ours = name in (OUR_NAME, "*", "robots")
            part = named[2]
            named = _NAMED.match(part)
            name = None if named is None else named[1]
        if named is not None and name in _WITH_VALUES:
            if name == "unavailable_after":
                date = _with_the_rest(named[2], parts)
                if is_ours and now is not None and _is_past(date, now):
                    rules |= (True, False)
        elif is_ours:
            words = part.split()
            rules |= ("noindex" in words or "none" in words, "nofollow" in words or "none" in words)
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
