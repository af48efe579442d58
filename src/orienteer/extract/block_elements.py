"""What elements make of the text in them: headings, items, cells, quotes, code; links and emphasis.

An element takes what it says of itself from the one around it, so that no line has to look for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orienteer.extract.blocks import (
    CAPTION,
    CELL,
    CODE,
    CODE_SPAN,
    EMPHASIS,
    HEADING,
    ITEM,
    LINK,
    PARAGRAPH,
    STRONG,
    TERM,
    Cell,
    Code,
    Container,
    Element,
    Item,
    List,
    Mark,
    Place,
    Quote,
    Table,
)  # fmt: skip
from orienteer.extract.code_language import language_of

MAX_CONTAINERS = 24  # in one another; what is deeper stands in the last of them
_MAX_WORDS_CHARS = 400
_MAX_SPANNED = 100  # rows and columns that a cell spans
_MAX_NUMBER = 999_999_999  # of an item; Markdown takes no more figures
_N_AROUND_CODE = 3  # elements that may name its language

_MARKS = {
    "a": LINK, "b": STRONG, "code": CODE_SPAN, "em": EMPHASIS, "i": EMPHASIS, "kbd": CODE_SPAN, "samp": CODE_SPAN,
    "strong": STRONG, "tt": CODE_SPAN,
}  # fmt: skip
INLINE = tuple(_MARKS)

_NUMBERING = re.compile(r"(?:^|\s)(?:linenos|linenodiv|lineno|gutter|line-?numbers|blob-num)(?:\s|$)")
_Values = dict[str, str]


def new_element(name: str, values: _Values, parent: Element, number: int) -> Element:
    """The element of a start tag, with the values of its attributes."""
    own_id, words = values.get("id", ""), ""
    if values:
        words = f"{values.get('class', '')} {own_id} {values.get('role', '')}"[:_MAX_WORDS_CHARS].strip().lower()
        if name == "a":
            own_id = own_id or values.get("name", "")
    place, marks, block = parent.place, parent.marks, None
    if name in _MARKS or name == "span":
        block = parent.block or parent
    if name in _MARKS:
        if place.code is None:
            marks = _marked(_MARKS[name], values, marks, number)
        elif name == "code" and not place.code.language:
            place.code.language = language_of(words, values)
    elif name in _PLACES:
        place = _PLACES[name](name, values, parent, words)
    return Element(name, parent, number, parent.depth + 1, words, own_id, place, marks, block)


def _marked(kind: str, values: _Values, marks: tuple[Mark, ...], number: int) -> tuple[Mark, ...]:
    """These marks, and one more unless there is one of its kind; so there are few."""
    for mark in marks:
        if mark.kind == kind:
            return marks
    if kind != LINK:
        return (*marks, Mark(kind, "", number))
    target = values.get("href")
    return marks if target is None else (*marks, Mark(LINK, target.strip(), number))


def _heading(name: str, values: _Values, parent: Element, words: str) -> Place:
    place = parent.place
    return Place(HEADING, int(name[1]), place.container, None, place.list, place.table)


def _caption(name: str, values: _Values, parent: Element, words: str) -> Place:
    return _within(parent.place, CAPTION, parent.place.container)


def _quote(name: str, values: _Values, parent: Element, words: str) -> Place:
    depth, around = _container_depth(parent.place), parent.place.container
    container = Quote(around, depth) if depth < MAX_CONTAINERS else around
    return _within(parent.place, PARAGRAPH, container)


def _list(name: str, values: _Values, parent: Element, words: str) -> Place:
    place, is_ordered = parent.place, name == "ol"
    items = List(is_ordered, _number(values.get("start"), 1, 0) if is_ordered else 1, name == "dl")
    return Place(place.kind, place.level, place.container, place.code, items, place.table)


def _item(name: str, values: _Values, parent: Element, words: str) -> Place:
    place = parent.place
    items = place.list or List()
    number = _number(values.get("value"), items.next_number, 0) if items.is_ordered else 1
    items.next_number = min(number + 1, _MAX_NUMBER)
    return _within(place, ITEM, _item_of(place, items, number))


def _term(name: str, values: _Values, parent: Element, words: str) -> Place:
    items = parent.place.list or List()
    container = _item_of(parent.place, items, 1)
    items.last = container if isinstance(container, Item) else None
    return _within(parent.place, TERM, container)


def _definition(name: str, values: _Values, parent: Element, words: str) -> Place:
    items = parent.place.list or List()
    container = items.last or _item_of(parent.place, items, 1)
    return _within(parent.place, ITEM, container)


def _item_of(place: Place, items: List, number: int) -> Container | None:
    depth = _container_depth(place)
    return Item(place.container, depth, items, number) if depth < MAX_CONTAINERS else place.container


def _table(name: str, values: _Values, parent: Element, words: str) -> Place:
    place = parent.place
    return Place(place.kind, place.level, place.container, place.code, None, Table())


def _row(name: str, values: _Values, parent: Element, words: str) -> Place:
    table = parent.place.table
    if table is not None:
        table.n_rows, table.n_in_row = table.n_rows + 1, 0
    return parent.place


def _cell(name: str, values: _Values, parent: Element, words: str) -> Place:
    place, table = parent.place, parent.place.table
    depth = _container_depth(place)
    if table is None or depth >= MAX_CONTAINERS:
        return _within(place, CELL, place.container)
    cell = Cell(
        place.container,
        depth,
        table,
        max(table.n_rows - 1, 0),
        table.n_in_row,
        name == "th" or (parent.parent is not None and parent.parent.name == "thead"),
        _number(values.get("rowspan"), 1, 1, _MAX_SPANNED),
        _number(values.get("colspan"), 1, 1, _MAX_SPANNED),
    )
    table.n_in_row += 1
    table.cells.append(cell)
    return _within(place, CELL, cell)


def _code(name: str, values: _Values, parent: Element, words: str) -> Place:
    if parent.place.code is not None:
        return parent.place
    language, is_numbering = language_of(words, values), bool(_NUMBERING.search(words))
    element: Element | None = parent
    for _ in range(_N_AROUND_CODE):
        if element is None:
            break
        language = language or language_of(element.words, {})
        is_numbering = is_numbering or (element.name in ("td", "div") and bool(_NUMBERING.search(element.words)))
        element = element.parent
    return Place(CODE, 0, parent.place.container, Code(language, is_numbering))


def _within(place: Place, kind: str, container: Container | None) -> Place:
    """A place for text of another kind."""
    return Place(kind, 0, container, place.code, None, place.table)


def _container_depth(place: Place) -> int:
    return 0 if place.container is None else place.container.depth + 1


def _number(text: str | None, otherwise: int, least: int, most: int = _MAX_NUMBER) -> int:
    if text is None or not re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII):
        return otherwise
    return max(least, min(int(text), most))


_PLACES: dict[str, Callable[[str, _Values, Element, str], Place]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _heading),
    **dict.fromkeys(("caption", "figcaption"), _caption),
    **dict.fromkeys(("ul", "ol", "menu", "dir", "dl"), _list),
    **dict.fromkeys(("td", "th"), _cell),
    **dict.fromkeys(("pre", "listing"), _code),
    "blockquote": _quote,
    "li": _item,
    "dt": _term,
    "dd": _definition,
    "table": _table,
    "tr": _row,
}
