"""A link checker as one would write it in an hour: html.parser, urllib, and a question to the web for every link.

Slow and obvious, and it shares no code with the report; that must find the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from orienteer.fake_web.answers import Answer
from orienteer.fake_web.site import RequestHeaders, Site

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


def check(site: Site, start: str, may_ask: Callable[[str], bool]) -> Checked:
    """Follow all links from `start` on that one may ask for."""
    checked = Checked(set(), set(), set(), set())
    todo, seen = deque([start]), {start}
    ends: dict[str, tuple[int, int]] = {}
    while todo:
        page = todo.popleft()
        answer = _asked(site, page)
        location = _location(answer, page)
        targets: list[str] = [] if location is None else [location]
        if answer.status == 200 and (answer.content_type or "").startswith("text/html"):
            checked.pages.add(page)
            reader = _Links()
            reader.feed(answer.body if isinstance(answer.body, str) else answer.body.decode())
            if not reader.title.strip():
                checked.untitled.add(page)
            for href, words in reader.found:
                target = urldefrag(urljoin(page, href)).url
                if target == page or not may_ask(target):
                    continue
                targets.append(target)
                if target not in ends:
                    ends[target] = _end(site, target, may_ask)
                status, n_redirects = ends[target]
                if status >= 400:
                    checked.broken.add(Link(page, target, words))
                elif n_redirects:
                    checked.redirected.add(Link(page, target, words))
        new = [target for target in dict.fromkeys(targets) if target not in seen and may_ask(target)]
        seen.update(new)
        todo += new
    return checked


def _asked(site: Site, url: str) -> Answer:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if "?" in url else "")
    return site.answer(parts.netloc, target, RequestHeaders(b""))


def _location(answer: Answer, url: str) -> str | None:
    if 300 <= answer.status < 400:
        for name, value in answer.headers:
            if name.lower() == "location":
                return urljoin(url, value)
    return None


def _end(site: Site, url: str, may_ask: Callable[[str], bool]) -> tuple[int, int]:
    """The status at the end of all redirects, and how many there were; what one may not ask for counts as well."""
    for n_redirects in range(_MAX_REDIRECTS):
        if not may_ask(url):
            return 200, n_redirects
        answer = _asked(site, url)
        location = _location(answer, url)
        if location is None:
            return answer.status, n_redirects
        url = location
    return 508, _MAX_REDIRECTS
