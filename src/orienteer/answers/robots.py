"""What robots.txt asks of us: RFC 9309, read by Protego.

The group for our product token counts, several of them together; where there is none, the groups for `*`. The token is
the first word of the User-Agent, up to its `/`. In a group the longest matching pattern decides, and Allow between
equals. Beyond the RFC, Crawl-delay and Request-rate are kept to, up to MAX_DELAY_S; a Request-rate that is meant for
some hours of the day holds all day.

Hostile files stay cheap. The first MAX_READ_BYTES are read, of a line the first MAX_LINE_CHARS: no URL is long enough
for the rest to matter. Protego gives every rule to every agent named above it, which takes a minute and gigabytes for a
few thousand of each; it also takes `User-agent: o` for ours. So the lines that concern us are picked here, and it reads
those. Its cost for a URL grows with the rules that hold a wildcard, `*` or `$`: of these MAX_WILDCARD_CHARS count in
full; a Disallow behind them holds for all that begins as it does before its first wildcard, an Allow not at all. That
may block too much, and never too little.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from protego import Protego

from orienteer.answers.answer import Fetched
from orienteer.extract.robot_rules import robot_name
from orienteer.pages.outcome import Outcome
from orienteer.url import canonical_url

MAX_ROBOTS_BYTES = 1 << 20  # of the answer; of a longer one the beginning is fetched
MAX_READ_BYTES = 512 << 10  # of these; the RFC asks for 500 KiB
MAX_LINE_CHARS = 8192  # a canonical URL has at most 2048, and a pattern may write each of them as %XX
MAX_WILDCARD_CHARS = 32 << 10
MAX_DELAY_S = 60.0
MAX_SITEMAPS = 500

_ANYBODY = "*"
_LONGEST_RATE_S = 10**9  # of a Request-rate that may have thousands of digits

# Whatever Protego takes for such a line must be found here, too.
_AGENT_LINE = re.compile(r"user(?:-|\s*)agent(?:\s*:|\s|$)(.*)", re.IGNORECASE)
_SITE_WIDE_LINE = re.compile(r"(?:site-?maps?|host)(?:\s*:|\s|$)", re.IGNORECASE)
_WILDCARD = re.compile(r"[*$]")


class Robots:
    """The rules of one host for us.

    >>> robots = Robots.of(b"User-agent: *\\nDisallow: /private/\\nCrawl-delay: 5", "Orienteer/1.0 (+http://example.org)")
    >>> robots.allows("http://example.org/a"), robots.allows("http://example.org/private/b"), robots.delay_s
    (True, False, 5.0)
    """

    ALLOW_ALL: ClassVar[Robots]
    DISALLOW_ALL: ClassVar[Robots]  # but robots.txt itself

    __slots__ = ("_rules", "asked_delay_s", "sitemaps")

    def __init__(self, rules: Protego, asked_delay_s: float | None = None, sitemaps: Sequence[str] = ()) -> None:
        """`rules` hold one group, for everybody; sitemaps are canonical URLs."""
        self._rules = rules
        self.asked_delay_s = asked_delay_s
        self.sitemaps = list(sitemaps)

    @classmethod
    def of(cls, content: bytes, user_agent: str, url: str | None = None) -> Robots:
        """The rules that a robots.txt with this content, found at `url`, has for the user agent."""
        lines = _lines_for(_product(user_agent), _text(content))
        if not lines.rules and not lines.site_wide:
            return cls.ALLOW_ALL
        rules = Protego.parse("\n".join((*lines.site_wide, f"User-agent: {_ANYBODY}", *_bounded(lines.rules))))
        return cls(rules, _delay_s(rules), _sitemaps(rules, url))

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched; what is no URL may not."""
        try:
            return self._rules.can_fetch(url, _ANYBODY)
        except ValueError:  # UnicodeError is one
            return False

    @property
    def delay_s(self) -> float | None:
        """The seconds to leave between two requests, `asked_delay_s` cut to MAX_DELAY_S; None if nothing is said."""
        return None if self.asked_delay_s is None else min(self.asked_delay_s, MAX_DELAY_S)


Robots.ALLOW_ALL = Robots(Protego.parse(""))
Robots.DISALLOW_ALL = Robots(Protego.parse(f"User-agent: {_ANYBODY}\nDisallow: /"))


def robots_of(fetched: Fetched, user_agent: str) -> Robots | None:
    """What the fetch of a robots.txt says; None where the host cannot be reached, which forbids everything for now.

        2xx                                  the rules in it
        4xx but 429                          there are none: everything is allowed
        429, 5xx, no answer, a broken one    unreachable
        a redirect                           everything is allowed

    The caller follows five redirects, to any host, and keeps the rules for the host it asked first; a redirect that
    comes here is one too many. A 304 says nothing, for nothing was kept here: it counts as unreachable.
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
    """The text of the file in whatever encoding, or what comes of rubbish."""
    head = content[:MAX_READ_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head.decode("utf-16", "replace")
    else:
        # Without its NULs, UTF-16 that does not say so is readable, too.
        text = head.replace(b"\0", b"").decode("utf-8", "replace")
    if len(content) > MAX_READ_BYTES:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return text.lstrip("\ufeff")


class _Lines(NamedTuple):
    rules: list[str]
    site_wide: list[str]


def _lines_for(product: str, text: str) -> _Lines:
    """The rules for the product, or for everybody where it is not named; and what belongs to no group, as sitemaps."""
    rules: dict[str, list[str]] = {_ANYBODY: []}
    site_wide = []
    named: set[str] = set()  # of the agents of the group, those that concern us
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
            if name in (product, _ANYBODY) and name:
                named.add(name)
                rules.setdefault(name, [])
        elif _SITE_WIDE_LINE.match(line):
            site_wide.append(line)
        else:
            is_group_begun = True
            for name in named:
                rules[name].append(line)
    return _Lines(rules.get(product, rules[_ANYBODY]), site_wide)


def _product(text: str) -> str:
    """The product token at the beginning of a User-Agent, or of what a robots.txt names; `*` is everybody."""
    if text.split()[:1] == [_ANYBODY]:
        return _ANYBODY
    return robot_name(text)


def _bounded(rules: Iterable[str]) -> Iterable[str]:
    """The rules without repeats, and with wildcards only as far as they are affordable."""
    bounded: dict[str, None] = {}
    n_chars_left = MAX_WILDCARD_CHARS
    for rule in dict.fromkeys(rules):
        wildcard = _WILDCARD.search(rule)
        if wildcard is not None:
            n_chars_left -= len(rule)
            if n_chars_left < 0:
                if rule[:5].lower() == "allow":
                    continue
                # As long as before, since the length of a rule decides between rules.
                rule = rule[: wildcard.start()] + "*" * (len(rule) - wildcard.start())
        bounded[rule] = None
    return bounded


def _delay_s(rules: Protego) -> float | None:
    delays = [rules.crawl_delay(_ANYBODY)]
    rate = rules.request_rate(_ANYBODY)
    if rate is not None:
        delays.append(min(rate.seconds, _LONGEST_RATE_S * rate.requests) / rate.requests)
    return max((delay for delay in delays if delay is not None), default=None)


def _sitemaps(rules: Protego, url: str | None) -> list[str]:
    found: dict[str, None] = {}
    for reference in rules.sitemaps:
        # The prose of a page that is no robots.txt may hold a line with this word first.
        sitemap = None if re.search(r"[\s<>]", reference) else canonical_url(reference, url)
        if sitemap is not None:
            found[sitemap] = None
            if len(found) == MAX_SITEMAPS:
                break
    return list(found)
