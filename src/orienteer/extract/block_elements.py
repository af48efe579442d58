"""The effect of elements on their text: headings, items, cells, quotes, code; links and emphasis.

An element inherits the context of its parent, so that lines need no look-up of ancestors.
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
    FORMULA_SPAN,
    HEADING,
    ITEM,
    LINK,
    PARAGRAPH,
    STRONG,
    TERM,
    BlockContext,
    Cell,
    CodeText,
    Container,
    Element,
    Item,
    List,
    Mark,
    Quote,
    Table,
)  # fmt: skip
from orienteer.extract.formulas import FORMULA
from orienteer.extract.parser import Tag

MAX_CONTAINERS = 24  # nested; deeper content belongs to the last of them
_MAX_CLASS_CHARS = 400
_MAX_SPANNED = 100  # rows and columns that a cell spans
_MAX_NUMBER = 999_999_999  # of an item; the limit of CommonMark
_N_CODE_ANCESTORS = 3  # elements that may name its language

_MARKS = {
    "a": LINK, "b": STRONG, "code": CODE_SPAN, "em": EMPHASIS, "i": EMPHASIS, "kbd": CODE_SPAN, "samp": CODE_SPAN,
    "strong": STRONG, "tt": CODE_SPAN, FORMULA: FORMULA_SPAN,
}  # fmt: skip
INLINE = tuple(_MARKS)
_LANGUAGES = ("data-lang", "data-language")
_ATTRIBUTES = {  # in addition to those of every element
    "a": ("name", "href"), "ol": ("start",), "li": ("value",), "code": _LANGUAGES, "pre": _LANGUAGES,
    "listing": _LANGUAGES, "td": ("rowspan", "colspan"), "th": ("rowspan", "colspan"),
}  # fmt: skip


_NUMBERING = re.compile(r"(?:^|\s)(?:linenos|linenodiv|lineno|gutter|line-?numbers|blob-num)(?:\s|$)")
_Values = dict[str, str]


def attributes_of(tag: Tag, name: str) -> dict[str, str]:
    """Return the attributes of an element that `new_element` needs."""
    names = ("id", "class", "role", *_ATTRIBUTES.get(name, ()))
    return {attribute: value for attribute in names if (value := tag.attr(attribute)) is not None}


def new_element(name: str, values: _Values, parent: Element, number: int) -> Element:
    """Create the element of a start tag with these attributes."""
    own_id, words = values.get("id", ""), ""
    if values:
        words = f"{values.get('class', '')} {own_id} {values.get('role', '')}"[:_MAX_CLASS_CHARS].strip().lower()
        if name == "a":
            own_id = own_id or values.get("name", "")
    context, marks, block = parent.context, parent.marks, None
    if name in _MARKS or name == "span":
        block = parent.block or parent
    if name in _MARKS:
        if context.code is None:
            marks = _marked(_MARKS[name], values, marks, number)
        elif name == "code" and not context.code.language:
            context.code.language = language_of(words, values)
    elif name in _CONTEXTS:
        context = _CONTEXTS[name](name, values, parent, words)
    return Element(name, parent, number, parent.depth + 1, words, own_id, context, marks, block)


def _marked(kind: str, values: _Values, marks: tuple[Mark, ...], number: int) -> tuple[Mark, ...]:
    """Return the marks with a mark of this kind added, unless there is one: this bounds their number."""
    for mark in marks:
        if mark.kind == kind:
            return marks
    if kind != LINK:
        return (*marks, Mark(kind, "", number))
    target = values.get("href")
    return marks if target is None else (*marks, Mark(LINK, target.strip(), number))


def _heading(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    context = parent.context
    return BlockContext(HEADING, int(name[1]), context.container, None, context.list, context.table)


def _caption(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    return _within(parent.context, CAPTION, parent.context.container)


def _quote(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    depth, outer = _container_depth(parent.context), parent.context.container
    container = Quote(outer, depth) if depth < MAX_CONTAINERS else outer
    return _within(parent.context, PARAGRAPH, container)


def _list(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    context, is_ordered = parent.context, name == "ol"
    items = List(is_ordered, _number(values.get("start"), 1, 0) if is_ordered else 1, name == "dl")
    return BlockContext(context.kind, context.level, context.container, context.code, items, context.table)


def _item(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    context = parent.context
    items = context.list or List()
    number = _number(values.get("value"), items.next_number, 0) if items.is_ordered else 1
    items.next_number = min(number + 1, _MAX_NUMBER)
    return _within(context, ITEM, _item_of(context, items, number))


def _term(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    items = parent.context.list or List()
    container = _item_of(parent.context, items, 1)
    items.last = container if isinstance(container, Item) else None
    return _within(parent.context, TERM, container)


def _definition(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    items = parent.context.list or List()
    container = items.last or _item_of(parent.context, items, 1)
    return _within(parent.context, ITEM, container)


def _item_of(context: BlockContext, items: List, number: int) -> Container | None:
    depth = _container_depth(context)
    return Item(context.container, depth, items, number) if depth < MAX_CONTAINERS else context.container


def _table(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    context = parent.context
    return BlockContext(context.kind, context.level, context.container, context.code, None, Table())


def _row(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    table = parent.context.table
    if table is not None:
        table.n_rows, table.n_in_row = table.n_rows + 1, 0
    return parent.context


def _cell(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    context, table = parent.context, parent.context.table
    depth = _container_depth(context)
    if table is None or depth >= MAX_CONTAINERS:
        return _within(context, CELL, context.container)
    cell = Cell(
        context.container,
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
    return _within(context, CELL, cell)


def _code(name: str, values: _Values, parent: Element, words: str) -> BlockContext:
    if parent.context.code is not None:
        return parent.context
    language, is_numbering = language_of(words, values), bool(_NUMBERING.search(words))
    element: Element | None = parent
    for _ in range(_N_CODE_ANCESTORS):
        if element is None:
            break
        language = language or language_of(element.words, {})
        is_numbering = is_numbering or (element.name in ("td", "div") and bool(_NUMBERING.search(element.words)))
        element = element.parent
    return BlockContext(CODE, 0, parent.context.container, CodeText(language, is_numbering))


def _within(context: BlockContext, kind: str, container: Container | None) -> BlockContext:
    """Return the context with another kind and container."""
    return BlockContext(kind, 0, container, context.code, None, context.table)


def _container_depth(context: BlockContext) -> int:
    return 0 if context.container is None else context.container.depth + 1


def _number(text: str | None, otherwise: int, least: int, most: int = _MAX_NUMBER) -> int:
    if text is None or not re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII):
        return otherwise
    return max(least, min(int(text), most))


_CONTEXTS: dict[str, Callable[[str, _Values, Element, str], BlockContext]] = {
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


_PREFIXED = re.compile(
    r"(?:^|\s)(?:highlight-source-|highlight-text-|highlight-|language-|lang-|brush:\s*|src-)([\w+#.-]+)"
)
_FOLLOWING = re.compile(r"(?:^|\s)(?:hljs|sourcecode|prettyprint|src)\s+([\w+#.-]+)")
# Words after these prefixes that are no languages.
_NO_LANGUAGES = frozenset((
    "default", "none", "notranslate", "text", "plaintext", "plain", "nohighlight", "literal", "block", "source",
    "wrapper", "container", "code", "html-basic", "numberlines", "linenums", "copy", "toolbar", "lines",
))  # fmt: skip
_SAME = {"pycon3": "pycon", "python3": "python", "shell-session": "console", "source-shell": "shell"}
_MAX_CHARS = 30


def language_of(class_words: str, attributes: dict[str, str]) -> str:
    """Return the language that an element names, in lower case, or "".

    >>> language_of("highlight-python notranslate", {}), language_of("hljs rust", {}), language_of("nav", {})
    ('python', 'rust', '')
    """
    for name in _LANGUAGES:
        if name in attributes:
            return _named(attributes[name].lower())
    found = _PREFIXED.search(class_words) or _FOLLOWING.search(class_words)
    return _named(found[1]) if found is not None else ""


def _named(word: str) -> str:
    word = _SAME.get(word, word)
    if word in _NO_LANGUAGES or len(word) > _MAX_CHARS or not re.fullmatch(r"[\w+#.-]+", word):
        return ""
    return word
