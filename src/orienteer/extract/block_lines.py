"""The lines of a page, from the parts of its text: blocks, with their white space collapsed and the spans in them.

White space is collapsed as `whitespace.lines` does it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orienteer.extract.blocks import HEADING, IMAGE, IMAGE_SPAN, Block, Element, Mark, Span
from orienteer.extract.whitespace import BLOCK_MARK

_MAX_ANCHOR_CHARS = 500
_SPACES = re.compile("[ \t-\r\xa0]+")


class Image(NamedTuple):
    source: str
    alt: str


_Piece = tuple[str | Image, Element]


class Lines:
    """Parts of a text become lines."""

    def __init__(self, page: Element) -> None:
        self._blocks: list[Block] = []
        self._element = page
        self._pieces: list[_Piece] = []  # of the line; the first is not blank
        self._ids: list[Element] = []  # elements with an id that have begun since the last line
        self._last_number = 0  # of the elements that have begun

    def of(self, parts: list[str], places: list[int], changes: list[Element | Image | None]) -> list[Block]:
        """The blocks of a page. Changes take effect before the part at their place."""
        done = 0
        for place, change in zip(places, changes, strict=True):
            while done < place:
                self._add(parts[done])
                done += 1
            self._change(change)
        for part in parts[done:]:
            self._add(part)
        self._end()
        return stripped(self._blocks)

    def _change(self, change: Element | Image | None) -> None:
        if isinstance(change, Element):
            self._element = change
            if change.number > self._last_number:
                self._last_number = change.number
                if change.id:
                    self._ids.append(change)
            return
        code = self._element.place.code
        if change is not None:
            if code is None:
                self._pieces.append((change, self._element))
        elif code is not None:
            code.add("\n")

    def _add(self, part: str) -> None:
        if part == BLOCK_MARK:
            self._end_by_mark()
            return
        if "\0" in part:
            part = part.replace("\0", "")
        if BLOCK_MARK not in part:
            self._add_text(part)
            return
        for k, text in enumerate(part.split(BLOCK_MARK)):
            if k:
                self._end_by_mark()
            if text:
                self._add_text(text)

    def _add_text(self, text: str) -> None:
        code = self._element.place.code
        if code is not None:
            code.add(text)
        if self._pieces or _SPACES.fullmatch(text) is None:
            self._pieces.append((text, self._element))

    def _end_by_mark(self) -> None:
        code = self._element.place.code
        if code is not None:
            code.is_broken = True
        if self._pieces:
            self._end()

    def _end(self) -> None:
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        element = pieces[0][1]
        text, spans = _text_and_spans(pieces) if element.place.code is None else (_text(pieces), ())
        kind = element.place.kind if text else IMAGE
        self._blocks.append(Block(kind, text, element.block or element, spans, self._anchor(element)))
        if text:
            self._ids = []

    def _anchor(self, element: Element) -> str:
        if not self._ids:
            return ""
        chosen = self._ids[-1]
        if element.place.kind == HEADING:
            # That of the heading itself, or of what stands in it.
            chosen = next((one for one in self._ids if one.place is element.place), chosen)
        return chosen.id[:_MAX_ANCHOR_CHARS]


def _text(pieces: list[_Piece]) -> str:
    return _SPACES.sub(" ", "".join([piece for piece, _ in pieces if isinstance(piece, str)])).strip(" ")


def _text_and_spans(pieces: list[_Piece]) -> tuple[str, list[Span] | tuple[()]]:
    for piece, element in pieces:
        if element.marks or not isinstance(piece, str):
            break
    else:
        return _text(pieces), ()
    line = _Line()
    for piece, element in pieces:
        if isinstance(piece, Image):
            line.add_image(piece, element.marks)
        else:
            line.add(_SPACES.sub(" ", piece), element.marks)
    line.close(0)
    return "".join(line.texts), line.spans


class _Line:
    """White space at the ends of a span is not part of it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: list[Span] = []
        self._length = 0
        self._has_gap = False  # white space came last
        self._open: list[tuple[Mark, int]] = []  # with their places among the spans

    def add(self, text: str, marks: tuple[Mark, ...]) -> None:
        body = text.strip(" ")
        if not body:
            self._has_gap |= bool(text)
            return
        self._leave(marks)
        if (self._has_gap or text[0] == " ") and self._length:
            self.texts.append(" ")
            self._length += 1
        self._enter(marks)
        self.texts.append(body)
        self._length += len(body)
        self._has_gap = text[-1] == " "

    def add_image(self, image: Image, marks: tuple[Mark, ...]) -> None:
        self._leave(marks)
        self._enter(marks)
        self.spans.append(Span(self._length, self._length, IMAGE_SPAN, len(self._open), image.source, image.alt))

    def _leave(self, marks: tuple[Mark, ...]) -> None:
        n_same = 0
        for (mark, _), other in zip(self._open, marks, strict=False):
            if mark is not other:
                break
            n_same += 1
        self.close(n_same)

    def _enter(self, marks: tuple[Mark, ...]) -> None:
        for mark in marks[len(self._open) :]:
            span = Span(self._length, self._length, mark.kind, len(self._open), mark.target)
            self._open.append((mark, len(self.spans)))
            self.spans.append(span)

    def close(self, n_left: int) -> None:
        """Close the spans that are open, but for the first of them."""
        while len(self._open) > n_left:
            mark, at = self._open.pop()
            start = self.spans[at].start
            self.spans[at] = Span(start, self._length, mark.kind, len(self._open), mark.target)


def stripped(blocks: list[Block]) -> list[Block]:
    """Blocks of a page without the kinds of white space at its ends that are kept between words."""
    for block in blocks:
        if block.text:
            _cut(block, len(block.text) - len(block.text.lstrip()), len(block.text))
            if block.text:
                break
    return _rstripped(blocks)


def bounded(blocks: list[Block], max_chars: int) -> list[Block]:
    """The blocks whose texts are those of the first characters of the page."""
    kept, n_left = [], max_chars
    for block in blocks:
        if n_left <= 0:
            break
        if block.text:
            _cut(block, 0, n_left)
            n_left -= len(block.text) + 1
        kept.append(block)
    return _rstripped(kept)


def _rstripped(blocks: list[Block]) -> list[Block]:
    for block in reversed(blocks):
        if block.text:
            _cut(block, 0, len(block.text.rstrip()))
            if block.text:
                break
    return [block for block in blocks if block.text or block.kind == IMAGE]


def _cut(block: Block, start: int, end: int) -> None:
    if start == 0 and end >= len(block.text):
        return
    block.text = block.text[start:end]
    n = len(block.text)
    block.spans = [
        span._replace(start=min(max(span.start - start, 0), n), end=min(max(span.end - start, 0), n))
        for span in block.spans
    ]
