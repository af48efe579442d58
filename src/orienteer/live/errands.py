"""What must be asked of a host besides its pages: robots.txt before anything else, then the sitemaps it names.

Where it names none, `/sitemap.xml` is asked for, once; if there is none, nothing comes of it.

An errand takes a page's turn: the page that was chosen waits, the errand is run in its place, and afterwards the page
goes back to the frontier while the host rests. So errands are as polite as pages, and one worker still does one thing
after the other.

A host whose robots.txt cannot be reached must not be asked for pages (RFC 9309); it is rested and tried again like any
failing host.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orienteer.answers.answer import Fetched
from orienteer.answers.robots import MAX_ROBOTS_BYTES, Robots, robots_of
from orienteer.answers.sitemaps import MAX_SITEMAP_BYTES, sitemap_urls
from orienteer.pages.outcome import Outcome
from orienteer.url import canonical_url, host_of, site_of

_MAX_SITEMAPS_PER_HOST = 50
_MAX_ROBOTS_REDIRECTS = 5
_ROBOTS_LIFE_S = 24 * 3600.0
_MAX_HOSTS = 10_000  # whose rules are kept, a few kB each; those asked longest ago are asked for them again


class Errand(NamedTuple):
    url: str
    is_robots: bool
    is_guess: bool = False  # nobody says that it is there

    @property
    def max_body_bytes(self) -> int:
        return MAX_ROBOTS_BYTES if self.is_robots else MAX_SITEMAP_BYTES


@dataclass
class _Host:
    robots: Robots | None = None
    expires: float = 0.0
    moved_to: str = ""  # where robots.txt is, if it has been redirected
    n_redirects: int = 0
    sitemaps: deque[str] = field(default_factory=deque)  # to be asked for
    guess: str = ""  # a sitemap that may be there
    named_sitemaps: set[str] = field(default_factory=set)  # these, and those asked for before: an index may name itself


class Errands:
    """What is still to be asked of each host, and what it allows."""

    def __init__(self, user_agent: str, with_robots: bool, with_sitemaps: bool, with_guesses: bool = False) -> None:
        self._user_agent = user_agent
        self._with_robots = with_robots
        self._with_sitemaps = with_sitemaps and with_robots
        self._with_guesses = with_guesses and self._with_sitemaps
        self._hosts: OrderedDict[int, _Host] = OrderedDict()  # the one asked last at the end

    def next(self, host: int, page_url: str, now: float) -> Errand | None:
        """What to ask for before a page of this host; None if there is nothing to ask."""
        if (errand := self.robots_errand(host, page_url, now)) is not None or not self._with_robots:
            return errand
        known = self._known(host)
        assert known.robots is not None
        while known.sitemaps:
            url = known.sitemaps.popleft()
            if known.robots.allows(url):
                return Errand(url, is_robots=False, is_guess=url == known.guess)
        return None

    def robots_errand(self, host: int, page_url: str, now: float) -> Errand | None:
        """What to ask for before anything else of this host; None where its rules are known."""
        if not self._with_robots:
            return None
        known = self._known(host)
        if known.robots is not None and now < known.expires:
            return None
        url = known.moved_to or canonical_url("/robots.txt", page_url)
        assert url is not None  # a page's URL is canonical, so its host's robots.txt has a URL
        return Errand(url, is_robots=True)

    def knows(self, host: int, now: float) -> bool:
        """Whether what robots.txt of this host says is known, and not too old."""
        return not self._with_robots or (
            host in self._hosts and self._hosts[host].robots is not None and now < self._hosts[host].expires
        )

    def allows(self, host: int, url: str) -> bool:
        """Whether robots.txt allows this page; it has been asked for by now."""
        robots = self._known(host).robots if self._with_robots else None
        return robots is None or robots.allows(url)

    def delay_s(self, host: int) -> float | None:
        """The delay that the host's robots.txt asks for, as far as it is known."""
        robots = self._hosts[host].robots if host in self._hosts else None
        return None if robots is None else robots.delay_s

    def robots_came(self, host: int, answer: Fetched, now: float) -> Robots | None:
        """Take in the answer to a robots errand; None while the rules are not known: moved, or out of reach."""
        known = self._known(host)
        if answer.outcome is Outcome.REDIRECT and answer.location and known.n_redirects < _MAX_ROBOTS_REDIRECTS:
            known.moved_to = answer.location
            known.n_redirects += 1
            return None
        robots = robots_of(answer, self._user_agent)
        known.moved_to, known.n_redirects = "", 0
        if robots is not None:
            known.robots, known.expires = robots, now + _ROBOTS_LIFE_S
        return robots

    def expect_sitemaps(self, host: int, urls: Sequence[str]) -> None:
        """Sitemaps of this host, to be read when one of its pages is next."""
        known = self._known(host)
        for url in urls if self._with_sitemaps else ():
            if len(known.named_sitemaps) < _MAX_SITEMAPS_PER_HOST and url not in known.named_sitemaps:
                known.sitemaps.append(url)
                known.named_sitemaps.add(url)

    def guess_sitemap(self, host: int, url: str) -> None:
        """Perhaps this host has a sitemap at this URL; where it names some, nobody need guess."""
        known = self._known(host)
        if self._with_guesses and not known.named_sitemaps and not known.guess:
            known.guess = url
            self.expect_sitemaps(host, [url])

    def ask_again(self, host: int, errand: Errand) -> None:
        """A sitemap could not be had just now."""
        self._known(host).sitemaps.appendleft(errand.url)

    def sitemap_came(self, answer: Fetched) -> tuple[list[str], list[str]]:
        """The pages and the further sitemaps that a sitemap names; nothing if it could not be had.

        One that has moved is a further one.
        It speaks for its own site: whoever can name pages of others could fill the frontier with what does not exist.
        """
        if answer.outcome is Outcome.REDIRECT and answer.location:
            return [], [answer.location]
        if answer.outcome is not Outcome.OK:
            return [], []
        part = sitemap_urls(answer.content, answer.request.url)
        site = site_of(host_of(answer.request.url))
        return [url for url in part.pages if site_of(host_of(url)) == site], part.sitemaps

    def _known(self, host: int) -> _Host:
        if host in self._hosts:
            self._hosts.move_to_end(host)
        else:
            self._hosts[host] = _Host()
            if len(self._hosts) > _MAX_HOSTS:
                self._hosts.popitem(last=False)
        return self._hosts[host]
