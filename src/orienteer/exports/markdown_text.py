"""One line of a page as Markdown, with its links, code, emphasis and images.

The text of a page is untrusted: Markdown and HTML syntax in it is escaped. Links have the schemes http, https or mailto
only. Emphasis that Markdown could not parse next to the adjacent characters is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from url import URL, URLError

from orienteer.extract.blocks import CODE_SPAN, EMPHASIS, IMAGE_SPAN, LINK, STRONG, Span

_MAX_TARGET_CHARS = 4_000
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_SPECIAL = re.compile(r"[\\`*\[\]<~]|&(?=#?\w{1,32};|$)|(?<![^\W_])_|_(?![^\W_])|#$")
_SPECIAL_IN_TABLE = re.compile(_SPECIAL.pattern + r"|\|")
_SPECIAL_AT_START = re.compile(r"[#+>=-]|\d{1,9}(?=[.)])")
_TICKS = re.compile("`+")
_NOT_IN_TARGET = {"\\": "%5C", "|": "%7C", "<": "%3C", ">": "%3E", "`": "%60", "\n": "%0A", "\r": "%0D"}


def escaped(line: str) -> str:
    """Escape text for one line of Markdown."""
    return at_start(_escaped(_single_line(line)))


def at_start(line: str) -> str:
    """Escape the beginning of a line that would start a list, a quote or a heading."""
    first = _SPECIAL_AT_START.match(line)
    if first is None:
        return line
    # A backslash before a digit is literal; after the digits it escapes the list marker.
    return f"{first[0]}\\{line[first.end() :]}" if first[0].isdigit() else f"\\{line}"


def _single_line(text: str) -> str:
    return " ".join(_NOT_IN_TEXT.sub("\ufffd", text).split())


def _escaped(text: str, in_table: bool = False) -> str:
    return (_SPECIAL_IN_TABLE if in_table else _SPECIAL).sub(lambda found: f"\\{found[0]}", text)


@lru_cache(maxsize=1 << 12)
def target_of(reference: str, base: str) -> str:
    """Return the absolute URL of a reference, with its fragment, escaped for Markdown; "" if it is no valid link.

    >>> target_of("a b#c", "http://example.org/x/"), target_of("javascript:alert(1)", "http://example.org/")
    ('http://example.org/x/a%20b#c', '')
    """
    if len(reference) > _MAX_TARGET_CHARS:
        return ""
    try:
        target = str(URL.parse(base).join(reference))
    except (URLError, UnicodeError):
        return ""
    if not target.startswith(("http://", "https://", "mailto:")):
        return ""
    target = "".join([_NOT_IN_TARGET.get(char, char) for char in target])
    return f"<{target}>" if "(" in target or ")" in target or " " in target else target


class LineWriter:
    """Writes lines of a page whose references are relative to `base`."""

    def __init__(self, base: str) -> None:
        self._base = base

    def line(self, text: str, spans: Sequence[Span], in_table: bool = False) -> str:
        """Return a text with its spans, without white space at its ends."""
        if not spans:
            return _escaped(_single_line(text), in_table)
        return _Spans(_NOT_IN_TEXT.sub("\ufffd", text), _plain_spans(spans), self._base, in_table).written().strip(" ")


def _plain_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that Markdown can express: only links inside code, and adjacent code spans merged."""
    taken: list[Span] = []
    dropped: list[Span] = []  # that are still open
    code: Span | None = None
    for span in spans:
        dropped = [outer for outer in dropped if outer.depth < span.depth]
        if code is not None and span.depth <= code.depth:
            code = None
        if code is not None and span.kind in (EMPHASIS, STRONG):
            dropped.append(span)
            continue
        if dropped:
            span = span._replace(depth=span.depth - len(dropped))
        last = taken[-1] if taken else None
        if (
            last is not None
            and last.kind == span.kind == CODE_SPAN
            and (last.end, last.depth) == (span.start, span.depth)
        ):
            taken[-1] = last._replace(end=span.end)
        else:
            taken.append(span)
        if span.kind == CODE_SPAN:
            code = span
    return taken


