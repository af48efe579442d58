"""A page as blocks: the lines of `Page.text`, each with its kind and its context.

The non-empty texts of the blocks are the lines of `Page.text`, in order. A block without text has only images.

Contexts are shared between blocks and linked to their parents: elements, with the words of their class, id and role,
and *containers*, which are visible to readers: quotes, list items, table cells. So memory is linear in the size of the
page at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

HEADING, PARAGRAPH, ITEM, TERM, CELL, CODE, CAPTION, IMAGE = (
    "heading", "paragraph", "item", "term", "cell", "code", "caption", "image",
)  # fmt: skip

# Kinds of spans.
LINK, CODE_SPAN, EMPHASIS, STRONG, IMAGE_SPAN, FORMULA_SPAN = "link", "code", "emphasis", "strong", "image", "formula"


class Span(NamedTuple):
    """A range of a block's text, from start to end in characters.

    Spans are ordered by start, and `depth` is the number of enclosing spans. `target` is the target of a link or the
    source of an image, as written on the page; an image is an empty span with an alternative text.
    """

    start: int
    end: int
    kind: str
    depth: int
    target: str = ""
    alt: str = ""


@dataclass(slots=True, eq=False)
class Element:
    """An element that contains blocks. `words` are its class, id and role in lower case.

    `number` is its index among the elements of the page, in the order of start tags; the page itself is 0. Elements
    without structure (such as `span`) are omitted.
    """

    name: str
    parent: Element | None
    number: int
    depth: int
    words: str
    id: str
    context: BlockContext
    marks: tuple[Mark, ...]  # the enclosing inline elements of text here, the outermost first
    block: Element | None = None  # of an inline element: its innermost ancestor that is not inline

    def path(self) -> list[str]:
        """Return the names of its ancestors and its own, from the page on."""
        return [element.name for element in self.chain()][::-1]

    def chain(self) -> Iterator[Element]:
        """Yield the element and its ancestors, from the inside out."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent


class Mark(NamedTuple):
    """An inline element: the kind of its span, and the target of a link."""

    kind: str
    target: str
    number: int  # distinguishes equal marks of different elements


@dataclass(slots=True, eq=False)
class BlockContext:
    """The context of text in an element: the kind of block, and its enclosing structures."""

    kind: str = PARAGRAPH
    level: int = 0  # of a heading
    container: Container | None = None
    code: CodeText | None = None
    list: List | None = None  # the list that items here belong to
    table: Table | None = None


@dataclass(slots=True, eq=False)
class Quote:
    parent: Container | None
    depth: int  # number of enclosing containers


@dataclass(slots=True, eq=False)
class Item:
    """An item of a list; in a definition list, a term with its definitions."""

    parent: Container | None
    depth: int
    list: List
    number: int  # in an ordered list


@dataclass(slots=True, eq=False)
class Cell:
    """A cell of a table, which may span several rows and columns; `column` counts the cells before it in the row."""

    parent: Container | None
    depth: int
    table: Table
    row: int
    column: int
    is_header: bool
    n_rows: int = 1
    n_columns: int = 1


Container = Quote | Item | Cell


@dataclass(slots=True, eq=False)
class List:
    is_ordered: bool = False
    next_number: int = 1
    is_of_definitions: bool = False
    last: Item | None = None  # in a definition list: the open item


@dataclass(slots=True, eq=False)
class Table:
    n_rows: int = 0
    n_in_row: int = 0  # cells, in the last row
    cells: list[Cell] = field(default_factory=list)  # including empty ones


@dataclass(slots=True, eq=False)
class CodeText:
    """Preformatted code. It is shared by its blocks, of which there are several if elements in it break lines.

    `is_numbering`: it has only the line numbers of an adjacent code block.
    """

    language: str
    is_numbering: bool = False
    pieces: list[str] = field(default_factory=list)
    is_broken: bool = False  # a block element began or ended after the last text

    def add(self, text: str) -> None:
        """Append text, after a line break if a block element requires one and the text has none."""
        if self.is_broken and self.pieces and not self.pieces[-1].endswith("\n") and not text.startswith(("\n", "\r")):
            self.pieces.append("\n")
        self.is_broken = False
        self.pieces.append(text)

    @property
    def text(self) -> str:
        text = "".join(self.pieces).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
        return text.rstrip().replace("\xa0", " ")


@dataclass(slots=True, eq=False)
class Block:
    """A line of a page; `element` is its innermost enclosing element that is not inline.

    `anchor` is the URL fragment of this position, "" if there is none. For a heading it is its own `id`, that of an
    element in it, or of one that begins just before it; for other blocks that of an element that begins with the block.
    """

    kind: str
    text: str
    element: Element
    spans: Sequence[Span] = ()
    anchor: str = ""

    @property
    def level(self) -> int:
        """The level of a heading, 1 to 6; 0 for other blocks."""
        return self.element.context.level

    @property
    def code(self) -> CodeText | None:
        return self.element.context.code

    @property
    def container(self) -> Container | None:
        return self.element.context.container

    @property
    def n_linked(self) -> int:
        """The number of characters in links."""
        return sum(span.end - span.start for span in self.spans if span.kind == LINK)

    @property
    def quote_depth(self) -> int:
        return sum(isinstance(container, Quote) for container in self.containers())

    @property
    def list_depth(self) -> int:
        return sum(isinstance(container, Item) for container in self.containers())

    def containers(self) -> Iterator[Container]:
        """Yield the enclosing containers, from the inside out."""
        container = self.container
        while container is not None:
            yield container
            container = container.parent


def text_of(blocks: Iterable[Block]) -> str:
    """Return the text of blocks: for all blocks of a page, the text of the page."""
    return "\n".join(block.text for block in blocks if block.text)


def page_element() -> Element:
    """Return the root element of a page."""
    return Element("html", None, 0, 0, "", "", BlockContext(), ())


def blocks_of_text(text: str) -> list[Block]:
    """Return plain text as blocks: a block for each line, and paragraphs separated by empty lines."""
    page = page_element()
    blocks: list[Block] = []
    paragraph: Element | None = None
    for line in text.split("\n"):
        words = line.strip()
        if not words:
            paragraph = None
            continue
        if paragraph is None:
            paragraph = Element("p", page, len(blocks) + 1, 1, "", "", page.context, ())
        blocks.append(Block(PARAGRAPH, words, paragraph))
    return blocks
