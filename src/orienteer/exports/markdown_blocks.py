"""Units of a page as Markdown blocks, nested in quotes and lists; lines with links, code, emphasis and images.

The text of a page is untrusted: Markdown and HTML syntax in it is escaped. Links have the schemes http, https or mailto
only. Emphasis that Markdown could not parse next to the adjacent characters is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from url import URL, URLError

from orienteer.exports.markdown_units import TABLE, TableRow, Unit, units_of
from orienteer.extract.blocks import (
    CAPTION,
    CODE,
    CODE_SPAN,
    EMPHASIS,
    FORMULA_SPAN,
    HEADING,
    IMAGE_SPAN,
    LINK,
    STRONG,
    TERM,
    Block,
    Item,
    List,
    Quote,
    Span,
)

_MAX_TARGET_CHARS = 4_000
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_SPECIAL = re.compile(r"[\\`*\[\]<~]|&(?=#?\w{1,32};|$)|(?<![^\W_])_|_(?![^\W_])|#$")
_SPECIAL_IN_TABLE = re.compile(_SPECIAL.pattern + r"|\|")
_SPECIAL_AT_START = re.compile(r"[#+>=-]|\d{1,9}(?=[.)])")
_TICKS = re.compile("`+")
_NOT_IN_TARGET = {"\\": "%5C", "|": "%7C", "<": "%3C", ">": "%3E", "`": "%60", "\n": "%0A", "\r": "%0D"}
_FENCE = re.compile("`{3,}")
_NOT_IN_TEX = (
    (re.compile("< *"), r"\\lt "),
    (re.compile("> *"), r"\\gt "),
    (re.compile(r"(?<!\\)\$"), r"\\$"),
    (re.compile(r"\| *"), r"\\vert "),  # in tables
)
_NOT_IN_CODE = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


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
        if span.kind == FORMULA_SPAN and not in_code:
            while self._next < len(self._spans) and self._spans[self._next].depth > span.depth:
                self._next += 1
            return formula(self._text[span.start : span.end], self._in_table)
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


def formula(text: str, in_table: bool = False) -> str:
    """Return TeX in dollar signs without what Markdown would read as HTML, a link, or code."""
    tex = text.strip("$ ").replace("](", "] (").replace("`", "'")
    for pattern, command in _NOT_IN_TEX[: None if in_table else -1]:
        tex = pattern.sub(command, tex)
    return f"${tex}$"


def markdown_of(blocks: Sequence[Block], base: str, mask: Sequence[bool] | None = None) -> str:
    """Return a page as Markdown; with `mask`, the selected blocks. References are relative to `base`."""
    return rendered(units_of(blocks, mask), base)


def rendered(units: Iterable[Unit], base: str) -> str:
    """Return units as Markdown, each a block of lines."""
    return _Writer(base).written(units)


class _Writer:
    def __init__(self, base: str) -> None:
        self._lines = LineWriter(base)
        self._markers: dict[Item, str] = {}  # of begun items
        self._marker_styles: dict[List, int] = {}
        self._n_lists = 0

    def written(self, units: Iterable[Unit]) -> str:
        out: list[str] = []
        last: Unit | None = None
        for unit in units:
            lines = self._unit_lines(unit)
            if not lines:
                continue
            begun = [one for one in unit.containers if isinstance(one, Item) and one not in self._markers]
            if last is not None and not self._is_tight(last, unit, begun):
                out.append(self._blank(last, unit))
            self._begin(unit, begun, last)
            first, following = self._prefixes(unit, begun)
            out.append(first + lines[0])
            out += [following + line if line else following.rstrip() for line in lines[1:]]
            last = unit
        return "\n".join(out) + "\n" if out else ""

    # Containers of a unit

    def _is_tight(self, last: Unit, unit: Unit, begun: list[Item]) -> bool:
        """Return whether an item directly follows the text of another, or begins a list inside it."""
        if len(begun) != 1 or last.kind in (TABLE, HEADING, CODE) or unit.containers[-1:] != (begun[0],):
            return False
        outer = unit.containers[:-1]
        if last.containers == outer:
            # A nested list; an ordered list that does not begin with 1 cannot interrupt a paragraph.
            items = begun[0].list
            return bool(outer) and isinstance(outer[-1], Item) and (not items.is_ordered or begun[0].number == 1)
        if last.containers[: len(outer)] != outer or len(last.containers) <= len(outer):
            return False
        previous = last.containers[len(outer)]
        return isinstance(previous, Item) and previous.list is begun[0].list

    def _blank(self, last: Unit, unit: Unit) -> str:
        n_same = 0
        for one, other in zip(last.containers, unit.containers, strict=False):
            if one is not other:
                break
            n_same += 1
        return "".join(map(self._indent, unit.containers[:n_same])).rstrip()

    def _indent(self, container: Quote | Item) -> str:
        return "> " if isinstance(container, Quote) else " " * len(self._markers[container])

    def _prefixes(self, unit: Unit, begun: list[Item]) -> tuple[str, str]:
        first = "".join([self._markers[one] if one in begun else self._indent(one) for one in unit.containers])
        return first, "".join(map(self._indent, unit.containers))

    def _begin(self, unit: Unit, begun: list[Item], last: Unit | None) -> None:
        for item in begun:
            if item.list not in self._marker_styles:
                # Adjacent lists alternate between two markers, or they would be one list.
                previous = self._previous_list(item, unit, last)
                self._marker_styles[item.list] = 0 if previous is None else 1 - self._marker_styles[previous]
            style = self._marker_styles[item.list]
            self._markers[item] = f"{item.number}{'.)'[style]} " if item.list.is_ordered else f"{'-*'[style]} "

    def _previous_list(self, item: Item, unit: Unit, last: Unit | None) -> List | None:
        """Return the list that ends directly before the list of this item."""
        if last is None:
            return None
        depth = unit.containers.index(item)
        if last.containers[:depth] != unit.containers[:depth] or len(last.containers) <= depth:
            return None
        previous = last.containers[depth]
        if not isinstance(previous, Item) or previous.list.is_ordered != item.list.is_ordered:
            return None
        if previous.list.is_of_definitions and item.list.is_of_definitions:
            return None  # generators often write a list for each term
        return previous.list

    # Contents of a unit

    def _unit_lines(self, unit: Unit) -> list[str]:
        if unit.kind == CODE:
            return _fenced(unit)
        if unit.kind == TABLE:
            return self._table_lines(unit)
        written = [self._lines.line(block.text, block.spans, len(unit.blocks) > 1) for block in unit.blocks]
        lines = [line for line in written if line]
        if unit.kind == HEADING:
            return ["#" * unit.blocks[0].level + " " + " ".join(lines)] if lines else []
        lines = [at_start(line) for line in lines]
        if unit.blocks[0].kind == TERM:
            lines = [_strong(line) for line in lines]
        elif unit.kind == CAPTION:
            lines = [_emphasised(line) for line in lines]
        return [line + "\\" for line in lines[:-1]] + lines[-1:]

    def _table_lines(self, unit: Unit) -> list[str]:
        width = len((unit.header or unit.rows[0]).cells) if unit.header or unit.rows else 0
        header = unit.header or TableRow([[] for _ in range(width)])
        lines = [self._row_line(header), "|" + " --- |" * width]
        return lines + [self._row_line(row) for row in unit.rows] if width else []

    def _row_line(self, row: TableRow) -> str:
        cells = ["<br>".join(filter(None, map(self._cell_line, cell))) for cell in row.cells]
        return "| " + " | ".join(cells) + " |"

    def _cell_line(self, block: Block) -> str:
        return self._lines.line(block.text, block.spans, in_table=True)


def _strong(line: str) -> str:
    return line if "*" in line else f"**{line}**"


def _emphasised(line: str) -> str:
    return line if "*" in line or "_" in line else f"*{line}*"


def _fenced(unit: Unit) -> list[str]:
    assert unit.code is not None
    text = _NOT_IN_CODE.sub("\ufffd", unit.code.text)
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return [fence + unit.code.language, *text.split("\n"), fence]
