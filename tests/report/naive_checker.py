"""A simple link checker with html.parser and urllib, which makes a request for every link.

It shares no code with the report, which must find the same links.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from orienteer.fake_web.page import SiteResponse
from orienteer.fake_web.server import ServedSite

_MAX_REDIRECTS = 20


class Link(NamedTuple):
    source: str
    target: str
    words: str


class Checked(NamedTuple):
    """Links that end at an error, and those that are redirected and end well; pages without a title; all pages."""

    broken: set[Link]
    redirected: set[Link]
    untitled: set[str]
    pages: set[str]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.title = ""
        self._href: str | None = None
        self._words: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href") is not None:
            self._href, self._words = values["href"], []
        elif tag == "title":
            self._in_title = True

    def handle_data(self, data: str) -> None:
        self._words.append(data)
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href is not None:
            self.found.append((self._href, " ".join("".join(self._words).split())))
            self._href = None
        elif tag == "title":
            self._in_title = False


def check(site: ServedSite, start: str, is_allowed: Callable[[str], bool]) -> Checked:
    """Follow all allowed links from `start` on."""
    checked = Checked(set(), set(), set(), set())
    todo, seen = deque([start]), {start}
    ends: dict[str, tuple[int, int]] = {}
    while todo:
        page = todo.popleft()
        response = _fetched(site, page)
        location = _location(response, page)
        targets: list[str] = [] if location is None else [location]
        if response.status == 200 and response.content_type.startswith("text/html"):
            checked.pages.add(page)
            reader = _Links()
            reader.feed(response.body.decode())
            if not reader.title.strip():
                checked.untitled.add(page)
            for href, words in reader.found:
                target = urldefrag(urljoin(page, href)).url
                if target == page or not is_allowed(target):
                    continue
                targets.append(target)
                if target not in ends:
                    ends[target] = _end(site, target, is_allowed)
                status, n_redirects = ends[target]
                if status >= 400:
                    checked.broken.add(Link(page, target, words))
                elif n_redirects:
                    checked.redirected.add(Link(page, target, words))
        new = [target for target in dict.fromkeys(targets) if target not in seen and is_allowed(target)]
        seen.update(new)
        todo += new
    return checked


def _fetched(site: ServedSite, url: str) -> SiteResponse:
    split = urlsplit(url)
    target = (split.path or "/") + (f"?{split.query}" if "?" in url else "")
    return site.response(split.netloc, target)


def _location(response: SiteResponse, url: str) -> str | None:
    if 300 <= response.status < 400:
        for name, value in response.headers:
            if name.lower() == "location":
                return urljoin(url, value)
    return None


def _end(site: ServedSite, url: str, is_allowed: Callable[[str], bool]) -> tuple[int, int]:
    """Return the status at the end of all redirects, and their number; a URL that is not allowed counts as 200."""
    for n_redirects in range(_MAX_REDIRECTS):
        if not is_allowed(url):
            return 200, n_redirects
        response = _fetched(site, url)
        location = _location(response, url)
        if location is None:
            return response.status, n_redirects
        url = location
    return 508, _MAX_REDIRECTS
