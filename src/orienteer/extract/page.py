"""What a page says: its links, its words, and what it tells robots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orienteer.extract.charset import as_utf8, charset_of
from orienteer.extract.reader import PageReader, read
from orienteer.extract.robot_rules import rules_of_header
from orienteer.url import canonical_url, too_long_url

MAX_LINKS = 10_000  # of one page; what follows is dropped
MAX_TEXT_CHARS = 1_000_000


@dataclass(slots=True)
class Page:
    """Links and the canonical URL are canonical; texts have their white space collapsed, and blocks end lines."""

    links: list[str]  # to follow, in the order of the document, without repeats
    title: str
    text: str  # what a reader sees
    headings: list[str]  # of the first three levels
    anchors: list[tuple[str, str]]  # links to other pages, and the words or the image that stand for them
    description: str
    language: str  # as declared, like "en"; "" where it is not
    charset: str
    canonical: str | None
    noindex: bool
    nofollow: bool
    left_out: list[str]  # links that are not to be followed: nofollow, too long
    unknown_links: tuple[str, ...]  # why nobody knows how many links there are besides; empty: there are none


def extract_page(
    html: bytes, url: str, charset: str | None = None, robots_header: str = "", with_text: bool = True
) -> Page:
    """Read the page at `url`.

    Links are those of `a`, `area`, `frame`, `iframe`, a canonical, next or previous `link`, and a refresh; they start
    from the page's `base`. Those marked `nofollow` are left out, all of them where the page or `robots_header` (the
    `X-Robots-Tag`) says so. `charset` is what the HTTP header says. Without text the page has no text, headings and
    anchors, which saves half the time.

    Nothing that a page holds raises an exception; time and memory are linear in its size.

    >>> page = extract_page(b"<title>A</title><p>See <a href=b#c>the<br>next</a>.", "http://example.org/a/")
    >>> page.title, page.text, page.anchors
    ('A', 'See the\\nnext.', [('http://example.org/a/b', 'the next')])
    """
    used_charset = charset_of(html, charset)
    reader = read(as_utf8(html, used_charset), with_text)
    rules = reader.rules | rules_of_header(robots_header) if robots_header else reader.rules
    base = url if reader.base is None else canonical_url(reader.base, url) or url
    links, is_cut = _links(reader.references, base)
    left_out = _left_out(reader, links, base)
    if rules.nofollow:
        links, left_out = {}, list(dict.fromkeys((*links.values(), *left_out)))
    anchors = {
        (link, text): None
        for reference, text in reader.anchors
        if (link := links.get(reference)) is not None and link != url
    }
    return Page(
        links=list(dict.fromkeys(links.values())),
        title=reader.title,
        text=reader.text[:MAX_TEXT_CHARS].rstrip(),
        headings=reader.headings,
        anchors=list(anchors),
        description=reader.description,
        language=reader.language,
        charset=used_charset,
        canonical=canonical_url(reader.canonical, base) if reader.canonical else None,
        noindex=rules.noindex,
        nofollow=rules.nofollow,
        left_out=left_out,
        unknown_links=(f"more than {MAX_LINKS:,} links",) if is_cut else (),
    )


def _links(references: Iterable[str], base: str) -> tuple[dict[str, str], bool]:
    """The links by their references, up to the limit, and whether there are references beyond it."""
    links: dict[str, str] = {}
    distinct: set[str] = set()
    for reference in references:
        if len(distinct) == MAX_LINKS:
            return links, True
        link = canonical_url(reference, base)
        if link is not None:
            links[reference] = link
            distinct.add(link)
    return links, False


def _left_out(reader: PageReader, links: dict[str, str], base: str) -> list[str]:
    """The links that are there, but are not among those to follow; what stands for them where they are too long."""
    not_followed, _ = _links(reader.not_followed, base)
    too_long = {
        url
        for reference in (*reader.references, *reader.not_followed)
        if reference not in links and reference not in not_followed
        and (url := too_long_url(reference, base)) is not None
    }  # fmt: skip
    return sorted((too_long | set(not_followed.values())).difference(links.values()))
