"""Read a page as blocks: as `reader`, with the kind and the context of each line.

The text has the same pieces as in `reader`. In addition, this reader records the positions at which another element
begins, which it knows from the notes of `markup`, and builds blocks from pieces and positions.

Time and memory are linear in the size of the page.
"""

from __future__ import annotations

from collections.abc import Iterator

from orienteer.extract.block_elements import INLINE, new_element
from orienteer.extract.block_lines import Image, LineBuilder
from orienteer.extract.blocks import Block, Element, blocks_of_text, page_element
from orienteer.extract.markup import FilteredPage, MarkupFilter
from orienteer.extract.markup_notes import CHANGE
from orienteer.extract.reader import BLOCK_NODES, BLOCKS, READ_WITH_TEXT, STARTS, PageReader, dispatch
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.whitespace import BLOCK_MARK

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
