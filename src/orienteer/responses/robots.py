"""Parse robots.txt by RFC 9309, with Protego.

The groups for our product token apply, merged if there are several; without any, the groups for `*`. The token is the
first word of the User-Agent, up to its `/`. Within a group the longest matching pattern wins, and Allow wins a tie.
Beyond the RFC, Crawl-delay and Request-rate are respected up to MAX_DELAY_S; a Request-rate for some hours of the day
applies all day.

Hostile files stay cheap. At most MAX_READ_BYTES are read, and MAX_LINE_CHARS of a line: no URL is longer. Protego adds
every rule to every agent named above it, which takes a minute and gigabytes for a few thousand of each; it also matches
`User-agent: o` with our token. So the lines for us are selected here, and Protego parses only those. Its cost per URL
grows with the rules that contain a wildcard, `*` or `$`: MAX_WILDCARD_CHARS of them are used unchanged. After that a
Disallow is cut at its first wildcard and an Allow is ignored, which may block too much but never too little.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from protego import Protego

from orienteer.extract.robot_rules import robot_name
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Response
from orienteer.url import canonical_url

MAX_ROBOTS_BYTES = 1 << 20  # fetched; a longer file is truncated
MAX_READ_BYTES = 512 << 10  # parsed; the RFC requires at least 500 KiB
MAX_LINE_CHARS = 8192  # a canonical URL has at most 2048, and a pattern may write each of them as %XX
MAX_WILDCARD_CHARS = 32 << 10
MAX_DELAY_S = 60.0
MAX_SITEMAPS = 500

_ANY_AGENT = "*"
_LONGEST_RATE_S = 10**9  # limit for a Request-rate, which may have thousands of digits

# These must match every line that Protego would accept as such a line.
_AGENT_LINE = re.compile(r"user(?:-|\s*)agent(?:\s*:|\s|$)(.*)", re.IGNORECASE)
_SITE_WIDE_LINE = re.compile(r"(?:site-?maps?|host)(?:\s*:|\s|$)", re.IGNORECASE)
_WILDCARD = re.compile(r"[*$]")


class Robots:
    """The robots.txt rules of one host for our user agent.

    >>> robots = Robots.of(b"User-agent: *\\nDisallow: /private/\\nCrawl-delay: 5", "Orienteer/1.0 (+http://example.org)")
    >>> robots.allows("http://example.org/a"), robots.allows("http://example.org/private/b"), robots.delay_s
    (True, False, 5.0)
    """

    ALLOW_ALL: ClassVar[Robots]
    DISALLOW_ALL: ClassVar[Robots]  # except robots.txt itself

    __slots__ = ("_rules", "requested_delay_s", "sitemaps")

    def __init__(self, rules: Protego, requested_delay_s: float | None = None, sitemaps: Sequence[str] = ()) -> None:
        """`rules` have one group, for any agent; sitemaps are canonical URLs."""
        self._rules = rules
        self.requested_delay_s = requested_delay_s
        self.sitemaps = list(sitemaps)

    @classmethod
    def of(cls, content: bytes, user_agent: str, url: str | None = None) -> Robots:
        """Parse the robots.txt at `url` for this user agent."""
        lines = _lines_for(_product(user_agent), _text(content))
        if not lines.rules and not lines.site_wide:
            return cls.ALLOW_ALL
        rules = Protego.parse("\n".join((*lines.site_wide, f"User-agent: {_ANY_AGENT}", *_bounded(lines.rules))))
        return cls(rules, _delay_s(rules), _sitemaps(rules, url))

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched; an invalid URL may not."""
        try:
            return self._rules.can_fetch(url, _ANY_AGENT)
        except ValueError:  # includes UnicodeError
            return False

    @property
    def delay_s(self) -> float | None:
        """The delay between two requests, at most MAX_DELAY_S; None if robots.txt does not set one."""
        return None if self.requested_delay_s is None else min(self.requested_delay_s, MAX_DELAY_S)


Robots.ALLOW_ALL = Robots(Protego.parse(""))
Robots.DISALLOW_ALL = Robots(Protego.parse(f"User-agent: {_ANY_AGENT}\nDisallow: /"))