class _Spans:
    def __init__(self, text: str, spans: list[Span], base: str, in_table: bool) -> None:
        self._text, self._spans, self._base, self._in_table = text, spans, base, in_table
        self._next = 0
        self._follows_image = False

    def written(self) -> str:
        return self._range(0, len(self._text), 0, in_code=False)

    def _range(self, start: int, end: int, depth: int, in_code: bool) -> str:
        """Return the text from start to end with its spans; spans of this depth do not overlap."""
        out: list[str] = []
        at = start
        while self._next < len(self._spans):
            span = self._spans[self._next]
            if span.depth < depth or span.start > end or span.start < at:
                break
            self._next += 1
            self._add(out, self._words(self._text[at : span.start], in_code))
            self._add(out, self._span(span, in_code), is_image=span.kind == IMAGE_SPAN)
            at = max(at, span.end)
        self._add(out, self._words(self._text[at:end], in_code))
        return "".join(out)

    def _add(self, out: list[str], piece: str, is_image: bool = False) -> None:
        """Append a piece; an image has a space on both sides, since its span has no characters of the text."""
        if piece:
            if out and (is_image or self._follows_image) and not (out[-1].endswith(" ") or piece.startswith(" ")):
                out.append(" ")
            if out and piece.startswith("[") and out[-1].endswith("!"):
                out[-1] = out[-1][:-1] + "\\!"  # or the link would be an image
            out.append(piece)
            self._follows_image = is_image

    def _words(self, text: str, in_code: bool) -> str:
        return code_span(text, self._in_table) if in_code else _escaped(text, self._in_table)

    def _span(self, span: Span, in_code: bool) -> str:
        if span.kind == IMAGE_SPAN:
            return self._image(span)
        inner = self._range(span.start, span.end, span.depth + 1, in_code or span.kind == CODE_SPAN)
        if span.kind == LINK:
            target = target_of(span.target, self._base)
            return f"[{inner}]({target})" if target and inner else inner
        if span.kind == CODE_SPAN or in_code or not inner:
            return inner
        return self._emphasised(span, inner)

    def _image(self, span: Span) -> str:
        alt, source = _escaped(_single_line(span.alt), self._in_table), target_of(span.target, self._base)
        return f"![{alt}]({source})" if source and not source.startswith("mailto:") else alt

    def _emphasised(self, span: Span, inner: str) -> str:
        before = self._text[span.start - 1] if span.start else " "
        after = self._text[span.end] if span.end < len(self._text) else " "
        if span.start == span.end:
            return inner
        if not (_can_flank(before, inner[0]) and _can_flank(after, inner[-1])):
            return inner
        if span.kind == STRONG:
            return inner if inner[0] == "*" or inner[-1] == "*" else f"**{inner}**"
        if span.kind == EMPHASIS and not (before.isalnum() or after.isalnum() or "_" in inner[0] + inner[-1]):
            return f"_{inner}_"
        return inner if inner[0] == "*" or inner[-1] == "*" else f"*{inner}*"


def _can_flank(outer: str, inner: str) -> bool:
    """Return whether Markdown treats a star between an outer and an inner character as a delimiter of emphasis."""
    return not inner.isspace() and (not _is_punctuation(inner) or outer.isspace() or _is_punctuation(outer))


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def code_span(text: str, in_table: bool = False) -> str:
    """Return text as inline code; white space at its ends stays outside."""
    code = text.strip(" ")
    if not code:
        return text
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if code[0] == "`" or code[-1] == "`" else ""
    before, after = text[: text.index(code[0])], text[len(text.rstrip(" ")) :]
    return before + ticks + pad + (code.replace("|", "\\|") if in_table else code) + pad + ticks + after
