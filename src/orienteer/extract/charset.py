"""The encoding of a page, chosen as browsers choose it."""

from __future__ import annotations

import codecs

from orienteer.extract.parser import detected_encoding, standard_encoding

_PIECE_BYTES = 1 << 20
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def charset_of(html: bytes, charset: str | None = None) -> str:
    """Return the encoding of a page: by its byte order mark, else the HTTP header's `charset`, else by detection.

    It is a name of the Encoding standard in lower case, such as "utf-8" or "windows-1252".

    >>> charset_of(b"<meta charset=latin1>"), charset_of(b"", "no such charset"), charset_of(b"caf\\xe9", "UTF8")
    ('windows-1252', 'utf-8', 'utf-8')
    """
    named = None if charset is None or html.startswith(_BYTE_ORDER_MARKS) else standard_encoding(charset)
    return (named or detected_encoding(html) or "utf-8").lower().removesuffix("-sig")


def decoded(html: bytes, charset: str | None = None) -> str:
    """Decode a page, without its byte order mark; bytes that cannot be decoded become U+FFFD."""
    return as_utf8(html, charset_of(html, charset)).decode()


def as_utf8(html: bytes, charset: str) -> bytes:
    """Convert a page from the encoding of `charset_of` to valid UTF-8 without a byte order mark."""
    if charset == "utf-8":
        html = html.removeprefix(codecs.BOM_UTF8)
        return html if _is_utf8(html) else html.decode(errors="replace").encode()
    return html.decode(f"whatwg-{charset}").removeprefix("\ufeff").encode(errors="replace")


def _is_utf8(html: bytes) -> bool:
    """Whether a page is valid UTF-8; decoded in pieces, since the text of a page takes up to four times its bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(html), _PIECE_BYTES):
            decoder.decode(html[start : start + _PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
