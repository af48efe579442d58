"""Find the assets of a page or a style sheet, as URLs: images, style sheets, fonts, scripts, frames, icons.

What `static_page` has to agree with is here, too: the table of attributes with URLs, and the parsers of `srcset` and
CSS. Both read the tokens of a page, so that every asset that is found is rewritten in the archived page.

Assets that may or may not be used count as assets: images in `noscript` or `template`, all sizes of an image, and
images that a script loads late (data-src).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from orienteer.extract.parser import TokenType, decoded, tokens
from orienteer.url import canonical_url

MAX_ASSETS = 2_000  # of a document
MAX_DEPTH = 5  # of pages in attributes and noscript elements of pages
SPACES = "".join(map(chr, range(33)))  # at the ends of references, by the URL standard
_MAX_ICONS = 20
_MAX_ICON_PAGE_BYTES = 256 << 10  # icons are named in the head

_HTML, _XML = "text/html", ("application/xhtml+xml", "image/svg+xml")
_RELATIONS = frozenset(
    ("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "preload", "modulepreload",
     "manifest")
)  # fmt: skip
_ICONS = {"icon": 0, "apple-touch-icon": 1, "apple-touch-icon-precomposed": 1}  # the lower, the smaller


class Content(Enum):
    """What the value of an attribute is."""

    URL = "url"
    SRCSET = "srcset"
    CSS = "css"
    PAGE = "page"


_HREFS, _LAZY_SRC = ("href", "xlink:href"), ("src", "data-src")
# Attributes with assets, by element. Those with CSS may be on any element.
_ASSETS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("img", "source"), (*_LAZY_SRC, "srcset", "data-srcset")),
    **dict.fromkeys(("image", "feimage", "use"), _HREFS),
    "audio": _LAZY_SRC,
    "iframe": (*_LAZY_SRC, "srcdoc"),
    **dict.fromkeys(("track", "embed", "frame", "script", "input"), ("src",)),
    **dict.fromkeys(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"), ("background",)),
    "video": (*_LAZY_SRC, "poster"),
    "object": ("data",),
    "link": ("href", "imagesrcset"),
}
_CONTENT: Final[Mapping[str, Content]] = {
    **dict.fromkeys((name for names in _ASSETS.values() for name in names), Content.URL),
    **dict.fromkeys(("cite", "dynsrc", "longdesc", "lowsrc"), Content.URL),  # no assets
    **dict.fromkeys(("srcset", "data-srcset", "imagesrcset"), Content.SRCSET),
    **dict.fromkeys(
        ("style", "fill", "stroke", "filter", "mask", "clip-path", "cursor", "marker", "marker-start", "marker-mid",
         "marker-end"), Content.CSS,
    ),
    "srcdoc": Content.PAGE,
}  # fmt: skip


def content_of(tag: str, name: str) -> Content | None:
    """Return what the value of an attribute is on any element, also on those that have no such attribute; or None."""
    return None if name == "data" and tag != "object" else _CONTENT.get(name)


def _is_asset(tag: str, name: str, attributes: Mapping[str, str]) -> bool:
    if tag == "link" and _RELATIONS.isdisjoint(attributes.get("rel", "").lower().split()):
        return False
    if tag == "input" and attributes.get("type", "").strip().lower() != "image":
        return False
    return name in _ASSETS.get(tag, ())


def asset_urls(content: bytes, url: str, content_type: str, charset: str | None = None) -> list[str]:
    """Return the canonical URLs of the assets of a page or a style sheet, without repeats, in document order.

    >>> asset_urls(b"<base href=/a/><img srcset='b.png, c.png 2x'>", "http://x.test/", "text/html")
    ['http://x.test/a/b.png', 'http://x.test/a/c.png']
    """
    found = _FoundAssets(url)
    if content_type == "text/css":
        found.add(PageBase(url), (css_url.reference for css_url in css_urls(decoded_style(content, charset))))
    elif content_type == _HTML or content_type in _XML:
        page = decoded(content, charset)
        found.read(as_html(page) if content_type in _XML else page, PageBase(url))
    return list(found.urls)


def icon_urls(content: bytes, url: str, charset: str | None = None) -> list[str]:
    """Return the canonical URLs of the icons of a page, the best one for a small size first.

    The last one is /favicon.ico, which browsers request by default.

    >>> icon_urls(b'<link rel="shortcut icon" href="a.png">', "http://x.test/b/")
    ['http://x.test/b/a.png', 'http://x.test/favicon.ico']
    """
    base = PageBase(url)
    icons: list[tuple[int, str]] = []
    for token in tokens(decoded(content[:_MAX_ICON_PAGE_BYTES], charset)):
        if token.type is TokenType.START_TAG and token.tag in ("base", "link"):
            attributes = dict(token.attrs or ())
            reference = attributes.get("href", "").strip()
            kinds = [_ICONS[word] for word in attributes.get("rel", "").lower().split() if word in _ICONS]
            if token.tag == "base":
                base.apply(attributes)
            elif kinds and reference and len(icons) < _MAX_ICONS:
                icons.append((min(kinds), reference))
    named = [canonical_url(reference, base.url) for _, reference in sorted(icons, key=lambda icon: icon[0])]
    return list(dict.fromkeys(icon for icon in (*named, canonical_url("/favicon.ico", url)) if icon is not None))


class PageBase:
    """The URL that references of a page are resolved against: its own, then that of its first `base` with a `href`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._is_stated = False

    def apply(self, attributes: Mapping[str, str]) -> None:
        """Apply the attributes of a `base` element; a URL that cannot be fetched is ignored."""
        if "href" in attributes and not self._is_stated:
            self._is_stated = True
            self.url = canonical_url(attributes["href"], self.url) or self.url


