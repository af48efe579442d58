"""Remove the markup that is not needed from a page, by the rules of browsers.

Few tags of a page matter: of the 760 elements on a mean page of documentation a hundred are links, and half are
`span`s. The tokenizer passes each of them to Python, which takes most of the time. So a kernel filters the page first.
It drops comments, scripts, styles, irrelevant tags and markup that is not part of the visible page (`tree_rules`), puts
a mark where a block begins or ends, and copies everything else. The tokenizer then reads the result without any
knowledge of the tree.

The kernel finds the boundaries of the tokens of the HTML standard only: attributes and character references are left to
the tokenizer. Scripts are not run, so the content of `noscript` is markup; `noscript` is renamed, since the tokenizer
would take its content for text. Links in SVG are renamed, too, since their target is in another attribute.

Notes can be added to the page: the enclosing elements of its tags and texts (`markup_notes`).
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.elements import FLAGS, FORMATTING, HIDDEN_FOREIGN, HTML, N_NAMES, NUMBERS, RAW_TEXT, numbers
from orienteer.extract.markup_notes import (
    FIRST_NOTE,
    LAST_NODE,
    N_NODES,
    N_NOTES,
    NodeTable,
    new_notes,
    new_table,
    note_change,
    note_start,
)
from orienteer.extract.open_elements import (
    ELEMENTS,
    GAVE_UP,
    HAS_BODY,
    IS_FRAMESET,
    IS_QUIRKY,
    N_OPEN,
    N_SHADOWS,
    N_TEMPLATES,
    STATE,
    is_foreign,
    nothing_open,
)  # fmt: skip
from orienteer.extract.script_signs import IN_NOSCRIPT, SOURCES, count_code, count_words, new_signs
from orienteer.extract.tags import (
    CODE,
    CODE_IN_FILE,
    LINKED_DATA,
    after,
    comment_end,
    has_id,
    has_significant_value,
    hash_of,
    is_letter,
    is_space,
    number_of_name,
    raw_text_end,
    script_end,
    script_kind,
    tag_end,
    text_end,
)  # fmt: skip
from orienteer.extract.tree_rules import DRAWN, ELEMENT, FRAMESET_BEGINS, end_tag, start_tag, text
from orienteer.extract.whitespace import BLOCK_MARK
from orienteer.kernel import inner, kernel

# New names of `noscript`, and of `a` in SVG, for the tokenizer: of the same length, and never retained otherwise.
NOSCRIPT, DRAWN_LINK = "unscript", "s"

MAX_LINKED_DATA_BYTES = 200_000  # of a script; larger ones are dropped
MAX_TEXT_BYTES = 4_000_000  # of a page; further text is dropped, but not its links

# The action on a tag, by the name of the element; for start tags and for end tags.
_START, _END = range(2)
_DROP, _MARK, _KEEP, _KEEP_WITH_TEXT = range(4)

_HASH, _AMPERSAND, _SLASH, _LESS, _GREATER, _QUESTION, _EXCLAMATION, _BRACKET_OPEN, _BRACKET_CLOSE = b"#&/<>?![]"
_MAX_REFERENCE_BYTES = 64  # longer ones are taken for unfinished, which is harmless
_MARK_BYTE = ord(BLOCK_MARK)
_DRAWN_LINK_BYTE, _RENAMED_U, _RENAMED_N = b"sun"
_A, _BODY, _SCRIPT, _PLAINTEXT, _NOSCRIPT = numbers("a", "body", "script", "plaintext", "noscript")
_END_TAG_BYTES = len("</script>")
_NO_NODE, _NODE, _NODE_IF_ID = range(3)  # which elements get numbers, by their names
_OF_PAGE = np.zeros(N_NAMES, np.bool_)  # elements that count on the page itself only, not in a shadow tree
for _name in ("base", "link", "meta", "title", "html", "body"):
    _OF_PAGE[NUMBERS[_name]] = True


class FilteredPage(NamedTuple):
    """A filtered page; whether all of its tags were understood (see `open_elements`); its notes, if any.

    The note of a start tag is twice the number of the enclosing element, plus one if it has a number of its own; the
    note of a change is the number of the element. 0 is the page.
    """

    page: str
    is_understood: bool
    notes: NDArray[np.int32]
    nodes: NodeTable | None = None


class MarkupFilter:
    """Filters pages in UTF-8."""

    def __init__(
        self, names: Iterable[str], blocks: Iterable[str], with_text: bool,
        starts: Iterable[str] = (), nodes: Iterable[str] = (), nodes_if_id: Iterable[str] = (),
        with_table: bool = False,
    ) -> None:  # fmt: skip
        """Retain the tags of elements with these `names`, and replace those of `blocks` by a mark.

        Without text, only start tags, the title, and end tags of `noscript` are retained. The start tags of `starts`
        are always retained, as are those of `nodes`, which get numbers, and of `nodes_if_id`, which get numbers if they
        have an `id`. With a table, nodes get numbers and nothing else changes.
        """
        self._actions = np.zeros((2, N_NAMES), np.uint8)
        for name in blocks if with_text else ():
            self._actions[:, NUMBERS[name]] = _MARK
        for name in (*names, "noscript"):
            self._actions[:, NUMBERS[name]] = _KEEP
        for name in ("title", "iframe", *(("textarea", "xmp", "plaintext") if with_text else ())):
            self._actions[:, NUMBERS[name]] = _KEEP_WITH_TEXT
        for name in () if with_table else (*starts, *nodes, *nodes_if_id):
            self._actions[_START, NUMBERS[name]] = max(_KEEP, self._actions[_START, NUMBERS[name]])
        self._nodes = np.zeros(N_NAMES, np.uint8)
        for name in nodes:
            self._nodes[NUMBERS[name]] = _NODE
        for name in nodes_if_id:
            self._nodes[NUMBERS[name]] = _NODE_IF_ID
        self._with_text = with_text
        self._has_nodes = bool(self._nodes.any())
        self._with_table = with_table

    def with_fields(self) -> MarkupFilter:
        """Return a filter that also retains what the fields of a page are read from: JSON-LD up to a limit, `time`."""
        other = copy(self)
        other._actions = self._actions.copy()
        other._actions[_START, NUMBERS["time"]] = _KEEP
        other._actions[:, _SCRIPT] = _KEEP_WITH_TEXT
        return other

    def apply(self, html: bytes, signs: NDArray[np.int64] | None = None) -> FilteredPage:
        """Filter a page. `signs` is filled with counts that indicate a page made by scripts (see `script_signs`)."""
        page = np.frombuffer(html, np.uint8)
        n = len(page)
        # A note or a change needs a tag of at least three bytes; a change has such a tag before it and text after it.
        # With a table a zero of the page becomes three bytes.
        rest = np.empty((2 + self._with_table) * n + 8 if self._has_nodes else n + 1, np.uint8)
        notes, table = new_notes(n, self._has_nodes), new_table(n, self._with_table)
        tree = nothing_open(n)
        signs = new_signs() if signs is None else signs
        size = _filter_page(page, rest, self._actions, tree, self._with_text, self._nodes, notes, table, signs)
        n_notes = int(notes[N_NOTES]) if self._has_nodes else 0
        taken = notes[FIRST_NOTE : FIRST_NOTE + n_notes].copy()
        nodes = NodeTable(*table[:, : notes[N_NODES] + 1]) if self._with_table else None
        return FilteredPage(str(rest[:size].data, "utf-8"), not tree[STATE, GAVE_UP], taken, nodes)


@kernel
def _filter_page(
    page: Any, rest: Any, actions: Any, tree: Any, with_text: Any, nodes: Any, notes: Any, table: Any, signs: Any
) -> Any:
    """Fill `rest` with the filtered page, and `notes` and the table unless empty; return the size of `rest`."""
    n, i, size = len(page), 0, 0
    text_left = MAX_TEXT_BYTES
    body_at = -1  # where the body begins in `rest`
    notes_at, nodes_at, node_at = 0, 0, 0  # the state of the notes there
    while True:
        start = i
        i = text_end(page, i)
        if i > start:
            is_blank = _is_blank(page, start, i)
            text(tree, is_blank)
            if text_left and _is_visible(tree):
                if not is_blank:
                    count_words(page, start, i, signs)
                if with_text:
                    end = _letter_end(page, min(i, start + text_left))
                    text_left = text_left - (end - start) if end == i else 0
                    if not is_blank:
                        size = note_change(rest, size, tree, notes, table)
                    if table.shape[1]:
                        size = _copy_without_zeros(page, start, end, rest, size)
                    else:
                        size = _copy(page, start, end, rest, size)
        if i == n:
            return size
        before = size
        had_body = tree[STATE, HAS_BODY]
        n_notes, n_nodes, last_node = 0, 0, 0
        if len(notes):
            n_notes, n_nodes, last_node = notes[N_NOTES], notes[N_NODES], notes[LAST_NODE]
        if page[i + 1] == _EXCLAMATION:
            i = _declaration_end(page, i, tree)
        elif page[i + 1] == _QUESTION:
            i = after(page, i + 2, _GREATER)
        elif page[i + 1] == _SLASH:
            i, size = _filter_end_tag(page, i, rest, size, actions, tree, with_text, signs)
        else:
            i, size, became = _filter_start_tag(page, i, rest, size, actions, tree, nodes, notes, table, signs)
            if became == FRAMESET_BEGINS and had_body:
                before = size = body_at
                if len(notes):
                    notes[N_NOTES], notes[N_NODES], notes[LAST_NODE] = notes_at, nodes_at, node_at
        if tree[STATE, HAS_BODY] and not had_body:
            body_at = before
            notes_at, nodes_at, node_at = n_notes, n_nodes, last_node
        if size == before and size and with_text and _is_unfinished(rest, size):
            size = _end_text(rest, size)


@inner
def _letter_end(page: Any, i: Any) -> Any:
    """Return i, or the last boundary of a character before it."""
    while 0 < i < len(page) and page[i] & 0xC0 == 0x80:
        i -= 1
    return i


@inner
def _is_visible(tree: Any) -> Any:
    """Whether text is visible here."""
    if tree[STATE, GAVE_UP]:
        return True
    element = tree[ELEMENTS, tree[STATE, N_OPEN] - 1]
    if element & 3 != HTML and element >> 2 < N_NAMES and FLAGS[element & 3, element >> 2] & HIDDEN_FOREIGN:
        return False
    return tree[STATE, N_TEMPLATES] == 0 and not tree[STATE, IS_FRAMESET]


@inner
def _is_blank(page: Any, i: Any, end: Any) -> Any:
    while i < end and (is_space(page[i]) or page[i] == 0):
        i += 1
    return i == end


@inner
def _declaration_end(page: Any, i: Any, tree: Any) -> Any:
    """Return the end of a comment, a doctype, a CDATA section of SVG or another declaration that begins at i."""
    n = len(page)
    if i + 3 < n and (page[i + 2] | 32) == 100 and tree[STATE, N_OPEN] == 1:  # d
        tree[STATE, IS_QUIRKY] = 0
    if i + 8 < n and page[i + 2] == _BRACKET_OPEN and page[i + 8] == _BRACKET_OPEN and is_foreign(tree):
        is_text = True
        for k, byte in enumerate((67, 68, 65, 84, 65)):  # CDATA
            is_text = is_text and page[i + 3 + k] == byte
        if is_text:
            text(tree, False)
            i += 9
            while i < n:
                i = after(page, i, _GREATER)
                if page[i - 1] == _GREATER and page[i - 2] == _BRACKET_CLOSE and page[i - 3] == _BRACKET_CLOSE:
                    break
            return i
    return comment_end(page, i + 2)


@inner
def _filter_end_tag(
    page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, with_text: Any, signs: Any
) -> Any:
    """Close the elements that the end tag at `start` closes; return the next position and the size of `rest`."""
    n, i = len(page), start + 2
    if i == n:  # text
        return n, _copy(page, start, n, rest, size) if with_text and _is_visible(tree) else size
    if not is_letter(page[i]):  # a bogus comment
        return after(page, i, _GREATER), size
    name, name_end = number_of_name(page, i)
    i, _ = tag_end(page, name_end)
    if i < 0:
        return n, size
    end_tag(tree, name)
    if name == _NOSCRIPT:
        signs[IN_NOSCRIPT] = 0
    if not (with_text or name == _NOSCRIPT) or name >= N_NAMES or not (_is_visible(tree) or name == _A):
        return i, size
    action = actions[_END, name]
    if action == _MARK:
        rest[size] = _MARK_BYTE
        return i, size + 1
    if action == _KEEP:
        copied = size
        size = _copy(page, start, i, rest, size)
        if name == _NOSCRIPT:
            rest[copied + 2], rest[copied + 3] = _RENAMED_U, _RENAMED_N
    return i, size


@inner
def _filter_start_tag(
    page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, nodes: Any, notes: Any, table: Any, signs: Any
) -> Any:
    """Copy or drop the tag at `start`, with its text if that is retained.

    Return the next position, the size of `rest`, and what became of the element.
    """
    n = len(page)
    name, name_end = number_of_name(page, start + 1)
    i, is_empty = tag_end(page, name_end)
    if i < 0:
        return n, size, 0
    flags = FLAGS[HTML, name] if name < N_NAMES else 0
    looks = hash_of(page, name_end, i) if flags & FORMATTING else 0
    attributes_end = i - 1
    became = start_tag(tree, name, is_empty, looks, has_significant_value(page, name, name_end, attributes_end))
    if became == DRAWN and name == _A and _is_on_page(tree, name):
        drawn = size
        note_start(tree, name, False, notes, table, name_end, attributes_end)
        size = _copy(page, start, i, rest, size)
        rest[drawn + 1] = _DRAWN_LINK_BYTE
        return i, size, became
    if became != ELEMENT:
        return i, size, became
    is_data = False
    if name == _SCRIPT:
        kind, code_start = script_kind(page, name_end, i - 1), i
        i = script_end(page, i)
        if kind == CODE:
            count_code(page, code_start, i - _END_TAG_BYTES, signs)
        elif kind == CODE_IN_FILE:
            signs[SOURCES] += 1
        is_data = kind == LINKED_DATA and i - code_start <= MAX_LINKED_DATA_BYTES
    elif flags & RAW_TEXT:
        i = raw_text_end(page, i, start + 1, name_end)
    elif name == _PLAINTEXT:
        i = n
    elif name == _NOSCRIPT or name == _BODY:
        signs[IN_NOSCRIPT] = 1 if name == _NOSCRIPT else 0  # an open one in the head ends there
    action = actions[_START, name] if name < N_NAMES and _is_on_page(tree, name) else _DROP
    if name == _SCRIPT and not is_data:
        action = _DROP
    kind = nodes[name] if action == _KEEP or action == _MARK else _NO_NODE
    if kind == _NODE_IF_ID and not has_id(page, name_end, attributes_end):
        action = _DROP
    if action != _DROP and (action != _MARK or table.shape[1]):
        note_start(tree, name, kind != _NO_NODE, notes, table, name_end, attributes_end)
    if action == _MARK:
        rest[size] = _MARK_BYTE
        return i, size + 1, became
    if action == _KEEP_WITH_TEXT and table.shape[1]:
        size = note_change(rest, size, tree, notes, table)
    if action != _DROP:
        copied = size
        size = _copy(page, start, i, rest, size)
        if name == _NOSCRIPT:
            rest[copied + 1], rest[copied + 2] = _RENAMED_U, _RENAMED_N
    return i, size, became


@inner
def _is_on_page(tree: Any, name: Any) -> Any:
    if tree[STATE, GAVE_UP]:
        return True
    return tree[STATE, N_TEMPLATES] == 0 and not (tree[STATE, N_SHADOWS] and _OF_PAGE[name])


@inner
def _is_unfinished(rest: Any, size: Any) -> Any:
    """Whether text that moves up could become part of a tag, or of a reference like `&am`."""
    if rest[size - 1] == _LESS:
        return True
    i = size
    while i > max(0, size - _MAX_REFERENCE_BYTES):
        i -= 1
        byte = rest[i]
        if not (is_letter(byte) or 48 <= byte <= 57 or byte == _HASH):
            return byte == _AMPERSAND
    return i > 0


@inner
def _copy(page: Any, start: Any, end: Any, rest: Any, size: Any) -> Any:
    for k in range(end - start):
        rest[size + k] = page[start + k]
    return size + end - start


@inner
def _copy_without_zeros(page: Any, start: Any, end: Any, rest: Any, size: Any) -> Any:
    """Copy text, and replace zeros, which are not visible, by an empty end tag."""
    for k in range(start, end):
        if page[k] != 0:
            rest[size] = page[k]
            size += 1
        else:
            size = _end_text(rest, size)
    return size


@inner
def _end_text(rest: Any, size: Any) -> Any:
    """Append an empty end tag, which the tokenizer ignores but which ends a token of the text."""
    for byte in (_LESS, _SLASH, _GREATER):
        rest[size] = byte
        size += 1
    return size