def robots_of(fetched: Response, user_agent: str) -> Robots | None:
    """Return the rules for a fetched robots.txt; None if it is unreachable, which forbids everything for now.

        2xx                                      its rules
        4xx except 429                           no rules: everything is allowed
        429, 5xx, no response, a broken one      unreachable
        a redirect                               everything is allowed

    The caller follows five redirects, to any host, and applies the rules to the first host; a redirect that gets here
    is one too many. A 304 counts as unreachable, since nothing is cached here.
    """
    outcome = fetched.outcome
    if 400 <= fetched.status < 500 and fetched.status != 429:
        return Robots.ALLOW_ALL
    if outcome is Outcome.REDIRECT:
        return Robots.ALLOW_ALL
    if outcome is Outcome.OK:
        return Robots.of(fetched.content, user_agent, fetched.request.url)
    return None


def _text(content: bytes) -> str:
    """Decode the file, in any encoding; invalid bytes are replaced."""
    head = content[:MAX_READ_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head.decode("utf-16", "replace")
    else:
        # Removing NULs makes UTF-16 without a byte order mark readable.
        text = head.replace(b"\0", b"").decode("utf-8", "replace")
    if len(content) > MAX_READ_BYTES:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return text.lstrip("\ufeff")


class _Lines(NamedTuple):
    rules: list[str]
    site_wide: list[str]


def _lines_for(product: str, text: str) -> _Lines:
    """Return the rules for the product, or for `*` if it is not named, and the lines outside groups (sitemaps)."""
    rules: dict[str, list[str]] = {_ANY_AGENT: []}
    site_wide = []
    named: set[str] = set()  # agents of the current group that match us
    is_group_begun = False
    for line in text.splitlines():
        line = line.partition("#")[0].strip()[:MAX_LINE_CHARS]
        if not line:
            continue
        agent = _AGENT_LINE.match(line)
        if agent is not None:
            named = set() if is_group_begun else named
            is_group_begun = False
            name = _product(agent[1])
            if name in (product, _ANY_AGENT) and name:
                named.add(name)
                rules.setdefault(name, [])
        elif _SITE_WIDE_LINE.match(line):
            site_wide.append(line)
        else:
            is_group_begun = True
            for name in named:
                rules[name].append(line)
    return _Lines(rules.get(product, rules[_ANY_AGENT]), site_wide)


def _product(text: str) -> str:
    """Return the product token of a User-Agent header or of a User-agent line; `*` is any agent."""
    if text.split()[:1] == [_ANY_AGENT]:
        return _ANY_AGENT
    return robot_name(text)


def _bounded(rules: Iterable[str]) -> Iterable[str]:
    """Return the rules without duplicates, and with a limited number of wildcards."""
    bounded: dict[str, None] = {}
    n_chars_left = MAX_WILDCARD_CHARS
    for rule in dict.fromkeys(rules):
        wildcard = _WILDCARD.search(rule)
        if wildcard is not None:
            n_chars_left -= len(rule)
            if n_chars_left < 0:
                if rule[:5].lower() == "allow":
                    continue
                # Keep the length, since the longest matching rule wins.
                rule = rule[: wildcard.start()] + "*" * (len(rule) - wildcard.start())
        bounded[rule] = None
    return bounded


def _delay_s(rules: Protego) -> float | None:
    delays = [rules.crawl_delay(_ANY_AGENT)]
    rate = rules.request_rate(_ANY_AGENT)
    if rate is not None:
        delays.append(min(rate.seconds, _LONGEST_RATE_S * rate.requests) / rate.requests)
    return max((delay for delay in delays if delay is not None), default=None)


def _sitemaps(rules: Protego, url: str | None) -> list[str]:
    sitemaps: dict[str, None] = {}
    for reference in rules.sitemaps:
        # An HTML page served as robots.txt may have a line that begins with this word.
        sitemap = None if re.search(r"[\s<>]", reference) else canonical_url(reference, url)
        if sitemap is not None:
            sitemaps[sitemap] = None
            if len(sitemaps) == MAX_SITEMAPS:
                break
    return list(sitemaps)
