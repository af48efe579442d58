"""Find the assets of a page, as URLs: images, style sheets, fonts, scripts, frames, icons.

The page is tokenized, as in `reader`, without building a tree. Assets that may or may not be used count as assets:
images in `noscript` or `template`, all sizes of an image, and images that a script loads late (data-src).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Tokenizer

from orienteer.extract.charset import decoded
from orienteer.extract.style_urls import style_text, style_urls
from orienteer.url import canonical_url

MAX_ASSETS = 2_000  # of a document
_MAX_DEPTH = 3  # of nested documents in attributes (srcdoc)
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
_SRCSETS: dict[str, tuple[str, ...]] = dict.fromkeys(("img", "source"), ("srcset", "data-srcset"))

_TEXTS = frozenset(("style", "noscript"))  # elements whose content is text to the tokenizer, with URLs in it

_SRCSET_URL = re.compile(r"[ \t\n\r\f,]*+([^ \t\n\r\f]++)")
_SRCSET_DESCRIPTORS = re.compile(r"(?:[^(),]|\([^)]*+(?:\)|\Z))*+")


def asset_urls(content: bytes, url: str, content_type: str, charset: str | None = None) -> list[str]:
    """Return the canonical URLs of the assets of a page or a style sheet, without repeats, in document order.

    >>> asset_urls(b"<base href=/a/><img srcset='b.png, c.png 2x'>", "http://x.test/", "text/html")
    ['http://x.test/a/b.png', 'http://x.test/a/c.png']
    """
    found = _FoundAssets(url)
    if content_type == "text/css":
        found.add_all(style_urls(style_text(content, charset)))
    elif content_type in _DOCUMENTS:
        _read(decoded(content, charset), found, 0)
    return list(found.urls)


class _FoundAssets:
    """Collects URLs of assets; `base` is the URL that references are resolved against."""

    def __init__(self, url: str) -> None:
        self.base = self._url = url
        self.urls: dict[str, None] = {}
        self.has_base = False
        self.style_chars = 0

    def add(self, reference: str) -> None:
        reference = reference.strip(" \t\n\r\f")
        if not reference or reference[0] == "#" or len(self.urls) >= MAX_ASSETS:
            return
        url = canonical_url(reference, self.base)
        if url is not None and url != self._url:
            self.urls[url] = None

    def add_all(self, references: Iterator[str]) -> None:
        for reference in references:
            if len(self.urls) >= MAX_ASSETS:
                return
            self.add(reference)

    def add_style(self, style: str) -> None:
        self.style_chars += len(style)
        if self.style_chars <= _MAX_STYLE_CHARS:
            self.add_all(style_urls(style))

    def set_base(self, reference: str) -> None:
        """Set the base URL; only the first `base` element counts."""
        if not self.has_base:
            self.has_base = True
            self.base = canonical_url(reference, self._url) or self.base


def _read(html: str, found: _FoundAssets, depth: int) -> None:
    tokenizer = Tokenizer()
    tokenizer.feed(html)
    tokenizer.close()
    reader = _AssetReader(found, depth)
    tokenizer.dispatch(reader)
    reader.finish()


class _AssetReader:
    """The handler of the tokenizer."""

    handle_comment = handle_decl = handle_pi = bool

    def __init__(self, found: _FoundAssets, depth: int) -> None:
        self._found = found
        self._depth = depth
        self._open = ""
        self._text: list[str] | None = None  # of the open element, if it is one of _TEXTS

    def handle_data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = self._found
        self._open, self._text = tag, [] if tag in _TEXTS else None
        if not attributes:
            return
        values = {name: value or "" for name, value in reversed(attributes)}  # the first of repeated attributes counts
        if tag == "base" and "href" in values:
            found.set_base(values["href"])
        for name in _URLS.get(tag, ()):
            if name in values:
                found.add(values[name])
        for name in _SRCSETS.get(tag, ()):
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
        """Read the text of the element that ends."""
        if self._text and self._open == "style":
            self._found.add_style("".join(self._text))
        elif self._text and self._depth < _MAX_DEPTH:
            _read("".join(self._text), self._found, _MAX_DEPTH)  # elements of _TEXTS do not nest
        self._text = None

    def _link(self, values: dict[str, str]) -> None:
        if _RELATIONS.isdisjoint(values.get("rel", "").lower().split()):
            return
        self._found.add(values.get("href", ""))
        if "imagesrcset" in values:
            self._found.add_all(candidates(values["imagesrcset"]))


def candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs in a `srcset`, parsed by the rules of the HTML standard.

    >>> list(candidates("a.png 1x, b,c.png (x, y) 2x,d.png"))
    ['a.png', 'b,c.png', 'd.png']
    """
    at = 0
    while (url := _SRCSET_URL.match(srcset, at)) is not None:
        at = url.end()
        reference = url[1].rstrip(",")
        if reference:
            yield reference
        if reference == url[1]:
            descriptors = _SRCSET_DESCRIPTORS.match(srcset, at)
            assert descriptors is not None
            at = max(descriptors.end(), at)
