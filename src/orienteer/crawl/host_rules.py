"""The robots.txt rules of each host, by name, and the queue of its sitemaps. Time is an argument.

robots.txt is requested once a day, whether a page or an asset of the host is the first to need it; then come the
sitemaps that it names. If it names none, `/sitemap.xml` is requested once, as a guess; a missing one is not an error.
Nothing is requested from a host whose robots.txt is unreachable (RFC 9309).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, Response
from orienteer.responses.robots import MAX_ROBOTS_BYTES, Robots, robots_of
from orienteer.responses.sitemaps import MAX_SITEMAP_BYTES, sitemap_urls
from orienteer.url import canonical_url, host_of, site_of

_MAX_SITEMAPS_PER_HOST = 50
_MAX_ROBOTS_REDIRECTS = 5  # RFC 9309: follow at least five, also to other hosts
_ROBOTS_LIFE_S = 24 * 3600.0  # RFC 9309: cache no longer than a day
_MAX_HOSTS = 10_000  # with cached rules, a few kB each; least recently used ones are dropped and requested again


@dataclass
class _HostState:
    robots: Robots | None = None
    expires: float = 0.0
    is_new: bool = False  # the sitemaps of `robots` are not queued yet
    moved_to: str = ""  # the target, if robots.txt was redirected
    n_redirects: int = 0
    sitemaps: deque[str] = field(default_factory=deque)  # the queue
    is_page_next: bool = False  # a page is requested before the next sitemap
    guess: str = ""  # the URL of the guessed sitemap
    queued_sitemaps: set[str] = field(default_factory=set)  # in this run: an index may name itself


class HostRules:
    """The rules and the queued sitemaps of each host, by its name."""

    def __init__(self, user_agent: str, with_robots: bool, with_sitemaps: bool, with_guesses: bool = False) -> None:
        self._user_agent = user_agent
        self._with_robots = with_robots
        self._with_sitemaps = with_sitemaps and with_robots
        self._with_guesses = with_guesses and self._with_sitemaps
        self._hosts: OrderedDict[str, _HostState] = OrderedDict()  # in order of last use

    def next(self, host: str, page_url: str, now: float) -> HostRequest | None:
        """Return the request to send before a page of this host; None if there is none."""
        if (request := self.robots_request(host, page_url, now)) is not None or not self._with_robots:
            return request
        state = self._state(host)
        assert state.robots is not None
        if state.is_page_next:
            state.is_page_next = False
            return None
        while state.sitemaps:
            url = state.sitemaps.popleft()
            if state.robots.allows(url):
                is_guess = url == state.guess
                return HostRequest(url, HostRequestKind.SITEMAP, max_body_bytes=MAX_SITEMAP_BYTES, is_guess=is_guess)
        return None

    def robots_request(self, host: str, page_url: str, now: float) -> HostRequest | None:
        """Return the request for robots.txt; None if the rules are known."""
        if not self._with_robots:
            return None
        state = self._state(host)
        if state.robots is not None and now < state.expires:
            return None
        url = state.moved_to or canonical_url("/robots.txt", page_url)
        assert url is not None  # a page's URL is canonical, so its host's robots.txt has a URL
        return HostRequest(url, HostRequestKind.ROBOTS, max_body_bytes=MAX_ROBOTS_BYTES)

    def new_rules(self, host: str) -> Robots | None:
        """Return, once, the rules of a host that were received since the last call."""
        state = self._hosts.get(host)
        if state is None or not state.is_new:
            return None
        state.is_new = False
        return state.robots

    def allows(self, host: str, url: str) -> bool:
        """Return whether robots.txt allows this URL; its rules must be known."""
        robots = self._state(host).robots if self._with_robots else None
        return robots is None or robots.allows(url)

    def delay_s(self, host: str) -> float | None:
        """Return the crawl delay of the host's robots.txt; None without one, or while it is unknown."""
        robots = self._hosts[host].robots if host in self._hosts else None
        return None if robots is None else robots.delay_s

    def receive_robots(self, host: str, response: Response, now: float) -> Robots | None:
        """Apply the response for robots.txt; return None while the rules are unknown (redirected or unreachable)."""
        state = self._state(host)
        if response.outcome is Outcome.REDIRECT and response.location and state.n_redirects < _MAX_ROBOTS_REDIRECTS:
            state.moved_to = response.location
            state.n_redirects += 1
            return None
        robots = robots_of(response, self._user_agent)
        state.moved_to, state.n_redirects = "", 0
        if robots is not None:
            state.robots, state.expires, state.is_new = robots, now + _ROBOTS_LIFE_S, True
        return robots

    def queue_sitemaps(self, host: str, urls: Sequence[str]) -> None:
        """Queue sitemaps of this host, to be requested before its next pages."""
        state = self._state(host)
        for url in urls if self._with_sitemaps else ():
            if len(state.queued_sitemaps) < _MAX_SITEMAPS_PER_HOST and url not in state.queued_sitemaps:
                state.sitemaps.append(url)
                state.queued_sitemaps.add(url)

    def guess_sitemap(self, host: str, url: str) -> None:
        """Queue this URL as a guess, unless the host names sitemaps itself."""
        state = self._state(host)
        if self._with_guesses and not state.queued_sitemaps and not state.guess:
            state.guess = url
            self.queue_sitemaps(host, [url])

    def requeue(self, host: str, sitemap: str, after_page: bool = False) -> None:
        """Queue a failed sitemap again; with `after_page` it is requested after the next page of the host."""
        state = self._state(host)
        state.sitemaps.appendleft(sitemap)
        state.is_page_next = after_page

    def receive_sitemap(self, response: Response) -> tuple[list[str], list[str]]:
        """Return the pages and the further sitemaps that a sitemap lists; nothing if the request failed.

        The target of a redirect is a further sitemap. Pages of other sites are ignored, since anyone could fill their
        frontiers with URLs that do not exist.
        """
        if response.outcome is Outcome.REDIRECT and response.location:
            return [], [response.location]
        if response.outcome is not Outcome.OK:
            return [], []
        listed = sitemap_urls(response.content, response.request.url)
        site = site_of(host_of(response.request.url))
        return [url for url in listed.pages if site_of(host_of(url)) == site], listed.sitemaps

    def _state(self, host: str) -> _HostState:
        if host in self._hosts:
            self._hosts.move_to_end(host)
        else:
            self._hosts[host] = _HostState()
            if len(self._hosts) > _MAX_HOSTS:
                self._hosts.popitem(last=False)
        return self._hosts[host]
