"""Parse the content of a response into a Page: HTML, plain text, documents; other types have no text and no links.

The media type is that which browsers determine from the Content-Type header and the first bytes. This implements the
part of the WHATWG MIME Sniffing standard that concerns pages. The header is trusted with two exceptions: it is missing
or meaningless (`unknown/unknown`, `*/*`), or it is plain text in exactly the form that old versions of Apache sent for
every file. `X-Content-Type-Options: nosniff` disables the detection of markup, but not the distinction of text and
binary data without a header.
"""

from __future__ import annotations

import re

from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.documents.document import TOO_MANY_LINKS as CUT
from orienteer.extract.documents.document import Document, DocumentReading, UnreadableDocumentError
from orienteer.extract.documents.kinds import READERS, XML_TYPES, is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.language import primary_language
from orienteer.extract.links import NOFOLLOW, TOO_MANY_LINKS, UNREADABLE, URL_TOO_LONG, resolved
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.page_fields import with_server_date
from orienteer.extract.parser import decoded
from orienteer.extract.robot_rules import OUR_NAME

SNIFFED_BYTES = 1445  # the length of the resource header in the standard

UNKNOWN_TYPES = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))

# The exact Content-Type values that old versions of Apache sent for unknown files.
_APACHE_DEFAULTS = frozenset((
    "text/plain",
    "text/plain; charset=ISO-8859-1",
    "text/plain; charset=iso-8859-1",
    "text/plain; charset=UTF-8",
))  # fmt: skip

