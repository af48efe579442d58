"""The media types of pages and documents, and the detection of documents by content.

The reader of a type is a function `read(content) -> Document` in a module of this package, which is imported only in
the process that reads documents.
"""

from __future__ import annotations

import re

_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."

READERS = {
    "application/pdf": "pdf:read",
    "application/x-pdf": "pdf:read",
    f"{_OOXML}wordprocessingml.document": "office:read_word",
    f"{_OOXML}wordprocessingml.template": "office:read_word",
    "application/vnd.ms-word.document.macroenabled.12": "office:read_word",
    f"{_OOXML}presentationml.presentation": "office:read_slides",
    f"{_OOXML}presentationml.slideshow": "office:read_slides",
    "application/vnd.ms-powerpoint.presentation.macroenabled.12": "office:read_slides",
    f"{_OOXML}spreadsheetml.sheet": "office:read_sheets",
    "application/vnd.ms-excel.sheet.macroenabled.12": "office:read_sheets",
    f"{_ODF}text": "office:read_opendocument",
    f"{_ODF}presentation": "office:read_opendocument",
    f"{_ODF}spreadsheet": "office:read_opendocument",
    "application/epub+zip": "epub:read",
    "application/rss+xml": "feed:read",
    "application/atom+xml": "feed:read",
}

# Types that servers state for unknown files, and for Office documents, which are zip files.
UNTYPED = frozenset((
    "application/octet-stream", "binary/octet-stream", "application/binary", "application/x-download",
    "application/download", "application/force-download", "application/zip", "application/x-zip-compressed",
))  # fmt: skip
XML_TYPES = frozenset(("text/xml", "application/xml", "application/rdf+xml"))
HTML_TYPES = ("text/html", "application/xhtml+xml")
PLAIN_TEXT = "text/plain"
READ_TYPES = (*HTML_TYPES, PLAIN_TEXT, *READERS, *sorted(XML_TYPES))  # feeds are served as all kinds of XML

# The first entry of a zip file that may be a document.
_FIRST_ENTRY = re.compile(
    rb"PK\x03\x04.{26}(?:mimetype|\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/|ppt/|META-INF/)", re.DOTALL
)
_STATED_INSIDE = re.compile(
    rb"mimetype.{0,60}?(application/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+))", re.DOTALL
)
_FOLDERS = ((b"word/", "wordprocessingml.document"), (b"ppt/", "presentationml.presentation"),
          (b"xl/", "spreadsheetml.sheet"))  # fmt: skip
_FEED = re.compile(rb"<(?:[\w.-]+:)?(rss|feed|RDF)[\s>]")
_BEFORE_FEED = re.compile(rb"\s*(?:<\?[^>]*>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*>\s*)*", re.DOTALL)
_TAIL_BYTES = 1 << 16  # at the end of a zip file, which has the names of its entries


def is_document(media_type: str) -> bool:
    """Whether pages of this type are read as documents."""
    return media_type in READERS


def may_be_document(head: bytes) -> bool:
    """Whether a file with these first bytes (64 are enough) may be a document, whatever its stated type."""
    return head.startswith(b"%PDF-") or _FIRST_ENTRY.match(head) is not None


def document_type(stated: str, content: bytes) -> str:
    """Return the type of a document by its content if the stated type is generic; else the stated type.

    >>> document_type("application/octet-stream", b"%PDF-1.7 ..."), document_type("text/xml", b"<rss version='2.0'>")
    ('application/pdf', 'application/rss+xml')
    """
    if stated in UNTYPED:
        return _by_magic(content) or stated
    if stated in XML_TYPES:
        return _feed_type(content) or stated
    return stated


def _by_magic(content: bytes) -> str:
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    if not content.startswith(b"PK\x03\x04"):
        return ""
    inside = _STATED_INSIDE.search(content, 30, 200)
    if inside is not None:
        stated = inside[1].decode()
        return stated if stated in READERS else ""
    names = content[-_TAIL_BYTES:]
    if b"[Content_Types].xml" in names or b"[Content_Types].xml" in content[:_TAIL_BYTES]:
        for folder, kind in _FOLDERS:
            if folder in names:
                return _OOXML + kind
    return ""


def _feed_type(content: bytes) -> str:
    start = content[:4096].removeprefix(b"\xef\xbb\xbf")
    before = _BEFORE_FEED.match(start)
    root = _FEED.match(start, before.end() if before else 0)
    if root is None or (root[1] == b"RDF" and b"http://purl.org/rss/1.0/" not in start):
        return ""
    return "application/atom+xml" if root[1] == b"feed" else "application/rss+xml"
