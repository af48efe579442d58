"""Read the text of a page as blocks: its lines, each with its kind and its context.

A walk over the tree gives the texts with their elements, and the ends of lines. Time and memory are linear in the size
of the page.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orienteer.extract.block_elements import INLINE, attributes_of, new_element
from orienteer.extract.blocks import HEADING, IMAGE, IMAGE_SPAN, Block, Element, Mark, Span, page_element
from orienteer.extract.page_text import BLOCK_NODES, BLOCKS
from orienteer.extract.parser import Text, TreeElement

MAX_IMAGES = 10_000  # of a page
_MAX_ALT_CHARS = 1_000
_MAX_ANCHOR_CHARS = 500
_SPACES = re.compile("[ \t-\r\x1e\xa0]+")
_NODES = BLOCK_NODES.union(INLINE)


class Image(NamedTuple):
    source: str
    alt: str


_Piece = tuple[str | Image, Element]


def read_blocks(body: TreeElement) -> list[Block]:
    """Return the blocks of a page, whose hidden elements and permalinks have been removed."""
    lines = LineBuilder()
    nodes, elements = [body], [page_element()]  # the open ones of the tree, and what their texts belong to
    n_elements, n_images = 1, 0
    for node in body.descendants:
        parent = node.parent
        while parent is not nodes[-1]:
            element = elements.pop()
            if nodes.pop().tag in BLOCKS:
                lines.end(element)
        if isinstance(node, Text):
            lines.add(node.data, elements[-1])
        elif isinstance(node, TreeElement):
            tag, element = node.tag, elements[-1]
            if tag in BLOCKS:
                if tag == "br" and element.context.code is not None:
                    element.context.code.add("\n")
                lines.end(element)
            if tag in _NODES or (tag == "span" and node.attr("id") is not None):
                element = new_element(tag, attributes_of(node, tag), element, n_elements)
                lines.begin(element)
                n_elements += 1
            elif tag == "img" and n_images < MAX_IMAGES and (image := _image(node)):
                lines.add_image(image, element)
                n_images += 1
            nodes.append(node)
            elements.append(element)
    lines.end(elements[0])
    return stripped(lines.blocks)


def _image(node: TreeElement) -> Image | None:
    """Return an image; None if it is decorative, by the HTML standard."""
    stated = node.attr("alt")
    alt = " ".join((stated or "").split())[:_MAX_ALT_CHARS]
    if stated is not None and not alt:
        return None
    return Image((node.attr("src") or node.attr("data-src") or "").strip(), alt)


class LineBuilder:
    """Builds blocks from pieces of text with their elements."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._pieces: list[_Piece] = []  # of the line; the first is not blank
        self._ids: list[Element] = []  # elements with an id that have begun since the last line

    def begin(self, element: Element) -> None:
        if element.id:
            self._ids.append(element)

    def add(self, text: str, element: Element) -> None:
        code = element.context.code
        if code is not None:
            code.add(text)
        text = text.replace("\u00ad", "")  # the soft hyphen
        if text and (self._pieces or _SPACES.fullmatch(text) is None):
            self._pieces.append((text, element))

    def add_image(self, image: Image, element: Element) -> None:
        if element.context.code is None:
            self._pieces.append((image, element))

    def end(self, element: Element) -> None:
        """End the line, in this element."""
        if element.context.code is not None:
            element.context.code.is_broken = True
        if not self._pieces:
            return
        pieces, self._pieces = self._pieces, []
        element = pieces[0][1]
        text, spans = _text_and_spans(pieces) if element.context.code is None else (_text(pieces), ())
        kind = element.context.kind if text else IMAGE
        self.blocks.append(Block(kind, text, element.block or element, spans, self._anchor(element)))
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
