"""A page without the markup that nothing here reads, as browsers understand that markup.

Of the tags of a page few matter: of the 760 elements on a mean page of documentation a hundred are links, and half are
`span`s. The tokenizer passes each of them to Python, which is where the time goes. So a kernel goes over the page
first. It leaves out comments, scripts, styles, tags without meaning and whatever is in the markup but not on the page
(`tree_rules`), puts a mark where a block begins or ends, and copies the rest as it is. What is left is read by the
tokenizer, which then needs to know nothing of where a tag stands.

The kernel knows where the tokens of the HTML standard end, not what they say: attributes and character references are
left to the tokenizer. Scripts are not run, so the content of `noscript` is markup; what makes the tokenizer take it for
text, its name, is changed. So is that of a link in a drawing, which has its target elsewhere.

Notes can go along with the page: which elements its tags and texts stand in (`markup_notes`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.elements import FLAGS, FORMATTING, HTML, N_NAMES, NUMBERS, RAW_TEXT, UNSEEN_FOREIGN, numbers
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
    CODE_ELSEWHERE,
    LINKED_DATA,
    after,
    comment_end,
    has_id,
    hash_of,
    is_letter,
    is_space,
    number_of_name,
    raw_text_end,
    says_what_matters,
    script_end,
    script_kind,
    tag_end,
    text_end,
)  # fmt: skip
from orienteer.extract.tree_rules import DRAWN, ELEMENT, FRAMESET_BEGINS, end_tag, start_tag, text
from orienteer.extract.whitespace import BLOCK_MARK
from orienteer.kernel import inner, kernel

# What `noscript`, and `a` in a drawing, are called for the tokenizer: names as long as theirs that are never kept.
NOSCRIPT, DRAWN_LINK = "unscript", "s"

MAX_LINKED_DATA_BYTES = 200_000  # of a script; larger ones are left out
MAX_TEXT_BYTES = 4_000_000  # of a page; what follows is left out, though not its links

# What becomes of a tag, by the name of the element; of start tags and of end tags.
_START, _END = range(2)
_DROP, _MARK, _KEEP, _KEEP_WITH_TEXT = range(4)

_HASH, _AMPERSAND, _SLASH, _LESS, _GREATER, _QUESTION, _EXCLAMATION, _BRACKET_OPEN, _BRACKET_CLOSE = b"#&/<>?![]"
_MAX_REFERENCE_BYTES = 64  # longer ones are taken for unfinished, which does no harm
_MARK_BYTE = ord(BLOCK_MARK)
_DRAWN_LINK_BYTE, _RENAMED_U, _RENAMED_N = b"sun"
_A, _BODY, _SCRIPT, _PLAINTEXT, _NOSCRIPT = numbers("a", "body", "script", "plaintext", "noscript")
_END_TAG_BYTES = len("</script>")
_NO_NODE, _NODE, _NODE_IF_ID = range(3)  # which elements get numbers, by their names
_OF_PAGE = np.zeros(N_NAMES, np.bool_)  # what counts on the page itself only, not in a shadow
for _name in ("base", "link", "meta", "title", "html", "body"):
    _OF_PAGE[NUMBERS[_name]] = True


class Light(NamedTuple):
    """What matters of a page; whether all its tags were understood (see `open_elements`); its notes, if any.

    The note of a start tag is twice the number of the element that it stands in, and one more if it has a number of its
    own; that of a change is the number of the element. 0 is the page.
    """

    page: str
    is_understood: bool
    notes: NDArray[np.int32]
    nodes: NodeTable | None = None


class Lightener:
    """Takes pages in UTF-8 and gives back what matters of them."""

    def __init__(
        self, kept: Iterable[str], blocks: Iterable[str], with_text: bool, with_linked_data: bool = False,
        starts: Iterable[str] = (), nodes: Iterable[str] = (), nodes_if_id: Iterable[str] = (),
        with_table: bool = False,
    ) -> None:  # fmt: skip
        """The tags of `kept` elements stay and those of `blocks` leave a mark.

        Without text nothing stays but start tags, the title, and where a `noscript` ends; with linked data also the
        scripts that hold it, as far as they are not too large. Of `starts` the start tags stay, whatever becomes of the
        end tags; so do those of `nodes`, which get numbers, and of `nodes_if_id`, which do if they have an `id`. With
        a table, nodes get numbers and nothing else changes.
        """
        self._actions = np.zeros((2, N_NAMES), np.uint8)
        for name in blocks if with_text else ():
            self._actions[:, NUMBERS[name]] = _MARK
        for name in (*kept, "noscript"):
            self._actions[:, NUMBERS[name]] = _KEEP
        for name in ("title", "iframe", *(("textarea", "xmp", "plaintext") if with_text else ())):
            self._actions[:, NUMBERS[name]] = _KEEP_WITH_TEXT
        if with_linked_data:
            self._actions[:, _SCRIPT] = _KEEP_WITH_TEXT
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

    def lightened(self, html: bytes, signs: NDArray[np.int64] | None = None) -> Light:
        """What matters of a page. `signs` are filled with what may tell that scripts make it (see `script_signs`)."""
        page = np.frombuffer(html, np.uint8)
        n = len(page)
        # A note, or a change, takes a tag of three bytes at least; before a change there is such a tag, behind it text.
        # With a table a zero of the page becomes three bytes.
        rest = np.empty((2 + self._with_table) * n + 8 if self._has_nodes else n + 1, np.uint8)
        notes, table = new_notes(n, self._has_nodes), new_table(n, self._with_table)
        tree = nothing_open(n)
        signs = new_signs() if signs is None else signs
        size = _lighten(page, rest, self._actions, tree, self._with_text, self._nodes, notes, table, signs)
        n_notes = int(notes[N_NOTES]) if self._has_nodes else 0
        taken = notes[FIRST_NOTE : FIRST_NOTE + n_notes].copy()
        nodes = NodeTable(*table[:, : notes[N_NODES] + 1]) if self._with_table else None
        return Light(str(rest[:size].data, "utf-8"), not tree[STATE, GAVE_UP], taken, nodes)


@kernel
def _lighten(
    page: Any, rest: Any, actions: Any, tree: Any, with_text: Any, nodes: Any, notes: Any, table: Any, signs: Any
) -> Any:
    """Fill `rest` with what matters of `page`, `notes` and the table unless they are empty; the number of bytes."""
    n, i, size = len(page), 0, 0
    text_left = MAX_TEXT_BYTES
    body_at = -1  # where the body begins in `rest`
    notes_at, nodes_at, node_at = 0, 0, 0  # what the notes were there
    while True:
        start = i
        i = text_end(page, i)
        if i > start:
            is_blank = _is_blank(page, start, i)
            text(tree, is_blank)
            if text_left and _is_shown(tree):
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
            i, size = _lighten_end_tag(page, i, rest, size, actions, tree, with_text, signs)
        else:
            i, size, became = _lighten_start_tag(page, i, rest, size, actions, tree, nodes, notes, table, signs)
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
    """This place, or the one before it where a letter ends."""
    while 0 < i < len(page) and page[i] & 0xC0 == 0x80:
        i -= 1
    return i


@inner
def _is_shown(tree: Any) -> Any:
    """Whether text is seen here."""
    if tree[STATE, GAVE_UP]:
        return True
    element = tree[ELEMENTS, tree[STATE, N_OPEN] - 1]
    if element & 3 != HTML and element >> 2 < N_NAMES and FLAGS[element & 3, element >> 2] & UNSEEN_FOREIGN:
        return False
    return tree[STATE, N_TEMPLATES] == 0 and not tree[STATE, IS_FRAMESET]


@inner
def _is_blank(page: Any, i: Any, end: Any) -> Any:
    while i < end and (is_space(page[i]) or page[i] == 0):
        i += 1
    return i == end


@inner
def _declaration_end(page: Any, i: Any, tree: Any) -> Any:
    """Behind what begins with <! at i: a comment, a doctype, text of a drawing, or nothing of the kind."""
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
def _lighten_end_tag(
    page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, with_text: Any, signs: Any
) -> Any:
    """Close what the end tag at `start` closes; where to go on, and the number of bytes in `rest`."""
    n, i = len(page), start + 2
    if i == n:  # mere text
        return n, _copy(page, start, n, rest, size) if with_text and _is_shown(tree) else size
    if not is_letter(page[i]):  # no tag, but a comment by mistake
        return after(page, i, _GREATER), size
    name, name_end = number_of_name(page, i)
    i, _ = tag_end(page, name_end)
    if i < 0:
        return n, size
    end_tag(tree, name)
    if name == _NOSCRIPT:
        signs[IN_NOSCRIPT] = 0
    if not (with_text or name == _NOSCRIPT) or name >= N_NAMES or not (_is_shown(tree) or name == _A):
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
def _lighten_start_tag(
    page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, nodes: Any, notes: Any, table: Any, signs: Any
) -> Any:
    """Copy the tag at `start`, with the text behind it where that is to stay, or leave it out.

    Where to go on, the number of bytes in `rest`, and what became of the element.
    """
    n = len(page)
    name, name_end = number_of_name(page, start + 1)
    i, is_empty = tag_end(page, name_end)
    if i < 0:
        return n, size, 0
    flags = FLAGS[HTML, name] if name < N_NAMES else 0
    looks = hash_of(page, name_end, i) if flags & FORMATTING else 0
    attributes_end = i - 1
    became = start_tag(tree, name, is_empty, looks, says_what_matters(page, name, name_end, attributes_end))
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
        elif kind == CODE_ELSEWHERE:
            signs[SOURCES] += 1
        is_data = kind == LINKED_DATA and i - code_start <= MAX_LINKED_DATA_BYTES
    elif flags & RAW_TEXT:
        i = raw_text_end(page, i, start + 1, name_end)
    elif name == _PLAINTEXT:
        i = n
    elif name == _NOSCRIPT or name == _BODY:
        signs[IN_NOSCRIPT] = 1 if name == _NOSCRIPT else 0  # one that was left open in the head ends there
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
    """Copy text; what is nothing to the tokenizer stands for zeros, which are not shown."""
    for k in range(start, end):
        if page[k] != 0:
            rest[size] = page[k]
            size += 1
        else:
            size = _end_text(rest, size)
    return size


@inner
def _end_text(rest: Any, size: Any) -> Any:
    """Nothing to the tokenizer, but it ends what the text began."""
    for byte in (_LESS, _SLASH, _GREATER):
        rest[size] = byte
        size += 1
    return size
