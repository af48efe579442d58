"""Hostile robots.txt files and sitemaps, each at its usual URL on a separate host."""

from __future__ import annotations

from collections.abc import Callable

from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.hostile_case import HostileCase, outcomes
from tests.fake_web.hostile_codings import repeatable_block

MEGABYTE = 1_000_000


def _robots(
    name: str, outcome: str, note: str, make: Callable[[], FakeResponse], never_ends: bool = False
) -> HostileCase:
    place = f"http://{name}.test/robots.txt"
    return HostileCase(name, make, outcomes(outcome), note, place, any_type=True, never_ends=never_ends)


def _sitemap(
    name: str, outcome: str, note: str, make: Callable[[], FakeResponse], file: str = "sitemap.xml"
) -> HostileCase:
    return HostileCase(name, make, outcomes(outcome), note, f"http://{name}.test/{file}", any_type=True)


def _text(text: str | bytes) -> Callable[[], FakeResponse]:
    return lambda: FakeResponse(text, content_type="text/plain")


def _entity_bomb() -> FakeResponse:
    entities = "".join(f"<!ENTITY l{k} '{f'&l{k - 1};' * 10}'>" for k in range(1, 10))
    return FakeResponse(
        f"<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY l0 'ha'>{entities}]>"
        "<urlset><url><loc>http://sitemap-entities.test/&l9;</loc></url></urlset>",
        content_type="application/xml",
    )


def _outside_entity() -> FakeResponse:
    return FakeResponse(
        "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY secret SYSTEM 'file:///etc/hostname'>]>"
        "<urlset><url><loc>http://sitemap-outside.test/&secret;</loc></url></urlset>",
        content_type="application/xml",
    )


def _gzip_sitemap() -> FakeResponse:
    """Gigabytes of <url> elements in 8 MB."""
    block = repeatable_block(b"<url><loc>http://sitemap-gzip.test/page</loc></url>\n")
    return FakeResponse(
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff", content_type="application/gzip", endless=block, endless_limit=8 << 20
    )


def _long_index(name: str, n: int) -> FakeResponse:
    entries = "".join([f"<sitemap><loc>http://{name}.test/part/{k}.xml</loc></sitemap>\n" for k in range(n)])
    return FakeResponse(f"<sitemapindex>{entries}</sitemapindex>", content_type="application/xml")


