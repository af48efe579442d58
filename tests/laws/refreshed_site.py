"""A small site that changes between the refreshes of its crawl, and what is true of it.

It has two addresses of its home page, pages that the server makes, pages that scripts make, a PDF and a feed. Each can
be edited, deleted and restored, or redirect to another one; the host can break down. Every page says something else,
but for the two addresses of the home page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

import orienteer as ori
from tests.documents.makers import pdf
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse
from tests.fake_web.site import RequestHeaders, Site
from tests.graph.reference import dense_pagerank

HOST = "s.test"
HOME, INDEX, PDF, FEED = "/", "/index.html", "/paper.pdf", "/feed.xml"
PLAIN = ("/p1", "/p2", "/p3")
SCRIPTED = ("/s1", "/s2")
PATHS = (HOME, INDEX, *PLAIN, *SCRIPTED, PDF, FEED)
CHANGING = (*PLAIN, *SCRIPTED, PDF)  # the home page is always there
LINKED = (*PLAIN, *SCRIPTED, PDF, INDEX)
OUTAGES = ("503", "404-everything", "same-page", "moved")
FOR_GOOD, FOR_NOW = 301, 302
DAMPING = 0.85

_PADDING = "//" + "x" * 10_000  # a page is taken for one that scripts make where there is much script and little text
_TRIVIAL = "<script>document.documentElement.dataset.nonce = Math.random()</script>"


def url_of(path: str) -> str:
    return f"http://{HOST}{path}"


@dataclass
class Page:
    """What is behind an address: counts of edits, and the links that the server and the script make."""

    edits: int = 0
    script_edits: int = 0
    links: set[str] = field(default_factory=set)
    script_links: set[str] = field(default_factory=set)
    status: int = 200
    target: str = HOME


class RefreshedSite(Site):
    """Changes and requests come from different threads, but never at once."""

    def __init__(self, has_validators: bool) -> None:
        self.has_validators = has_validators
        self.outage = ""
        self.pages = {path: Page() for path in PATHS}
        self.pages[INDEX] = self.pages[HOME]  # the same file
        self.pages[HOME].links = {*PLAIN, *SCRIPTED}
        self.pages["/p1"].links = {PDF, HOME}
        self.pages["/p2"].links = {INDEX, "/s1"}
        self.pages["/s1"].script_links = {"/p3"}
        self.pages["/s2"].script_links = {"/p1", INDEX}
        self.pages[PDF].links = {"/p1"}

    # -- what is sent -------------------------------------------------------------------------------------------

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if self.outage:
            return _broken(self.outage)
        if target.startswith("/api"):
            return self._api(target.removeprefix("/api"))
        page = self.pages.get(target)
        if page is None or page.status >= 400:
            return NOT_FOUND if page is None else FakeResponse("no such page", page.status)
        if page.status >= 300:
            return FakeResponse(status=page.status, headers=(("Location", page.target),))
        body, kind = self.body(target)
        tag = f'"{hashlib.sha1(body).hexdigest()}"'
        if not self.has_validators:
            return FakeResponse(body, content_type=kind)
        if headers.get("If-None-Match") == tag:
            return FakeResponse(status=304, headers=(("ETag", tag),), content_type=None)
        return FakeResponse(body, headers=(("ETag", tag),), content_type=kind)

    def body(self, path: str) -> tuple[bytes, str]:
        """What the server sends of a page, and its media type."""
        page = self.pages[path]
        said = f"{'home' if path == INDEX or path == HOME else path} number {page.edits}"
        if path == PDF:
            return pdf([[said]], {0: [url_of(link) for link in sorted(page.links)]}), "application/pdf"
        if path == FEED:
            items = f"<item><title>{said}</title><link>{url_of('/p1')}</link></item>"
            return (
                f"<rss version='2.0'><channel><title>f</title>{items}</channel></rss>".encode(),
                "application/rss+xml",
            )
        links = "".join(f"<a href={link}>{link}</a> " for link in sorted(page.links))
        if path in SCRIPTED:
            script = f"fetch('/api{path}').then(r => r.text()).then(t => document.getElementById('root').innerHTML = t)"
            script = f"<script>{script}\n{_PADDING}{said}</script>"
            body = f"<!doctype html><title>App</title><div id=root></div>{links}{script}"
        else:
            feed = f'<link rel=alternate type="application/rss+xml" href={FEED}>'
            words = " ".join(f"word{k} of {said}" for k in range(30))
            body = f"<!doctype html><title>{said}</title>{feed}<p>{words}</p>{links}{_TRIVIAL}"
        return body.encode(), "text/html"

    def _api(self, path: str) -> FakeResponse:
        page = self.pages.get(path)
        if page is None:
            return NOT_FOUND
        links = "".join(f"<a href={link}>{link}</a> " for link in sorted(page.script_links))
        return FakeResponse(f"<p>made by the script of {path}, number {page.script_edits}</p>{links}")

    # -- what is true -------------------------------------------------------------------------------------------

    def links_of(self, path: str) -> set[str]:
        """All links of a page, once its scripts have run; the feed is known by the element that names it."""
        page = self.pages[path]
        if page.status != 200:
            return set()
        return {"/p1"} if path == FEED else page.links | (page.script_links if path in SCRIPTED else set())

    def name_of(self, path: str) -> str:
        """Where one gets to from an address: redirects lead to pages that do not redirect."""
        page = self.pages[path]
        return page.target if 300 <= page.status < 400 else path

    def true_coverage(self, covered: set[str]) -> float:
        """The share of a surfer's time, from the home page, on these addresses."""
        numbers = {path: number for number, path in enumerate(PATHS)}
        pairs = [(path, self.name_of(link)) for path in PATHS for link in self.links_of(path)]
        sources, targets = (np.array([numbers[pair[k]] for pair in pairs], np.int64) for k in (0, 1))
        graph = ori.LinkGraph.from_links(len(PATHS), sources, targets)
        trust = np.zeros(len(PATHS))
        trust[numbers[HOME]] = 1.0
        rank = dense_pagerank(graph, trust, trust, DAMPING)
        return float(sum(rank[numbers[path]] for path in {self.name_of(path) for path in covered}))


def _broken(outage: str) -> FakeResponse:
    if outage == "moved":
        return FakeResponse(status=302, headers=(("Location", "/maintenance"),))
    if outage == "same-page":
        return FakeResponse("<!doctype html><title>Soon</title><p>We will be back soon.")
    return FakeResponse("<!doctype html><p>broken", 503 if outage == "503" else 404)
