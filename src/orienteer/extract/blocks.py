"""A page as blocks: its lines as `Page.text` has them, each with what it is and where it stands.

The texts of the blocks, those that are empty left out, are the lines of `Page.text`, in their order. A block without a
text holds images alone.

What a block stands in is shared by all that stand there and linked upwards: elements with the words by which their
authors call them, and *containers*, which are those that a reader sees: quotes, items of lists, cells of tables. So a
page takes memory in proportion to its size, however deep it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

HEADING, PARAGRAPH, ITEM, TERM, CELL, CODE, CAPTION, IMAGE = (
    "heading", "paragraph", "item", "term", "cell", "code", "caption", "image",
)  # fmt: skip

# What a span of a text is.
LINK, CODE_SPAN, EMPHASIS, STRONG, IMAGE_SPAN = "link", "code", "emphasis", "strong", "image"


class Span(NamedTuple):
    """A part of a block's text: from start to end, in characters.

    Spans are in the order in which they begin, and `depth` is the number of spans that one stands in. A link has its
    target, an image its source, as the page writes them; an image is empty, and has an alternative text.
    """

    start: int
    end: int
    kind: str
    depth: int
    target: str = ""
    alt: str = ""


@dataclass(slots=True, eq=False)
class Element:
    """An element of the page that blocks stand in. `words` are those of its class, id and role, in lower case.

    `number` is its place among the elements of the page, in the order of their start tags; the page itself is 0.
    Elements that say nothing of structure (such as `span`) are none of these.
    """

    name: str
    parent: Element | None
    number: int
    depth: int
    words: str
    id: str
    place: Place
    marks: tuple[Mark, ...]  # the inline elements that text here stands in, the outermost first
    block: Element | None = None  # of an inline element: the innermost one around it that is not inline

    def path(self) -> list[str]:
        """The names of the elements around it and its own, from the page on."""
        return [element.name for element in self.chain()][::-1]

    def chain(self) -> Iterator[Element]:
        """It, and the elements around it, from the inside out."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent


class Mark(NamedTuple):
    """An inline element: the kind of span that its text is; of a link with its target."""

    kind: str
    target: str
    number: int  # tells it from its like


@dataclass(slots=True, eq=False)
class Place:
    """What text in an element is: the kind of block, and what it belongs to."""

    kind: str = PARAGRAPH
    level: int = 0  # of a heading
    container: Container | None = None
    code: Code | None = None
    list: List | None = None  # the innermost list or table that items or cells here are of
    table: Table | None = None


@dataclass(slots=True, eq=False)
class Quote:
    parent: Container | None
    depth: int  # containers around it


@dataclass(slots=True, eq=False)
class Item:
    """An item of a list; of a list of definitions, a term and what is said of it."""

    parent: Container | None
    depth: int
    list: List
    number: int  # in an ordered list


@dataclass(slots=True, eq=False)
class Cell:
    """A cell of a table; it may span several rows and columns. `column` counts the cells before it in the row."""

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
    last: Item | None = None  # of definitions: the one that is open


@dataclass(slots=True, eq=False)
class Table:
    n_rows: int = 0
    n_in_row: int = 0  # cells, in the last row
    cells: list[Cell] = field(default_factory=list)  # all of them, also those that are empty


@dataclass(slots=True, eq=False)
class Code:
    """Code as it is written. Its blocks share it: there are several where elements in it break lines.

    `is_numbering`: it is but the numbers of the lines beside it.
    """

    language: str
    is_numbering: bool = False
    parts: list[str] = field(default_factory=list)
    is_broken: bool = False  # an element that breaks lines began or ended last

    def add(self, text: str) -> None:
        """More of it. Where elements break a line that the text does not break itself, it is broken."""
        if self.is_broken and self.parts and not self.parts[-1].endswith("\n") and not text.startswith(("\n", "\r")):
            self.parts.append("\n")
        self.is_broken = False
        self.parts.append(text)

    @property
    def text(self) -> str:
        text = "".join(self.parts).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
        return text.rstrip().replace("\xa0", " ")


@dataclass(slots=True, eq=False)
class Block:
    """A line of a page; `element` is the innermost one that it stands in, but for inline ones.

    `anchor` is the fragment of a URL that leads here, "" where the page has none: of a heading its own `id`, that of an
    element in it, or of one that begins just before it; of any other block that of an element that begins with it.
    """

    kind: str
    text: str
    element: Element
    spans: Sequence[Span] = ()
    anchor: str = ""

    @property
    def level(self) -> int:
        """Of a heading, 1 to 6; of others 0."""
        return self.element.place.level

    @property
    def code(self) -> Code | None:
        return self.element.place.code

    @property
    def container(self) -> Container | None:
        return self.element.place.container

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
        """Those that it stands in, from the inside out."""
        container = self.container
        while container is not None:
            yield container
            container = container.parent


def text_of(blocks: Iterable[Block]) -> str:
    """The lines of these blocks: of all blocks of a page, its text."""
    return "\n".join(block.text for block in blocks if block.text)


def page_element() -> Element:
    """What everything on a page stands in."""
    return Element("html", None, 0, 0, "", "", Place(), ())


def blocks_of_text(text: str) -> list[Block]:
    """A text that is not of HTML: each line a paragraph."""
    page = page_element()
    return [Block(PARAGRAPH, line, page) for line in text.split("\n") if line]
