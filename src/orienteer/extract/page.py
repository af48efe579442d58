"""What a page says: its links, its words, and what it tells robots."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.extract.charset import as_utf8, charset_of
from orienteer.extract.reader import PageReader, read
from orienteer.extract.robot_rules import rules_of_header
from orienteer.url import canonical_url

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
    n_links_dropped: int  # references that were not looked at, because there were too many


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
    links, n_dropped = ({}, 0) if rules.nofollow else _links(reader, base)
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
        n_links_dropped=n_dropped,
    )


def _links(reader: PageReader, base: str) -> tuple[dict[str, str], int]:
    """The links by their references, up to the limit, and the number of references beyond it."""
    links: dict[str, str] = {}
    distinct = set()
    for n_read, reference in enumerate(reader.references, 1):
        link = canonical_url(reference, base)
        if link is not None:
            links[reference] = link
            distinct.add(link)
            if len(distinct) == MAX_LINKS:
                return links, len(reader.references) - n_read
    return links, 0
