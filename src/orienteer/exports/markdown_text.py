"""One line of a page in Markdown: its words as they are, its links, code, emphasis and images as Markdown has them.

What a page says is text here: whatever Markdown or HTML would obey is escaped. Links lead to http, https or mailto, and
nowhere else. Where emphasis could not be told from the words beside it, it is left out.
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
_OBEYED = re.compile(r"[\\`*\[\]<~]|&(?=#?\w{1,32};|$)|(?<![^\W_])_|_(?![^\W_])|#$")
_OBEYED_IN_TABLE = re.compile(_OBEYED.pattern + r"|\|")
_OBEYED_FIRST = re.compile(r"[#+>=-]|\d{1,9}(?=[.)])")
_TICKS = re.compile("`+")
_NOT_IN_TARGET = {"\\": "%5C", "|": "%7C", "<": "%3C", ">": "%3E", "`": "%60", "\n": "%0A", "\r": "%0D"}


def escaped(line: str) -> str:
    """Text on one line that Markdown shows as it is."""
    return at_start(_escaped(_shown(line)))


def at_start(line: str) -> str:
    """A line of Markdown that begins with text, and not with a list or a heading."""
    first = _OBEYED_FIRST.match(line)
    if first is None:
        return line
    # Before a figure a backslash would stand as itself; behind it, it takes the list away.
    return f"{first[0]}\\{line[first.end() :]}" if first[0].isdigit() else f"\\{line}"


def _shown(text: str) -> str:
    return " ".join(_NOT_IN_TEXT.sub("\ufffd", text).split())


def _escaped(text: str, in_table: bool = False) -> str:
    return (_OBEYED_IN_TABLE if in_table else _OBEYED).sub(lambda found: f"\\{found[0]}", text)


@lru_cache(maxsize=1 << 12)
def target_of(reference: str, base: str) -> str:
    """The absolute URL of a reference, with its fragment, as it may stand in Markdown; "" where it leads nowhere.

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
    """Writes lines of a page whose references start from `base`."""

    def __init__(self, base: str) -> None:
        self._base = base

    def line(self, text: str, spans: Sequence[Span], in_table: bool = False) -> str:
        """A text with its spans; white space at its ends is gone."""
        if not spans:
            return _escaped(_shown(text), in_table)
        return _Spans(_NOT_IN_TEXT.sub("\ufffd", text), _plain_spans(spans), self._base, in_table).written().strip(" ")


def _plain_spans(spans: Sequence[Span]) -> list[Span]:
    """Spans as Markdown can have them: in code there are links alone, and code that meets other code is one with it."""
    taken: list[Span] = []
    left_out: list[Span] = []  # those that are open
    code: Span | None = None
    for span in spans:
        left_out = [one for one in left_out if one.depth < span.depth]
        if code is not None and span.depth <= code.depth:
            code = None
        if code is not None and span.kind in (EMPHASIS, STRONG):
            left_out.append(span)
            continue
        if left_out:
            span = span._replace(depth=span.depth - len(left_out))
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
        self._is_behind_image = False

    def written(self) -> str:
        return self._part(0, len(self._text), 0, in_code=False)

    def _part(self, start: int, end: int, depth: int, in_code: bool) -> str:
        """The text from start to end, with the spans in it: those of this depth come one after the other."""
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

    def _add(self, out: list[str], part: str, is_image: bool = False) -> None:
        """An image has no place among the characters of the text: there is a space on both sides of it."""
        if part:
            if out and (is_image or self._is_behind_image) and not (out[-1].endswith(" ") or part.startswith(" ")):
                out.append(" ")
            if out and part.startswith("[") and out[-1].endswith("!"):
                out[-1] = out[-1][:-1] + "\\!"  # or the link would be an image
            out.append(part)
            self._is_behind_image = is_image

    def _words(self, text: str, in_code: bool) -> str:
        return code_span(text, self._in_table) if in_code else _escaped(text, self._in_table)

    def _span(self, span: Span, in_code: bool) -> str:
        if span.kind == IMAGE_SPAN:
            return self._image(span)
        inner = self._part(span.start, span.end, span.depth + 1, in_code or span.kind == CODE_SPAN)
        if span.kind == LINK:
            target = target_of(span.target, self._base)
            return f"[{inner}]({target})" if target and inner else inner
        if span.kind == CODE_SPAN or in_code or not inner:
            return inner
        return self._emphasised(span, inner)

    def _image(self, span: Span) -> str:
        alt, source = _escaped(_shown(span.alt), self._in_table), target_of(span.target, self._base)
        return f"![{alt}]({source})" if source and not source.startswith("mailto:") else alt

    def _emphasised(self, span: Span, inner: str) -> str:
        before = self._text[span.start - 1] if span.start else " "
        behind = self._text[span.end] if span.end < len(self._text) else " "
        if span.start == span.end:
            return inner
        if not (_may_meet(before, inner[0]) and _may_meet(behind, inner[-1])):
            return inner
        if span.kind == STRONG:
            return inner if inner[0] == "*" or inner[-1] == "*" else f"**{inner}**"
        if span.kind == EMPHASIS and not (before.isalnum() or behind.isalnum() or "_" in inner[0] + inner[-1]):
            return f"_{inner}_"
        return inner if inner[0] == "*" or inner[-1] == "*" else f"*{inner}*"


def _may_meet(outer: str, inner: str) -> bool:
    """Whether a star between two characters, one outside and one inside, is seen as emphasis."""
    return not inner.isspace() and (not _is_punctuation(inner) or outer.isspace() or _is_punctuation(outer))


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def code_span(text: str, in_table: bool = False) -> str:
    """Text as inline code."""
    if not text.strip():
        return text
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1) if longest else "`"
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return ticks + pad + (text.replace("|", "\\|") if in_table else text) + pad + ticks