class _FoundAssets:
    def __init__(self, url: str) -> None:
        self.urls: dict[str, None] = {}
        self._url = url

    def add(self, base: PageBase, references: Iterable[str]) -> None:
        for reference in (reference.strip(SPACES) for reference in references):
            if len(self.urls) >= MAX_ASSETS:
                return
            url = canonical_url(reference, base.url) if reference and reference[0] != "#" else None
            if url is not None and url != self._url:
                self.urls[url] = None

    def read(self, html: str, base: PageBase, depth: int = 0, is_noscript: bool = False) -> None:
        if depth > MAX_DEPTH:
            return
        raw: str | None = None  # the open element, perhaps with raw text
        for token in tokens(html):
            if token.type is TokenType.START_TAG:
                raw, attributes = token.tag or "", dict(token.attrs or ())
                if raw == "base":
                    base.apply(attributes)
                for name, value in attributes.items():
                    content = _CONTENT.get(name)
                    if content is Content.CSS or (content is not None and _is_asset(raw, name, attributes)):
                        self._add_value(content, value, base, depth)
            elif token.type is not TokenType.TEXT:
                raw = None
            elif raw == "style":
                self._add_value(Content.CSS, element_style(token.data or ""), base, depth)
            elif raw == "noscript" and not is_noscript:
                self.read(token.data or "", base, depth + 1, is_noscript=True)

    def _add_value(self, content: Content, value: str, base: PageBase, depth: int) -> None:
        if content is Content.URL:
            self.add(base, (value,))
        elif content is Content.SRCSET:
            self.add(base, (reference for reference, _ in srcset_candidates(value)))
        elif content is Content.CSS:
            self.add(base, (url.reference for url in css_urls(value)))
        else:
            self.read(value, PageBase(base.url), depth + 1)


_EMPTY_TAG = re.compile(r"<(?!br[\s/])([a-z][\w:-]*+)([^<>]*?)/>", re.IGNORECASE)


def as_html(xml: str) -> str:
    """Split the empty tags of XML in two: in HTML, `<script/>` would extend to the end of the page."""
    return _EMPTY_TAG.sub(r"<\1\2></\1>", xml)


