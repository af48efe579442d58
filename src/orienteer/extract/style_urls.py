"""Find the URLs in a style sheet that a browser would fetch: url(), @import, image-set().

A single pass over the tokens of CSS, in linear time, with the comments, strings, escapes and nesting of CSS Syntax
Level 3. URLs in the preludes of other at-rules than @import (@namespace, @document) are names that are not fetched.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from orienteer.extract.charset import as_utf8, charset_of

MAX_NESTING = 200  # of brackets whose kinds are tracked

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_STATED = re.compile(rb'@charset "([^"\n]{1,40})";')

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = {
    quote: re.compile(rf"{quote}((?:[^{quote}\\\n\r\f]|\\(?:\r\n|.|\Z))*+)(?:{quote}|\Z|(?=[\n\r\f]))", re.DOTALL)
    for quote in "\"'"
}
_SPACE = r"[ \t\n\r\f]"
_HEX_ESCAPE = rf"\\[0-9a-fA-F]{{1,6}}(?:\r\n|{_SPACE})?"
_UNQUOTED = re.compile(
    rf"{_SPACE}*+((?:[^ \t\n\r\f\"'()\\\x00-\x08\x0b\x0e-\x1f\x7f]|{_HEX_ESCAPE}|\\[^\n\r\f])*+){_SPACE}*+(?:\)|\Z)"
)
_BAD_URL_REST = re.compile(r"(?:[^)\\]|\\.|\\\Z)*+(?:\)|\Z)", re.DOTALL)
_BEFORE_STRING = re.compile(r"[ \t\n\r\f]*+(?=[\"'])")
_NEXT = re.compile(
    r"/\*|[\"'(){};\[\]]|\\.|@[\w\\-]++|(?<![\w\\-])(?:url|(?:-webkit-)?image-set)\(", re.IGNORECASE | re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|(.)|\Z)", re.DOTALL)

_OTHER, _IMAGES = range(2)  # kinds of brackets: any, and that of image-set


def style_text(content: bytes, charset: str | None = None) -> str:
    """Decode a style sheet; `charset` is that of the HTTP header."""
    if not content.startswith(_BYTE_ORDER_MARKS):
        stated = None if charset else _STATED.match(content)
        charset = charset or (stated[1].decode("latin-1") if stated else "utf-8")
        if stated and charset.lower().startswith("utf-16"):
            charset = "utf-8"  # the rule was readable as ASCII, so it cannot be UTF-16
    return as_utf8(content, charset_of(content, charset)).decode()


def style_urls(style: str) -> Iterator[str]:
    """Yield the URLs of a style sheet as written, without escapes, in order, with repeats.

    >>> list(style_urls("@import 'a.css'; b { background: url( c\\\\20 d.png ) } /* url(e) */"))
    ['a.css', 'c d.png']
    """
    at, end = 0, len(style)
    brackets: list[int] = []
    rule = ""  # the at-rule whose prelude is being read
    while at < end:
        found = _NEXT.search(style, at)
        if found is None:
            return
        token, at = found[0], found.end()
        if token == "/*":
            at = _end(_COMMENT, style, found.start())
        elif token in "\"'":
            string = _STRING[token].match(style, found.start())
            assert string is not None
            at = max(string.end(), at)
            is_named = rule == "@import" and not brackets
            if is_named or (not rule and brackets and brackets[-1] == _IMAGES):
                yield _unescaped(string[1])
            rule = _after_name(rule) if is_named else rule
        elif token[0] == "\\":
            continue  # an escaped character opens and closes nothing
        elif token[0] == "@":
            rule = token.lower()
        elif token.lower() == "url(":
            reference, at = _url(style, at)
            if reference is not None and (not rule or (rule == "@import" and not brackets)):
                yield reference
                rule = _after_name(rule)
        elif token[-1] == "(" or token == "[":
            if len(brackets) < MAX_NESTING:
                brackets.append(_IMAGES if len(token) > 1 else _OTHER)
        elif token in ")]":
            if brackets:
                brackets.pop()
        elif token in "{};":
            rule = ""
            brackets.clear()


def _after_name(rule: str) -> str:
    """Return the state after the URL of an @import: what follows (layer, supports, media) has no URLs."""
    return "@import-rest" if rule == "@import" else rule


def _url(style: str, at: int) -> tuple[str | None, int]:
    """Return the content of url() and its end; None if it is no URL."""
    quoted = _BEFORE_STRING.match(style, at)
    if quoted is not None:
        string = _STRING[style[quoted.end()]].match(style, quoted.end())
        assert string is not None
        return _unescaped(string[1]), _end(_BAD_URL_REST, style, string.end())
    plain = _UNQUOTED.match(style, at)
    if plain is not None:
        return _unescaped(plain[1]), plain.end()
    return None, _end(_BAD_URL_REST, style, at)


def _end(pattern: re.Pattern[str], style: str, at: int) -> int:
    found = pattern.match(style, at)
    return len(style) if found is None else found.end()


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_unescaped_character, text) if "\\" in text else text


def _unescaped_character(escape: re.Match[str]) -> str:
    number, line_end, plain = escape[1], escape[2], escape[3]
    if number is not None:
        code = int(number, 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return "" if line_end is not None else plain or ""
