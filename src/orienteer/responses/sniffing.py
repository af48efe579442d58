"""The media type of a response as browsers determine it, from the Content-Type header and the first bytes.

This implements the part of the WHATWG MIME Sniffing standard that concerns pages. The header is trusted with two
exceptions: it is missing or meaningless (`unknown/unknown`, `*/*`), or it is plain text in exactly the form that old
versions of Apache sent for every file. `X-Content-Type-Options: nosniff` disables the detection of markup, but not the
distinction of text and binary data without a header.
"""

from __future__ import annotations

import re

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