_SRCSET_URL = re.compile(r"[ \t\n\r\f,]*+([^ \t\n\r\f]++)")
_SRCSET_DESCRIPTORS = re.compile(r"(?:[^(,]++|\([^)]*+(?:\)|\Z)){0,500}")


def srcset_candidates(srcset: str) -> Iterator[tuple[str, str]]:
    """Yield the URLs in a `srcset` and their descriptors, by the rules of the HTML standard.

    >>> list(srcset_candidates("a.png 1x, b,c.png (x, y) 2x,d.png"))
    [('a.png', '1x'), ('b,c.png', '(x, y) 2x'), ('d.png', '')]
    """
    at = 0
    while (url := _SRCSET_URL.match(srcset, at)) is not None:
        at, reference, descriptors = url.end(), url[1].rstrip(","), ""
        if reference == url[1] and (found := _SRCSET_DESCRIPTORS.match(srcset, at)) is not None:
            at, descriptors = found.end(), found[0].strip()
        if reference:
            yield reference, descriptors


# CSS, by the tokens of CSS Syntax Level 3. Names may contain escapes: `\75rl(a)` is `url(a)`.

_STATED_CHARSET = re.compile(rb'@charset "(?!(?i:utf-16))([^"\n]{1,40})";')  # it cannot be UTF-16 if this matches
_DELIMITERS = re.compile(r"<!\[CDATA\[|\]\]>|<!--|-->")

# Nothing can fail behind a repeated group, and its repetitions are bounded, since each takes memory. Possessive groups
# would do the same, but Python before 3.11.5 matches them wrongly.
_SPACE, _LETTER = r"[ \t\n\r\f]", r"[a-zA-Z0-9_\-\x80-\U0010ffff]"
_ESCAPE = rf"\\(?:[0-9a-fA-F]{{1,6}}(?:\r\n|{_SPACE})?|[^\n\r\f0-9a-fA-F]|\Z)"
_NAME = rf"(?:{_LETTER}++|{_ESCAPE})"
_SKIPPED = (
    rf"(?!(?:url|(?:-webkit-)?image-set)\(){_LETTER}++(?!\\)|\#{_LETTER}*+(?!\\)|<!--|<|\\(?=[\n\r\f])"
    r"|/\*(?s:.*?)(?:\*/|\Z)|/"
)
_NEXT_NAME = rf"[@\#]{_NAME}{{0,200}}|{_NAME}{{1,200}}(?P<call>\()?|[\"']"
# The next token that may matter: anywhere; and in the prelude of a rule or in image-set, where brackets do.
_NEXT = re.compile(
    rf"(?:[^\"'@#</\\\w\-\x80-\U0010ffff]++|{_SKIPPED}){{0,500}}(?P<token>{_NEXT_NAME})?", re.IGNORECASE | re.ASCII
)
_NEXT_INSIDE = re.compile(
    rf"(?:[^\"'@#</\\\w\-\x80-\U0010ffff()\[\]{{}};]++|{_SKIPPED}){{0,500}}(?P<token>{_NEXT_NAME}|[()\[\]{{}};])?",
    re.IGNORECASE | re.ASCII,
)
_QUOTE = re.compile(rf"{_SPACE}*+[\"']")
# What a string, a url() without quotes, and one that is no URL consist of.
_IN_STRING = {quote: re.compile(rf"(?:[^{quote}\\\n\r\f]++|{_ESCAPE}|\\(?:\r\n|[\n\r\f])){{0,500}}") for quote in "\"'"}
_IN_URL = re.compile(rf"(?:[^ \t\n\r\f\"'()\\\x00-\x08\x0b\x0e-\x1f\x7f]++|{_ESCAPE}){{0,500}}")
_IN_NO_URL = re.compile(r"(?:[^)\\]++|\\.|\\\Z){0,500}", re.DOTALL)
_SPACES = re.compile(rf"{_SPACE}*+")
_ESCAPED = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\r\f])?|\r\n|[\n\r\f]|(.)|\Z)", re.DOTALL)
_BRACKET, _URL, _IMAGES = b"(ui"


