"""Crawls for exports: a small site fetched by a real crawl, and hostile pages."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from orienteer.extract.documents.kinds import HTML_TYPES
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.search.small_webs import HandmadeCrawl

HOME, NEWS, VISIT = "http://a.test/", "http://a.test/news/", "http://www.b.test/visit?b=2&a=1"
OLD, TWIN, LATIN = "http://a.test/old", "http://a.test/twin", "http://a.test/latin"
PLAIN, HIDDEN, MISSING = "http://a.test/plain.txt", "http://a.test/hidden", "http://a.test/missing"
STORY = "<title>News</title><h1>News</h1>" + "".join(f"<p>Story {k} about the river and the reeds." for k in range(40))
SITE = {
    HOME: f"<html lang=en><title>Home</title><h1>Home</h1><p>Welcome. <a href=/old>old</a> <a href={NEWS}>news</a> "
    f"<a href='{VISIT}'>visit</a> <a href=/twin>twin</a> <a href=/latin>latin</a> <a href=/plain.txt>plain</a> "
    "<a href=/hidden>hidden</a> <a href=/missing>missing</a>",
    OLD: redirect_to(NEWS),
    NEWS: FakeResponse(STORY + "<a href=/>home</a>", gzip=True),
    TWIN: STORY + "<a href=/>home</a>",
    VISIT: "<title>Visit</title><p>Open every day. <a href=http://a.test/>home</a> <a href=http://a.test/old>old</a>",
    LATIN: FakeResponse(
        "<title>Café</title><p>Öffnungszeiten".encode("latin-1"), content_type="text/html; charset=latin1"
    ),
    PLAIN: FakeResponse("Just text,\nin two lines.", content_type="text/plain"),
    HIDDEN: "<title>Hidden</title><meta name=robots content=noindex><p>Not to be found. <a href=/>home</a>",
}
PAGES = {HOME, NEWS, TWIN, VISIT, LATIN, HIDDEN}  # PLAIN is none: this crawl is for HTML


def site_crawl(folder: Path) -> Path:
    """Crawl the site: NEWS and TWIN are duplicates, OLD redirects to NEWS, MISSING does not exist."""
    with FakeWeb(MadeSite(SITE)) as web:
        crawled(web, HOME, folder, settings={"fetch": {"content_types": list(HTML_TYPES)}})
    return folder


RUDE_TITLE = "x\x00\x07\x1b]]></data>&amp;\"'\r\n---\n# é\u2028\ufffe\U0001f600 <b>_*"
RUDE_TEXT = (
    "<p># no heading<p>---<p>- no list<p>1. nor this<p>&lt;script>alert(1)&lt;/script><p>[a](javascript:x)<p>![i](y)"
    "<p>`code` *em* _em_ snake_case ~~gone~~ &amp;lt; \\ back<p>&gt; quote<p>+ plus<p>| a | b |<p>|---|---|<p>===<p>~~~"
    "<p>C#<p>a&nbsp;&nbsp;b\x00\x0b\x7f\x9b<p>\u2028\u2029\ufeff\ufffe<p>[ref]: http://evil<h2>Head ##</h2><p>***<p>___"
)
RUDE_URLS = [
    "http://a.org/../../../etc/passwd",
    "http://a.org/%2e%2e/%2e%2e/%2Fetc%2Fpasswd",
    "http://a.org/a&b=<c>?d=\"e'f&g=]]>",
    "http://a.org/" + "x" * 1900,
    "http://a.org/con",
    "http://a.org/CON",
    "http://a.org/,;\t,%0d%0a",
    "http://a.org/\u202e\u00e4\U0001f600",
    "http://a.org/?" + "=" * 50,
    "http://[::1]:8080/a b",
    "http://a.org/---%00.md",
]


def hostile_crawl(folder: Path) -> HandmadeCrawl:
    """Make pages with hostile URLs, titles and texts, all linked to each other."""
    crawl = HandmadeCrawl(folder)
    for k, url in enumerate(RUDE_URLS):
        html = f"<title>{RUDE_TITLE}</title>{RUDE_TEXT}<p>Page {k} \udcff"
        crawl.add({url: html}, {url: dict.fromkeys(RUDE_URLS[: k + 1], "x")}, title=RUDE_TITLE, language="en")
    return crawl


def plain_crawl(folder: Path, n_pages: int = 12) -> HandmadeCrawl:
    """Make a chain of pages, each with a link to the next."""
    crawl = HandmadeCrawl(folder)
    urls = [f"http://a.org/{k}" for k in range(n_pages)]
    pages = {url: f"<title>Page {k}</title><p>{os.urandom(3000).hex()}" for k, url in enumerate(urls)}
    crawl.add(pages, {url: {after: "next"} for url, after in itertools.pairwise(urls)}, digest=b"1" * 20)
    return crawl
