"""Parse sitemaps.

Formats are XML sitemaps and sitemap indexes, with or without namespace, RSS and Atom feeds, and plain text with one URL
per line; each may be gzipped. The URLs before a syntax error count. The caller decides for which hosts a sitemap is
valid.

Hostile files stay cheap: at most MAX_SITEMAP_BYTES (decompressed), MAX_ENTRIES entries and MAX_NODES elements and
attributes are read; depth, tag length and URL length are bounded; and parsing ends at an internal DTD subset, which
could declare entities that expand exponentially or read files.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple
from xml.parsers import expat

from orienteer.url import canonical_url

MAX_SITEMAP_BYTES = 50 << 20  # this and MAX_ENTRIES are the limits of the sitemap protocol
MAX_ENTRIES = 50_000
MAX_NODES = 1_000_000  # elements and attributes: twenty per entry

_MAX_DEPTH = 64
_MAX_TAG_BYTES = 256 << 10
_MAX_URL_CHARS = 1 << 15  # with surrounding white space; longer than any URL that canonical_url accepts
_MAX_GZIP_MEMBERS = 16
_BLOCK_BYTES = 128 << 10

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEFORE_TEXT = b" \t\r\n\0" + codecs.BOM_UTF8
_PLAIN_URL = re.compile(rb"https?://\S+")


class SitemapUrls(NamedTuple):
    """Canonical URLs in the order of the file, without duplicates."""

    pages: list[str]
    sitemaps: list[str]


def sitemap_urls(content: bytes, url: str) -> SitemapUrls:
    """Parse the sitemap at `url`, which is the base of relative URLs.

    >>> sitemap_urls(b"<urlset><url><loc> http://example.org/a </loc></url></urlset>", "http://example.org/sitemap.xml")
    SitemapUrls(pages=['http://example.org/a'], sitemaps=[])
    """
    blocks = _unpacked(content) if content.startswith(_GZIP_MAGIC) else _plain(content)
    first = next(blocks, b"")
    if not first.startswith(_UTF16_MARKS):
        first = first.lstrip(_BEFORE_TEXT)
    if not first.startswith((b"<", *_UTF16_MARKS)):
        return SitemapUrls(_canonical(_text_lines(b"".join((first, *blocks))), url), [])
    document = _document(chain((first,), blocks))
    urls = _canonical(document.urls, url)
    return SitemapUrls([], urls) if document.is_index else SitemapUrls(urls, [])


def _plain(content: bytes) -> Iterator[bytes]:
    for start in range(0, min(len(content), MAX_SITEMAP_BYTES), _BLOCK_BYTES):
        yield content[start : start + _BLOCK_BYTES]


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Yield the decompressed content up to the first error."""
    unpacker, n_members = zlib.decompressobj(zlib.MAX_WBITS | 16), 1
    n_bytes_left = MAX_SITEMAP_BYTES
    position, packed = 0, b""
    while n_bytes_left > 0:
        if not packed:
            packed = content[position : position + _BLOCK_BYTES]
            position += len(packed)
        n_block_bytes = min(_BLOCK_BYTES, n_bytes_left)
        try:
            block = unpacker.decompress(packed, n_block_bytes)
        except zlib.error:
            return
        if block:
            n_bytes_left -= len(block)
            yield block
        packed = unpacker.unconsumed_tail
        if unpacker.eof:
            packed = unpacker.unused_data
            unpacker, n_members = zlib.decompressobj(zlib.MAX_WBITS | 16), n_members + 1
        is_spent = not packed and position >= len(content) and len(block) < n_block_bytes
        if is_spent or n_members > _MAX_GZIP_MEMBERS:
            return


def _canonical(references: Iterable[str], url: str) -> list[str]:
    urls = dict.fromkeys(canonical_url(reference, url) for reference in references if reference)
    return [reference for reference in urls if reference is not None]


def _text_lines(content: bytes) -> Iterator[str]:
    for match in islice(_PLAIN_URL.finditer(content), MAX_ENTRIES):
        # A URL after other text on the line is not an entry.
        if content[match.start() - 1 : match.start()] in (b"", b"\r", b"\n"):
            yield match[0].decode("utf-8", "replace")


def _document(blocks: Iterator[bytes]) -> _SitemapDocument:
    first = next(blocks)
    document = _SitemapDocument()
    document.read(first)
    if document.is_encoding_unknown:
        # Such as GB 2312. Tags and URLs are ASCII in all encodings in use.
        document = _SitemapDocument("iso-8859-1")
        document.read(first)
    for block in blocks:
        if document.is_finished:
            break
        document.read(block)
    document.end()
    return document


class _StopParsing(Exception):
    """Raised by a handler to end parsing."""


class _SitemapDocument:
    """The handlers of the XML parser. `urls` are the references as written."""

    def __init__(self, encoding: str | None = None) -> None:
        self.urls: list[str] = []
        self.is_index = False
        self.is_finished = False
        self.is_encoding_unknown = False
        # Without namespace processing: prefixes distinguish pages from images, even if they are not declared.
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_root
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._start_doctype
        self._n_bytes = 0
        self._n_nodes = 0
        self._depth = 0
        self._url_element = ""  # the element with a URL ...
        self._is_in_attribute = False  # ... as its `href`, else as its text
        self._text = ""

    def read(self, block: bytes) -> None:
        self._n_bytes += len(block)
        self._parse(block, False)
        # The parser buffers an unfinished tag and scans it from its start with every block: quadratic time.
        self.is_finished |= self._n_bytes - self._parser.CurrentByteIndex > _MAX_TAG_BYTES

    def end(self) -> None:
        if not self.is_finished:
            self._parse(b"", True)

    def _parse(self, block: bytes, is_last: bool) -> None:
        try:
            self._parser.Parse(block, is_last)
        except (expat.ExpatError, _StopParsing):
            self.is_finished = True
        except (LookupError, ValueError):
            self.is_finished = self.is_encoding_unknown = True

    def _start_doctype(self, name: str, system: str | None, public: str | None, has_declarations: bool) -> None:
        if has_declarations:
            raise _StopParsing

    def _start_root(self, name: str, _: dict[str, str]) -> None:
        prefix, colon, kind = name.rpartition(":")
        kind = kind.lower()
        if kind in ("urlset", "sitemapindex"):
            self._url_element = f"{prefix}{colon}loc"
        elif kind in ("rss", "rdf"):
            self._url_element = "link"
        elif kind == "feed":
            self._url_element = f"{prefix}{colon}link"
        else:
            raise _StopParsing
        self.is_index = kind == "sitemapindex"
        self._is_in_attribute = kind == "feed"
        self._depth = 1
        self._parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._n_nodes += 1 + len(attributes)
        if self._depth > _MAX_DEPTH or self._n_nodes > MAX_NODES:
            raise _StopParsing
        if name == self._url_element:
            if not self._is_in_attribute:
                self._text = ""
                self._parser.CharacterDataHandler = self._add_text
            elif attributes.get("rel", "alternate") == "alternate":
                self._add(attributes.get("href", ""))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == self._url_element and not self._is_in_attribute:
            self._parser.CharacterDataHandler = None
            self._add(self._text)

    def _add_text(self, text: str) -> None:
        self._text += text
        if len(self._text) > _MAX_URL_CHARS:
            raise _StopParsing

    def _add(self, reference: str) -> None:
        self.urls.append(reference.strip())
        if len(self.urls) == MAX_ENTRIES:
            raise _StopParsing
