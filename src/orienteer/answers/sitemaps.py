"""The URLs that a sitemap names.

Read are sitemaps and sitemap indexes in XML, with or without namespace, the links of RSS and Atom feeds, and plain text
with one URL a line; each may be gzipped. Of a broken one, what came before the break counts. Which hosts a sitemap may
speak for is not decided here.

Hostile ones stay cheap: no more than MAX_SITEMAP_BYTES are read (unpacked), MAX_ENTRIES entries and MAX_PARTS elements
and attributes; depth, the length of a tag and that of a URL are bounded; and the reading ends at a document type with
declarations of its own, where entities that blow up or fetch files would be declared.
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

MAX_SITEMAP_BYTES = 50 << 20  # as the protocol has it, and so the entries
MAX_ENTRIES = 50_000
MAX_PARTS = 1_000_000  # elements and attributes: twenty for each of so many entries

_MAX_DEPTH = 64
_MAX_TAG_BYTES = 256 << 10
_MAX_URL_CHARS = 1 << 15  # as written, with white space around it: more than canonical_url looks at
_MAX_GZIP_MEMBERS = 16
_BLOCK_BYTES = 128 << 10

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEFORE_TEXT = b" \t\r\n\0" + codecs.BOM_UTF8
_PLAIN_URL = re.compile(rb"https?://\S+")


class SitemapPart(NamedTuple):
    """Canonical URLs in the order they are named, without repeats."""

    pages: list[str]
    sitemaps: list[str]


def sitemap_urls(content: bytes, url: str) -> SitemapPart:
    """What the sitemap at `url` names; relative URLs start from there.

    >>> sitemap_urls(b"<urlset><url><loc> http://example.org/a </loc></url></urlset>", "http://example.org/sitemap.xml")
    SitemapPart(pages=['http://example.org/a'], sitemaps=[])
    """
    blocks = _unpacked(content) if content.startswith(_GZIP_MAGIC) else _plain(content)
    first = next(blocks, b"")
    if not first.startswith(_UTF16_MARKS):
        first = first.lstrip(_BEFORE_TEXT)
    if not first.startswith((b"<", *_UTF16_MARKS)):
        return SitemapPart(_canonical(_text_lines(b"".join((first, *blocks))), url), [])
    document = _document(chain((first,), blocks))
    urls = _canonical(document.found, url)
    return SitemapPart([], urls) if document.is_index else SitemapPart(urls, [])


def _plain(content: bytes) -> Iterator[bytes]:
    for start in range(0, min(len(content), MAX_SITEMAP_BYTES), _BLOCK_BYTES):
        yield content[start : start + _BLOCK_BYTES]


def _unpacked(content: bytes) -> Iterator[bytes]:
    """The content without its gzip coding, as far as it can be had."""
    unpacker, n_members = zlib.decompressobj(zlib.MAX_WBITS | 16), 1
    n_bytes_left = MAX_SITEMAP_BYTES
    position, packed = 0, b""
    while n_bytes_left > 0:
        if not packed:
            packed = content[position : position + _BLOCK_BYTES]
            position += len(packed)
        n_wanted = min(_BLOCK_BYTES, n_bytes_left)
        try:
            block = unpacker.decompress(packed, n_wanted)
        except zlib.error:
            return
        if block:
            n_bytes_left -= len(block)
            yield block
        packed = unpacker.unconsumed_tail
        if unpacker.eof:
            packed = unpacker.unused_data
            unpacker, n_members = zlib.decompressobj(zlib.MAX_WBITS | 16), n_members + 1
        is_spent = not packed and position >= len(content) and len(block) < n_wanted
        if is_spent or n_members > _MAX_GZIP_MEMBERS:
            return


def _canonical(references: Iterable[str], url: str) -> list[str]:
    found = dict.fromkeys(canonical_url(reference, url) for reference in references if reference)
    return [reference for reference in found if reference is not None]


def _text_lines(content: bytes) -> Iterator[str]:
    for match in islice(_PLAIN_URL.finditer(content), MAX_ENTRIES):
        # What stands before it on the line makes it a part of something else.
        if content[match.start() - 1 : match.start()] in (b"", b"\r", b"\n"):
            yield match[0].decode("utf-8", "replace")


def _document(blocks: Iterator[bytes]) -> _Document:
    first = next(blocks)
    document = _Document()
    document.read(first)
    if document.is_encoding_unknown:
        # Such as GB 2312. Tags and URLs are ASCII in all encodings that are in use.
        document = _Document("iso-8859-1")
        document.read(first)
    for block in blocks:
        if document.is_over:
            break
        document.read(block)
    document.end()
    return document


class _Enough(Exception):
    """Reading can or must end here."""


class _Document:
    """A sitemap or feed as the XML parser reads it. `found` are the URLs as written."""

    def __init__(self, encoding: str | None = None) -> None:
        self.found: list[str] = []
        self.is_index = False
        self.is_over = False
        self.is_encoding_unknown = False
        # Namespaces are not looked at: prefixes tell a page from its image, even where they are not declared.
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_root
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._start_doctype
        self._n_bytes = 0
        self._n_parts = 0
        self._depth = 0
        self._wanted = ""  # the element that holds a URL ...
        self._is_in_attribute = False  # ... as its `href`, or else as its text
        self._text = ""

    def read(self, block: bytes) -> None:
        self._n_bytes += len(block)
        self._parse(block, False)
        # The parser keeps an unfinished tag in memory and starts it anew with every block.
        self.is_over |= self._n_bytes - self._parser.CurrentByteIndex > _MAX_TAG_BYTES

    def end(self) -> None:
        if not self.is_over:
            self._parse(b"", True)

    def _parse(self, block: bytes, is_last: bool) -> None:
        try:
            self._parser.Parse(block, is_last)
        except (expat.ExpatError, _Enough):
            self.is_over = True
        except (LookupError, ValueError):
            self.is_over = self.is_encoding_unknown = True

    def _start_doctype(self, name: str, system: str | None, public: str | None, has_declarations: bool) -> None:
        if has_declarations:
            raise _Enough

    def _start_root(self, name: str, _: dict[str, str]) -> None:
        prefix, colon, kind = name.rpartition(":")
        kind = kind.lower()
        if kind in ("urlset", "sitemapindex"):
            self._wanted = f"{prefix}{colon}loc"
        elif kind in ("rss", "rdf"):
            self._wanted = "link"
        elif kind == "feed":
            self._wanted = f"{prefix}{colon}link"
        else:
            raise _Enough
        self.is_index = kind == "sitemapindex"
        self._is_in_attribute = kind == "feed"
        self._depth = 1
        self._parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._n_parts += 1 + len(attributes)
        if self._depth > _MAX_DEPTH or self._n_parts > MAX_PARTS:
            raise _Enough
        if name == self._wanted:
            if not self._is_in_attribute:
                self._text = ""
                self._parser.CharacterDataHandler = self._add_text
            elif attributes.get("rel", "alternate") == "alternate":
                self._add(attributes.get("href", ""))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == self._wanted and not self._is_in_attribute:
            self._parser.CharacterDataHandler = None
            self._add(self._text)

    def _add_text(self, text: str) -> None:
        self._text += text
        if len(self._text) > _MAX_URL_CHARS:
            raise _Enough

    def _add(self, reference: str) -> None:
        self.found.append(reference.strip())
        if len(self.found) == MAX_ENTRIES:
            raise _Enough
