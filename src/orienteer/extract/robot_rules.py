"""What a page asks of robots: not to be indexed, its links not to be followed."""

from __future__ import annotations

import re
from typing import NamedTuple

OUR_NAME = "orienteer"

# Rules that have a value, behind a colon like the rules behind a robot's name. The value of the first is a date, which
# may hold a comma and colons.
_WITH_VALUES = re.compile(
    r"unavailable_after\s*:\s*(?:[a-z]+\s*,)?[^,\n]*|max-(?:snippet|image-preview|video-preview)\s*:", re.IGNORECASE
)
_ROBOT = re.compile(r"\s*([\w.*-]+)\s*:(.*)", re.DOTALL)


class RobotRules(NamedTuple):
    """Rules add up: what one of them forbids stays forbidden."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotRules:
        noindex, nofollow = other
        return RobotRules(self.noindex or bool(noindex), self.nofollow or bool(nofollow))


def rules_of(content: str) -> RobotRules:
    """The rules in the content of a `meta` element for robots.

    >>> rules_of("NoIndex, noarchive"), rules_of("none").nofollow
    (RobotRules(noindex=True, nofollow=False), True)
    """
    words = content.lower().replace(",", " ").split()
    return RobotRules("noindex" in words or "none" in words, "nofollow" in words or "none" in words)


def rules_of_header(text: str) -> RobotRules:
    """The rules in an `X-Robots-Tag` header; several headers are several lines.

    A robot's name holds for what follows it in its line, up to the next name. Rules for others than us do not count.

    >>> rules_of_header("otherbot: noindex, nofollow\\nOrienteer: nofollow")
    RobotRules(noindex=False, nofollow=True)
    """
    rules = RobotRules()
    for line in _WITH_VALUES.sub("", text).splitlines():
        is_ours = True
        for part in line.split(","):
            named = _ROBOT.match(part)
            if named is not None:
                is_ours = named[1].lower() in (OUR_NAME, "*", "robots")
            if is_ours:
                rules |= rules_of(part if named is None else named[2])
    return rules