class CssUrl(NamedTuple):
    """A URL in a style sheet, without escapes, and the place of its string or url()."""

    reference: str
    start: int
    end: int
    is_string: bool


def css_urls(css: str) -> Iterator[CssUrl]:
    """Yield the URLs in a style sheet that a browser would fetch: url(), @import, image-set(); in linear time.

    URLs in the preludes of other at-rules than @import (@namespace, @document) are names that are not fetched.

    >>> [url.reference for url in css_urls("@import 'a.css'; b { background: url( c\\\\20 d.png ) } /* url(e) */")]
    ['a.css', 'c d.png']
    """
    css = css.replace("\x00", "\ufffd")
    at = 0
    rule = ""  # the at-rule whose prelude is being read
    brackets = bytearray()  # that are open in it, in url("") or in image-set
    while at < len(css):
        found = (_NEXT_INSIDE if rule or brackets else _NEXT).match(css, at)
        assert found is not None
        start, at, token = found.start("token"), found.end(), found["token"] or ""
        is_fetched = not rule or (rule == "@import" and (not brackets or brackets == b"u"))
        is_inside = bool(rule or brackets)
        reference = None
        if token[:1] == "@" or (token and token in "{};"):
            rule = _unescaped(token).lower() if token[0] == "@" else ""
            brackets.clear()
        elif token and token in ")]":
            del brackets[-1:]
        elif token and token in "\"'":
            end = _end_of_run(_IN_STRING[token], css, at)
            is_whole = end == len(css) or css[end] == token  # no line ends in it
            if is_whole and is_inside and (not brackets or brackets[-1] != _BRACKET):
                reference = css[at:end]
            at = min(end + is_whole, len(css))
            if brackets and brackets[-1] == _URL:
                brackets[-1] = _BRACKET  # further strings in it are no URLs
        elif found["call"]:
            name = _unescaped(token[:-1]).lower()
            if name == "url" and not _QUOTE.match(css, at):
                at, reference = _unquoted_url(css, at)
            elif name in ("url", "image-set", "-webkit-image-set"):
                brackets.append(_URL if name == "url" else _IMAGES)
            elif is_inside:
                brackets.append(_BRACKET)
        elif token in ("(", "["):
            brackets.append(_BRACKET)
        if reference is not None and is_fetched:
            yield CssUrl(_unescaped(reference), start, at, token in "\"'")
            rule = rule and "rest of @import"  # layer, supports, media


def _unquoted_url(css: str, at: int) -> tuple[int, str | None]:
    """Read the rest of a url() without quotes; return where it ends, and the URL if it is one."""
    start = _end_of_run(_SPACES, css, at)
    end = _end_of_run(_IN_URL, css, start)
    closing = _end_of_run(_SPACES, css, end)
    if closing == len(css) or css[closing] == ")":
        return min(closing + 1, len(css)), css[start:end]
    return min(_end_of_run(_IN_NO_URL, css, at) + 1, len(css)), None


def _end_of_run(pieces: re.Pattern[str], css: str, at: int) -> int:
    """Return the end of a run; `pieces` matches a part of it, or nothing at its end."""
    while (found := pieces.match(css, at)) is not None and found.end() > at:
        at = found.end()
    return at


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _character(escape[1]) if escape[1] else escape[2] or "", text)


def _character(code: str) -> str:
    number = int(code, 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def decoded_style(content: bytes, charset: str | None = None) -> str:
    """Decode a style sheet; `charset` is that of the HTTP header."""
    stated = _STATED_CHARSET.match(content)
    return decoded(content, charset or (stated[1].decode("latin-1") if stated else "utf-8"))


def element_style(text: str) -> str:
    """Return the style sheet in a `style` element, without what hides it from old browsers and XML parsers."""
    return _DELIMITERS.sub("", text)
