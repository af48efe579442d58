"""Read a page as blocks: as `reader`, with the kind and the context of each line.

The text has the same pieces as in `reader`. In addition, this reader records the positions at which another element
begins, which it knows from the notes of `markup`, and builds blocks from pieces and positions.

Time and memory are linear in the size of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from orienteer.extract.block_elements import INLINE, new_element
from orienteer.extract.blocks import (
    HEADING,
    IMAGE,
    IMAGE_SPAN,
    Block,
    Element,
    Mark,
    Span,
    blocks_of_text,
    page_element,
)
from orienteer.extract.markup import FilteredPage, MarkupFilter
from orienteer.extract.markup_notes import CHANGE
from orienteer.extract.reader import BLOCK_NODES, BLOCKS, READ_WITH_TEXT, STARTS, PageReader, dispatch
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.whitespace import BLOCK_MARK

_MAX_ANCHOR_CHARS = 500
_SPACES = re.compile("[ \t-\r\xa0]+")


class Image(NamedTuple):
    source: str
    alt: str


_Piece = tuple[str | Image, Element]


class LineBuilder:
    """Builds blocks from pieces of text and changes of the current element."""

    def __init__(self, page: Element) -> None:
        self._blocks: list[Block] = []
        self._element = page
        self._pieces: list[_Piece] = []  # of the line; the first is not blank
        self._ids: list[Element] = []  # elements with an id that have begun since the last line
        self._last_number = 0  # of the elements that have begun

    def of(self, texts: list[str], positions: list[int], changes: list[Element | Image | None]) -> list[Block]:
        """Return the blocks of a page. A change takes effect before the text at its position."""
        done = 0
        for position, change in zip(positions, changes, strict=True):
            while done < position:
                self._add(texts[done])
                done += 1
            self._change(change)
        for text in texts[done:]:
            self._add(text)
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
        code = self._element.context.code
        if change is not None:
            if code is None:
                self._pieces.append((change, self._element))
        elif code is not None:
            code.add("\n")

    def _add(self, text: str) -> None:
        if text == BLOCK_MARK:
            self._end_by_mark()
            return
        if "\0" in text:
            text = text.replace("\0", "")
        if BLOCK_MARK not in text:
            self._add_text(text)
            return
        for k, line in enumerate(text.split(BLOCK_MARK)):
            if k:
                self._end_by_mark()
            if line:
                self._add_text(line)

    def _add_text(self, text: str) -> None:
        code = self._element.context.code
        if code is not None:
            code.add(text)
        if self._pieces or _SPACES.fullmatch(text) is None:
            self._pieces.append((text, self._element))

    def _end_by_mark(self) -> None:
        code = self._element.context.code
        if code is not None:
            code.is_broken = True
        if self._pieces:
            self._end()

    def _end(self) -> None:
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        element = pieces[0][1]
        text, spans = _text_and_spans(pieces) if element.context.code is None else (_text(pieces), ())
        kind = element.context.kind if text else IMAGE
        self._blocks.append(Block(kind, text, element.block or element, spans, self._anchor(element)))
        if text:
            self._ids = []

    def _anchor(self, element: Element) -> str:
        if not self._ids:
            return ""
        chosen = self._ids[-1]
        if element.context.kind == HEADING:
            # The id of the heading itself, or of an element in it.
            chosen = next((one for one in self._ids if one.context is element.context), chosen)
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
    """Builds the text and the spans of a line; spans exclude white space at their ends."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: list[Span] = []
        self._length = 0
        self._has_gap = False  # the last text ended with white space
        self._open: list[tuple[Mark, int]] = []  # with their indices in `spans`

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
        """Close open spans, except the first `n_left`."""
        while len(self._open) > n_left:
            mark, at = self._open.pop()
            start = self.spans[at].start
            self.spans[at] = Span(start, self._length, mark.kind, len(self._open), mark.target)


