"""Decode and tokenize pages: the one module that imports turbohtml.

The encoding of a page is chosen as browsers choose it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

from turbohtml import Document, Namespace, Text, Token, TokenType, parse, tokenize
from turbohtml import Element as TreeElement
from turbohtml.detect import detect

__all__ = [
    "Document", "Namespace", "Tag", "Text", "Token", "TokenType", "TreeElement", "charset_of", "decoded", "parsed",
    "tokens", "utf8_and_text",
]  # fmt: skip

_NO_ASCII = ("iso-2022-jp", "replacement", "utf-16be", "utf-16le")  # encodings where bytes of ASCII may mean others
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Tag(Protocol):
    """An element of a tree, or a start tag."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute, "" if it has none; None if there is no such attribute."""


def parsed(html: bytes | str) -> Document:
    """Return the tree of a page, as in a browser without scripts. Shadow trees stay in their templates.

    Bytes are UTF-8; text is parsed faster.
    """
    return parse(html, encoding="utf-8", positions=False, allow_declarative_shadow_roots=False)


def tokens(html: str) -> Iterator[Token]:
    """Yield the tokens of a page. The content of `script`, `style`, `noscript` and the like is one text."""
    return tokenize(html)


def charset_of(html: bytes, charset: str | None = None) -> str:
    """Return the encoding of a page: by its byte order mark, else the HTTP header's `charset`, else by detection.

    It is a name of the Encoding standard in lower case, such as "utf-8" or "windows-1252".

    >>> charset_of(b"<meta charset=latin1>"), charset_of(b"", "no such charset"), charset_of(b"caf\\xe9", "UTF8")
    ('windows-1252', 'utf-8', 'utf-8')
    """
    named = None if charset is None or html.startswith(_BYTE_ORDER_MARKS) else _standard_name(charset)
    return named or (detect(html).encoding or "utf-8").lower().removesuffix("-sig")


def decoded(html: bytes, charset: str | None = None) -> str:
    """Decode a page, without its byte order mark; bytes that cannot be decoded become U+FFFD."""
    return utf8_and_text(html, charset_of(html, charset))[1]


def utf8_and_text(html: bytes, charset: str) -> tuple[bytes, str]:
    """Convert a page from the encoding of `charset_of` to valid UTF-8 and to text, without a byte order mark."""
    if html.isascii() and charset not in _NO_ASCII:
        return html, html.decode()
    if charset == "utf-8":
        html = html.removeprefix(codecs.BOM_UTF8)
        try:
            return html, html.decode()
        except UnicodeDecodeError:
            text = html.decode(errors="replace")
            return text.encode(), text
    html = html.decode(f"whatwg-{charset}").removeprefix("\ufeff").encode(errors="replace")
    return html, html.decode()


@lru_cache(maxsize=64)
def _standard_name(label: str) -> str | None:
    """Return the encoding of a label by the Encoding standard; None for an unknown label."""
    # Python's codec registry would cache all labels for good, including the ones that servers make up.
    try:
        name = parse(b"", encoding=label).encoding
    except (LookupError, ValueError):
        return None
    return None if name is None else name.lower()
