"""What a page is shown with, as URLs: pictures, styles, fonts, scripts, frames, icons.

Only tokens are read, as in `reader`, and no tree is built. What may or may not be shown, such as the pictures in a
`noscript` or a `template`, all sizes of a picture, and those that a script loads late (data-src), counts as shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Tokenizer

from orienteer.extract.charset import decoded
from orienteer.extract.style_urls import style_text, style_urls
from orienteer.url import canonical_url

MAX_REQUISITES = 2_000  # of a document
_MAX_DEPTH = 3  # of documents in attributes of documents
_MAX_STYLE_CHARS = 20_000_000  # in one document: attributes and elements

_DOCUMENTS = frozenset(("text/html", "application/xhtml+xml", "image/svg+xml"))
_RELATIONS = frozenset((
    "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "preload", "modulepreload",
    "manifest",
))  # fmt: skip

# Attributes that hold one URL, and those that hold several, by element.
_LAZY = ("data-src",)
_URLS: dict[str, tuple[str, ...]] = {
    "img": ("src", *_LAZY),
    "image": ("href", "xlink:href"),
    "feimage": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "source": ("src", *_LAZY),
    "video": ("src", "poster", *_LAZY),
    "audio": ("src", *_LAZY),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "iframe": ("src", *_LAZY),
    "frame": ("src",),
    "script": ("src",),
    **dict.fromkeys(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"), ("background",)),
}
_SETS: dict[str, tuple[str, ...]] = dict.fromkeys(("img", "source"), ("srcset", "data-srcset"))

_TEXTS = frozenset(("style", "noscript"))  # elements that hold text to the tokenizer, and URLs in it

_SET_URL = re.compile(r"[ \t\n\r\f,]*+([^ \t\n\r\f]++)")
_SET_DESCRIPTORS = re.compile(r"(?:[^(),]|\([^)]*+(?:\)|\Z))*+")


def requisites_of(content: bytes, url: str, content_type: str, charset: str | None = None) -> list[str]:
    """The canonical URLs that a page, or a style, is shown with; without repeats, in the order in which they stand.

    >>> requisites_of(b"<base href=/a/><img srcset='b.png, c.png 2x'>", "http://x.test/", "text/html")
    ['http://x.test/a/b.png', 'http://x.test/a/c.png']
    """
    found = _Found(url)
    if content_type == "text/css":
        found.add_all(style_urls(style_text(content, charset)))
    elif content_type in _DOCUMENTS:
        _read(decoded(content, charset), found, 0)
    return list(found.urls)


class _Found:
    """URLs that were found; `base` is what they are seen from."""

    def __init__(self, url: str) -> None:
        self.base = self._url = url
        self.urls: dict[str, None] = {}
        self.has_base = False
        self.style_chars = 0

    def add(self, reference: str) -> None:
        reference = reference.strip(" \t\n\r\f")
        if not reference or reference[0] == "#" or len(self.urls) >= MAX_REQUISITES:
            return
        url = canonical_url(reference, self.base)
        if url is not None and url != self._url:
            self.urls[url] = None

    def add_all(self, references: Iterator[str]) -> None:
        for reference in references:
            if len(self.urls) >= MAX_REQUISITES:
                return
            self.add(reference)

    def add_style(self, style: str) -> None:
        self.style_chars += len(style)
        if self.style_chars <= _MAX_STYLE_CHARS:
            self.add_all(style_urls(style))

    def set_base(self, reference: str) -> None:
        """The first one counts, wherever it stands."""
        if not self.has_base:
            self.has_base = True
            self.base = canonical_url(reference, self._url) or self.base


def _read(html: str, found: _Found, depth: int) -> None:
    tokenizer = Tokenizer()
    tokenizer.feed(html)
    tokenizer.close()
    reader = _Reader(found, depth)
    tokenizer.dispatch(reader)
    reader.finish()


class _Reader:
    """What the tokenizer reports to."""

    handle_comment = handle_decl = handle_pi = bool

    def __init__(self, found: _Found, depth: int) -> None:
        self._found = found
        self._depth = depth
        self._open = ""
        self._text: list[str] | None = None  # of the element that is open, if it holds text alone

    def handle_data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = self._found
        self._open, self._text = tag, [] if tag in _TEXTS else None
        if not attributes:
            return
        values = {name: value or "" for name, value in reversed(attributes)}  # of a repeated one, the first counts
        if tag == "base" and "href" in values:
            found.set_base(values["href"])
        for name in _URLS.get(tag, ()):
            if name in values:
                found.add(values[name])
        for name in _SETS.get(tag, ()):
            if name in values:
                found.add_all(candidates(values[name]))
        if tag == "link":
            self._link(values)
        elif tag == "input" and values.get("type", "").strip().lower() == "image":
            found.add(values.get("src", ""))
        elif tag == "iframe" and "srcdoc" in values and self._depth < _MAX_DEPTH:
            _read(values["srcdoc"], found, self._depth + 1)
        if "style" in values and "(" in values["style"]:
            found.add_style(values["style"])

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        self.finish()

    def finish(self) -> None:
        """Read the text of the element that ends here."""
        if self._text and self._open == "style":
            self._found.add_style("".join(self._text))
        elif self._text and self._depth < _MAX_DEPTH:
            _read("".join(self._text), self._found, _MAX_DEPTH)  # what stands in it has no such element in turn
        self._text = None

    def _link(self, values: dict[str, str]) -> None:
        if _RELATIONS.isdisjoint(values.get("rel", "").lower().split()):
            return
        self._found.add(values.get("href", ""))
        if "imagesrcset" in values:
            self._found.add_all(candidates(values["imagesrcset"]))


def candidates(srcset: str) -> Iterator[str]:
    """The URLs in a `srcset`, as the HTML standard takes it apart.

    >>> list(candidates("a.png 1x, b,c.png (x, y) 2x,d.png"))
    ['a.png', 'b,c.png', 'd.png']
    """
    at = 0
    while (url := _SET_URL.match(srcset, at)) is not None:
        at = url.end()
        reference = url[1].rstrip(",")
        if reference:
            yield reference
        if reference == url[1]:
            descriptors = _SET_DESCRIPTORS.match(srcset, at)
            assert descriptors is not None
            at = max(descriptors.end(), at)