def stripped(blocks: list[Block]) -> list[Block]:
    """Return the blocks without Unicode white space at the ends of the page, which is not collapsed between words."""
    for block in blocks:
        if block.text:
            _cut(block, len(block.text) - len(block.text.lstrip()), len(block.text))
            if block.text:
                break
    return _rstripped(blocks)


def bounded(blocks: list[Block], max_chars: int) -> list[Block]:
    """Return the blocks of the first `max_chars` characters of the page."""
    first, n_left = [], max_chars
    for block in blocks:
        if n_left <= 0:
            break
        if block.text:
            _cut(block, 0, n_left)
            n_left -= len(block.text) + 1
        first.append(block)
    return _rstripped(first)


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


MAX_IMAGES = 10_000  # of a page
_MAX_ALT_CHARS = 1_000

_WITH_BLOCKS = MarkupFilter(
    READ_WITH_TEXT,
    BLOCKS,
    with_text=True,
    starts=("br",),
    nodes=(*BLOCK_NODES, *INLINE),
    nodes_if_id=("span",),
)
_BLOCKS_AND_FIELDS = _WITH_BLOCKS.with_fields()


def read_with_blocks(html: bytes, robot: str = OUR_NAME, with_fields: bool = False) -> BlockReader:
    """Read a page in UTF-8 with its blocks, and the rules for a robot of this name."""
    reader = BlockReader(robot, with_fields)
    dispatch((_BLOCKS_AND_FIELDS if with_fields else _WITH_BLOCKS).apply(html, reader.signs), reader)
    return reader


class BlockReader(PageReader):
    """A `PageReader` that also collects `blocks`."""

    def __init__(self, robot: str, with_fields: bool) -> None:
        super().__init__(True, robot, with_fields)
        self.blocks: list[Block] = []
        self._notes: Iterator[int] = iter(())
        self._elements = [page_element()]
        self._element = self._elements[0]
        # Changes of the current element, images, and None for the end of a line of code; with positions in the pieces.
        self._changes: list[Element | Image | None] = []
        self._places: list[int] = []
        self._n_images = 0

    def begin(self, filtered: FilteredPage) -> None:
        super().begin(filtered)
        self._notes = iter(filtered.notes.tolist())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str]]) -> None:
        note = next(self._notes)
        values = dict(attributes)
        start = STARTS.get(tag)
        if start is not None:
            start(self, values)
        elif tag in BLOCKS:
            self._pieces.append(BLOCK_MARK)
        element = self._elements[note >> 1]
        if note & 1:
            element = new_element(tag, values, element, len(self._elements))
            self._elements.append(element)
        if element is not self._element:
            self._enter(element)
        if tag == "img":
            self._add_image(values)
        elif tag == "br" and element.context.code is not None:
            self._changes.append(None)
            self._places.append(len(self._pieces) - 1)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == CHANGE:
            self._enter(self._elements[next(self._notes)])
        else:
            super().handle_endtag(tag)

    def _enter(self, element: Element) -> None:
        self._element = element
        self._changes.append(element)
        self._places.append(len(self._pieces))

    def _add_image(self, values: dict[str, str]) -> None:
        alt = " ".join(values.get("alt", "").split())[:_MAX_ALT_CHARS]
        if "alt" in values and not alt:
            return  # decorative, by the HTML standard
        if self._hidden is None and self._n_images < MAX_IMAGES:
            self._n_images += 1
            source = values.get("src") or values.get("data-src") or ""
            self._changes.append(Image(source.strip(), alt))
            self._places.append(len(self._pieces))

    def _discard_from(self, start: int) -> None:
        super()._discard_from(start)
        while self._places and self._places[-1] > start:
            self._places.pop()
            self._changes.pop()
        self._enter(self._element)

    def finish(self) -> None:
        super().finish()
        self.blocks = LineBuilder(self._elements[0]).of(self._pieces, self._places, self._changes)
        self.blocks += blocks_of_text(self.noscript_text)