_TEXT, _BINARY = "text/plain", "application/octet-stream"
_SPACE = b"\t\n\x0c\r "
_TAGS = (
    b"<!DOCTYPE HTML", b"<HTML", b"<HEAD", b"<SCRIPT", b"<IFRAME", b"<H1", b"<DIV", b"<FONT", b"<TABLE", b"<A",
    b"<STYLE", b"<TITLE", b"<B", b"<BODY", b"<BR", b"<P",
)  # fmt: skip
_HTML = re.compile(b"(?:" + b"|".join(map(re.escape, _TAGS)) + b")[ >]|<!--", re.IGNORECASE)
_BINARY_BYTES = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BYTE_ORDER_MARKS = (b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")

# Magic numbers; a dot matches any byte.
_BEGINNINGS = [
    (re.compile(beginning, re.DOTALL), kind)
    for beginning, kind in (
        (rb"%PDF-", "application/pdf"),
        (rb"%!PS-Adobe-", "application/postscript"),
        (rb"\x00\x00[\x01\x02]\x00", "image/x-icon"),
        (rb"BM", "image/bmp"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF....WEBPVP", "image/webp"),
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"FORM....AIFF", "audio/aiff"),
        (rb"ID3", "audio/mpeg"),
        (rb"OggS\x00", "application/ogg"),
        (rb"MThd\x00\x00\x00\x06", "audio/midi"),
        (rb"RIFF....AVI ", "video/avi"),
        (rb"RIFF....WAVE", "audio/wave"),
        (rb"....ftypmp4", "video/mp4"),
        (rb"\x1aE\xdf\xa3", "video/webm"),
        (rb"\x1f\x8b\x08", "application/x-gzip"),
        (rb"PK\x03\x04", "application/zip"),
        (rb"Rar \x1a\x07\x00", "application/x-rar-compressed"),
    )
]
HTML_TYPES = ("text/html", "application/xhtml+xml")
PLAIN_TEXT = "text/plain"
READ_TYPES = (*HTML_TYPES, PLAIN_TEXT, *READERS, *sorted(XML_TYPES))  # feeds are served as all kinds of XML


def sniffed_type(stated: str, nosniff: bool, head: bytes) -> str:
    """Return the media type that a browser would assume, in lower case and without parameters.

    `stated` is the value of the Content-Type header, "" without one; `head` is the content or its beginning, of which
    the first 1,445 bytes are used.

    >>> sniffed_type("", False, b" <html>"), sniffed_type("text/plain", False, b"\\x7fELF\\x00")
    ('text/html', 'application/octet-stream')
    """
    head = head[:SNIFFED_BYTES]
    kind = stated.partition(";")[0].strip("\t\n\r ").lower()
    if "/" not in kind or kind in UNKNOWN_TYPES:
        return _unknown(head, looks_for_markup=not nosniff)
    if not nosniff and stated in _APACHE_DEFAULTS:
        return _text_or_binary(head)
    return kind


def is_xml(kind: str) -> bool:
    """Whether a media type is XML, including XHTML.

    >>> is_xml("application/xhtml+xml"), is_xml("text/xml"), is_xml("text/html")
    (True, True, False)
    """
    return kind.endswith("+xml") or kind in ("text/xml", "application/xml")


def _unknown(head: bytes, looks_for_markup: bool) -> str:
    """Sniff the type of a content without a meaningful header."""
    text = head.lstrip(_SPACE)
    if looks_for_markup:
        if _HTML.match(text):
            return "text/html"
        if text.startswith(b"<?xml"):
            return "text/xml"
        if head.startswith(b"%PDF-"):
            return "application/pdf"
    if head.startswith(b"%!PS-Adobe-"):
        return "application/postscript"
    if _has_byte_order_mark(head):
        return _TEXT
    for beginning, kind in _BEGINNINGS:
        if beginning.match(head):
            return kind
    return _BINARY if _BINARY_BYTES.search(head) else _TEXT


def _text_or_binary(head: bytes) -> str:
    if _has_byte_order_mark(head) or not _BINARY_BYTES.search(head):
        return _TEXT
    return _BINARY


def _has_byte_order_mark(head: bytes) -> bool:
    return head.startswith(_BYTE_ORDER_MARKS)


def is_html(content_type: str) -> bool:
    """Whether this media type is parsed as HTML; a page without a type is."""
    return content_type in ("", *HTML_TYPES)


def may_hold_links(content_type: str) -> bool:
    """Whether a file of this type may have links although it is not parsed: XML, SVG and documents."""
    return (is_xml(content_type) and content_type not in HTML_TYPES) or is_document(content_type)


def read_page(
    content: bytes,
    url: str,
    content_type: str,
    charset: str | None = None,
    robots_header: str = "",
    with_text: bool = True,
    refresh_header: str = "",
    now: float | None = None,
    robot: str = OUR_NAME,
    with_fields: bool = False,
    last_modified: str = "",
    documents: DocumentReading = read_document,
    with_blocks: bool = False,
    with_scores: bool = False,
) -> Page:
    """Parse a page; `charset` is from the Content-Type header, `robots_header` is X-Robots-Tag.

    `now` is the time for `unavailable_after`, `robot` our name in robots rules. With fields, the Last-Modified header
    is used if the page has no modification date. `documents` parses documents, by default in a separate process; it
    raises an UnreadableDocumentError with the reason if that fails.
    """
    if is_document(content_type):
        if not content:
            raise UnreadableDocumentError("it is empty")
        page = extract_page(b"", url, None, robots_header, with_text=False, now=now, robot=robot)
        _add_document(page, documents(content, content_type), url, with_text)
    else:
        html = content if is_html(content_type) else b""
        page = extract_page(
            html, url, charset, robots_header, with_text, refresh_header, now, robot, with_fields, with_blocks,
            with_scores,
        )  # fmt: skip
    if content_type == PLAIN_TEXT and with_text:
        # A form feed marks a new page in documents; in plain text it does not.
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS].replace("\f", "\n")
    if with_blocks and not page.blocks:
        page.blocks = blocks_of_text(page.text)
    if with_fields:
        page.fields = with_server_date(page.fields, last_modified)
    return page


def _add_document(page: Page, document: Document, url: str, with_text: bool) -> None:
    """Fill the empty page of a document; its references become links, as for HTML."""
    found = resolved(document.references, url, "utf-8")
    links = list(dict.fromkeys(found.links.values()))
    missing = {
        TOO_MANY_LINKS: found.is_cut or document.missing == CUT,
        URL_TOO_LONG: bool(found.too_long),
        UNREADABLE: bool(document.missing) and document.missing != CUT,
        NOFOLLOW: page.nofollow and bool(links),
    }
    page.unknown_links = tuple(why for why, is_so in missing.items() if is_so)
    page.too_long = found.too_long
    page.title, page.language = document.title, primary_language(document.language)
    if page.nofollow:
        page.nofollow_links = tuple(links)
    else:
        page.links = links
    if with_text:
        followed = set(page.links) - {url}
        page.text, page.headings = document.text, list(document.headings)
        anchors = ((found.links.get(reference), words) for reference, words in document.anchors)
        page.anchors = [(link, words) for link, words in anchors if link is not None and link in followed]
