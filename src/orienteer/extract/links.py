"""The links of an HTML page.

Only the tokens of the page are read, no tree is built: a tree costs up to thousands of times the memory of the page
where formatting elements are left open (the standard wants them reopened in every paragraph), and square time where
`<html>` is repeated. A pass over the tokens is linear in whatever a page holds, and finds the same links.
"""

from __future__ import annotations

import codecs
import re

from turbohtml import Tokenizer, parse
from turbohtml.detect import detect

from orienteer.url import canonical_url

MAX_LINKS = 10_000  # of one page; what follows is dropped

_FOLLOWED_RELATIONS = frozenset(("canonical", "next", "prev"))
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# What a browser that runs scripts and knows frames takes for mere text. We do neither, so those links are ours.
_UNREAD_BY_BROWSERS = re.compile("<no(?:script|frames)", re.IGNORECASE)

# "5; url=next.html" with every liberty the standard takes: no "url=", quotes, a comma, a fraction of a second.
_REFRESH = re.compile(r"""\s*[\d.]+[\s;,]+(?:url\s*=\s*)?(?:'([^']*)|"([^"]*)|(.*))""", re.IGNORECASE | re.DOTALL)
_MAX_REFRESH_CHARS = 4096

_Attributes = list[tuple[str, str]]


def extract_links(html: bytes, url: str, charset: str | None = None) -> list[str]:
    """The canonical URLs that the page at `url` links to, in the order of the document, without repeats.

    Links are those of `a`, `area`, `frame`, `iframe`, a canonical, next or previous `link`, and a refresh; they start
    from the page's `base`. Those marked `nofollow` are left out, all of them where the page's robots say so.
    `charset` is what the HTTP header says.

    >>> extract_links(b"<a href=b>b</a> <a href='/c#part'>c</a> <a href=mailto:d@e>d</a>", "http://example.org/a/")
    ['http://example.org/a/b', 'http://example.org/c']
    """
    references = _References()
    tokenizer = Tokenizer()
    tokenizer.feed(_UNREAD_BY_BROWSERS.sub("<div", decoded(html, charset)))
    tokenizer.close()
    tokenizer.dispatch(references)
    if not references.followed:
        return []
    base = url if references.base is None else canonical_url(references.base, url) or url
    links: dict[str, None] = {}
    for reference in references.found:
        link = canonical_url(reference, base)
        if link is not None:
            links[link] = None
            if len(links) == MAX_LINKS:
                break
    return list(links)


def decoded(html: bytes, charset: str | None = None) -> str:
    """The text of a page: by its byte order mark, else the HTTP header's `charset`, else what it says or looks like."""
    codec = None if charset is None or html.startswith(_BYTE_ORDER_MARKS) else _codec(charset)
    codec = codec or detect(html).codec
    return "" if codec is None else html.decode(codec)


def _codec(charset: str) -> str | None:
    """The codec for a label of the Encoding standard; None for any other label."""
    # Asking Python's own registry would keep every label a server makes up in memory for good.
    try:
        return f"whatwg-{parse(b'', encoding=charset).encoding}"
    except (LookupError, ValueError):
        return None


class _References:
    """What the tokenizer reports to: it keeps the references of a page, as written but without their fragments."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.base: str | None = None
        self.followed = True
        self._readers = {
            "a": self._anchor,
            "area": self._anchor,
            "frame": self._frame,
            "iframe": self._frame,
            "link": self._link,
            "meta": self._meta,
            "base": self._base,
        }

    def handle_starttag(self, tag: str, attributes: _Attributes) -> None:
        reader = self._readers.get(tag)
        if reader is not None:
            reader(dict(attributes))

    handle_startendtag = handle_starttag

    # Called for every other token, for nothing: a built-in takes half the time of a function that passes.
    handle_endtag = handle_data = handle_comment = handle_decl = handle_pi = bool

    def _add(self, reference: str | None) -> None:
        if reference is not None:
            self.found[reference.partition("#")[0]] = None

    def _anchor(self, attributes: dict[str, str]) -> None:
        if "rel" not in attributes or "nofollow" not in attributes["rel"].lower().split():
            self._add(attributes.get("href"))

    def _frame(self, attributes: dict[str, str]) -> None:
        self._add(attributes.get("src"))

    def _link(self, attributes: dict[str, str]) -> None:
        relations = attributes.get("rel", "").lower().split()
        if "nofollow" not in relations and not _FOLLOWED_RELATIONS.isdisjoint(relations):
            self._add(attributes.get("href"))

    def _meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        if attributes.get("name", "").strip().lower() == "robots":
            rules = content.lower().replace(",", " ").split()
            self.followed = self.followed and "nofollow" not in rules and "none" not in rules
        elif attributes.get("http-equiv", "").strip().lower() == "refresh" and len(content) <= _MAX_REFRESH_CHARS:
            target = _REFRESH.match(content)
            if target is not None:
                self._add(target[target.lastindex or 0].strip() or None)

    def _base(self, attributes: dict[str, str]) -> None:
        if self.base is None:
            self.base = attributes.get("href")