ROBOTS = [
    _robots(
        "robots-huge",
        "too large | ok",
        "10 MB of rules must not take minutes; the first 500 KiB count",
        lambda: FakeResponse(b"User-agent: *\n" + b"Disallow: /private/\n" * 500_000, content_type="text/plain"),
    ),
    _robots(
        "robots-endless",
        "too large | ok",
        "rules without end must not fill memory",
        lambda: FakeResponse(b"User-agent: *\n", content_type="text/plain", endless=b"Disallow: /private/\n" * 50),
    ),
    _robots(
        "robots-patterns",
        "ok",
        "patterns full of stars must not take exponential time to match",
        _text("User-agent: *\n" + "".join("Disallow: /" + "*a" * n + "*b$\n" for n in range(1, 400))),
    ),
    _robots(
        "robots-star-bomb", "ok", "must not take exponential time", _text("User-agent: *\nDisallow: /" + "*" * 100_000)
    ),
    _robots(
        "robots-html",
        "ok",
        "a page is no set of rules: all is allowed",
        lambda: FakeResponse("<h1>Not found</h1>" * 999),
    ),
    _robots("robots-nul", "ok", "must not raise", _text(b"\0\xff\xfeUser-agent: *\0\nDisallow\0: /\n" * 99)),
    _robots("robots-utf-16", "ok", "must not raise", _text("User-agent: *\nDisallow: /\n".encode("utf-16"))),
    _robots(
        "robots-bom",
        "ok",
        "the mark in front of the first line is no letter",
        _text("\ufeffUser-agent: *\nDisallow: /x"),
    ),
    _robots(
        "robots-delay",
        "ok",
        "a delay of years, of less than nothing, or of no number must not stop or hurry the crawl for good",
        _text("User-agent: *\nCrawl-delay: 1e9\nCrawl-delay: -5\nCrawl-delay: nan\nCrawl-delay: inf\n"),
    ),
    _robots("robots-carriage-returns", "ok", "lines may end so", _text("User-agent: *\rDisallow: /x\r\r")),
    _robots("robots-long-line", "ok", "a line of 400 kB", _text("User-agent: *\nDisallow: /" + "x" * 400_000)),
    _robots(
        "robots-many-agents",
        "ok",
        "30,000 groups must not take quadratic time",
        _text("".join(f"User-agent: bot{k}\n" for k in range(30_000)) + "Disallow: /\n"),
    ),
    _robots(
        "robots-many-sitemaps",
        "ok",
        "10,000 sitemaps are not all fetched at once, nor those at private addresses",
        _text("".join(f"Sitemap: http://10.0.{k // 250}.{k % 250}/s{k}.xml\n" for k in range(10_000))),
    ),
    _robots(
        "robots-error", "server error", "the host counts as closed, for a time", lambda: FakeResponse("sorry", 500)
    ),
    _robots("robots-loop", "redirect", "must end: the host counts as closed", lambda: redirect_to("/robots.txt")),
    _robots(
        "robots-to-private",
        "redirect",
        "must not lead the crawler to a private address",
        lambda: redirect_to("http://192.168.0.1/robots.txt"),
    ),
    _robots(
        "robots-reset", "broken answer | no connection", "the host counts as closed", lambda: FakeResponse(reset=True)
    ),
    _robots(
        "robots-slow",
        "timed out",
        "a host must not be waited for without end",
        lambda: FakeResponse("User-agent: *\nDisallow:\n" * 99, content_type="text/plain", bytes_per_s=5),
        never_ends=True,
    ),
    _robots(
        "robots-forbidden", "client error", "all is allowed, as the standard has it", lambda: FakeResponse("no", 403)
    ),
]

SITEMAPS = [
    _sitemap("sitemap-entities", "ok", "entities must not grow to gigabytes", _entity_bomb),
    _sitemap("sitemap-outside", "ok", "no file may be read for an entity", _outside_entity),
    _sitemap(
        "sitemap-gzip", "ok | too large", "gigabytes of XML must not be inflated", _gzip_sitemap, "sitemap.xml.gz"
    ),
    _sitemap(
        "sitemap-nested",
        "ok",
        "elements 100,000 deep must not overflow the stack",
        lambda: FakeResponse("<urlset>" + "<url>" * 100_000, content_type="application/xml"),
    ),
    _sitemap(
        "sitemap-of-itself",
        "ok",
        "an index of itself must end",
        lambda: FakeResponse(
            "<sitemapindex><sitemap><loc>http://sitemap-of-itself.test/sitemap.xml</loc></sitemap></sitemapindex>",
            content_type="application/xml",
        ),
    ),
    _sitemap(
        "sitemap-index-long",
        "ok",
        "not all of 50,000 sitemaps are fetched",
        lambda: _long_index("sitemap-index-long", 50_000),
    ),
    _sitemap(
        "sitemap-abroad",
        "ok",
        "a sitemap speaks for its own host only, and for no private address",
        lambda: FakeResponse(
            "<urlset><url><loc>http://other.test/</loc></url><url><loc>http://127.0.0.1/</loc></url>"
            "<url><loc>file:///etc/passwd</loc></url><url><loc>" + "x" * MEGABYTE + "</loc></url></urlset>",
            content_type="application/xml",
        ),
    ),
    _sitemap("sitemap-html", "ok", "a page is no sitemap", lambda: FakeResponse("<title>Oops</title><p>" * 999)),
    _sitemap(
        "sitemap-rubbish",
        "ok",
        "must not raise",
        lambda: FakeResponse(b"\x1f\x8b\xff<?xml\0" * 999, content_type="text/xml"),
    ),
]

PLACES = [*ROBOTS, *SITEMAPS]
