"""The text of a page by lines, as browsers break them: any amount of white space is a space, or the end of a line
between blocks. Soft hyphens are dropped.

The text is read from a tree that the HTML library has written again: each tag that it writes is complete, elements are
nested, and there are no other references than those of `_copy_text`. This takes a fifth of the time that a walk through
the tree takes in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Elements that begin a new line, or are at least separated from adjacent words.
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "br", "button", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
    "h5", "h6", "header", "hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "plaintext", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "tr", "ul", "xmp",
))  # fmt: skip
EMPTY_BLOCKS = frozenset(("br", "hr"))
# Those of them that contain lines.
BLOCK_NODES = BLOCKS.difference(("br", "frameset", "hr", "plaintext", "textarea", "xmp"))
LINE_NODES = BLOCK_NODES | {"a"}  # elements recorded for lines
HEADINGS = ("h1", "h2", "h3")  # whose texts are recorded

# Names as numbers, which are indices in `NAMES`.
NAMES = ["", *sorted({*BLOCKS, "a", "html"})]
NUMBERS = {name: number for number, name in enumerate(NAMES)}
FNV_PRIME = 0x100000001B3
_BREAKS, _IS_EMPTY, _IS_NODE, _IS_LINK, _IS_HEADING = 1, 2, 4, 8, 16
_FLAGS = np.zeros(len(NAMES), np.int64)
for _flag, _names in ((_BREAKS, BLOCKS), (_IS_EMPTY, EMPTY_BLOCKS), (_IS_NODE, LINE_NODES), (_IS_LINK, ("a",)),
                      (_IS_HEADING, HEADINGS)):  # fmt: skip
    for _name in _names:
        _FLAGS[NUMBERS[_name]] |= _flag

_SPACE, _LINE_END, _LESS, _GREATER, _SLASH, _AMPERSAND = b" \n<>/&"
_EXCLAMATION, _DASH, _SEMICOLON, _LETTER_A, _LETTER_L, _LETTER_N, _RECORD_END = b"!-;aln\x1e"
_SOFT_HYPHEN = "\u00ad".encode()
_MAX_CHAR_BYTES = 4
_MIN_ELEMENT_BYTES = len("<a></a>")
_MAX_OPEN = 1024  # the library nests no deeper than 512
_TABLE_BITS = 8

# The state of reading. GAP: the white space before the next character, 1 for a space and 2 for the end of a line.
_SIZE, _GAP, _LINE, _IS_FIRST, _WAS_LINKED, _N_OPEN, _NODE, _BLOCK, _N_LINKS = range(9)
_N_FOUND_LINKS, _N_FOUND_HEADINGS, _N_NODES = range(9, 12)
# What is stored of an open element: its name, the nodes outside of it, and its range.
_NAME, _OUTER_NODE, _OUTER_BLOCK, _RANGE = range(4)


def _name_table() -> tuple[NDArray[np.uint64], Ints]:
    """Build a hash table with open addressing, indexed by the top bits of hashes."""
    hashes, numbers = np.zeros(1 << _TABLE_BITS, np.uint64), np.zeros(1 << _TABLE_BITS, np.int64)
    for name, number in NUMBERS.items():
        key = 0
        for byte in name.encode():
            key = ((key ^ byte) * FNV_PRIME) % (1 << 64)
        place = key >> (64 - _TABLE_BITS)
        while hashes[place]:
            place = (place + 1) % len(hashes)
        hashes[place], numbers[place] = key, number
    return hashes, numbers


_HASHES, _HASHED_NUMBERS = _name_table()
_NO_NODES, _NO_LINES, _NO_LINKED = np.empty((4, 0), np.int64), np.empty(0, np.int64), np.empty(0)


class PageText:
    """The text of a subtree in HTML, as the library writes it.

    With nodes, `nodes` has a column for each element of LINE_NODES: parent, name, and the range of its
    attributes in the HTML; the first is the page. `of_lines` are the nodes of the lines, `linked` the numbers of their
    characters in links.
    """

    def __init__(self, html: bytes, with_nodes: bool = False) -> None:
        self.page = page = np.frombuffer(html, np.uint8)
        n_elements = len(page) // _MIN_ELEMENT_BYTES + 1
        letters, state = np.empty(len(page), np.uint8), np.zeros(_N_NODES + 1, np.int64)
        opened = np.empty((min(n_elements, _MAX_OPEN), 4), np.int32)
        links, headings = np.empty((n_elements, 2), np.int32), np.empty((n_elements, 2), np.int32)
        nodes, of_lines, linked = _NO_NODES, _NO_LINES, _NO_LINKED
        if with_nodes:
            n_lines = len(page) // 2 + 1
            nodes, of_lines, linked = (
                np.empty((4, n_elements + 1), np.int64),
                np.zeros(n_lines, np.int64),
                np.zeros(n_lines),
            )
            nodes[:, 0] = -1, NUMBERS["html"], 0, 0
        _read_text(page, letters, state, opened, links, headings, nodes, of_lines, linked)
        lines = str(letters[: state[_SIZE]].data, "utf-8")
        self._letters = letters
        self._links, self._headings = links[: state[_N_FOUND_LINKS]], headings[: state[_N_FOUND_HEADINGS]]
        self.text = lines.strip()
        if with_nodes:
            first = lines.count("\n", 0, len(lines) - len(lines.lstrip()))
            last = first + self.text.count("\n") + 1 if self.text else first
            self.of_lines, self.linked = of_lines[first:last], linked[first:last]
            self.nodes = nodes[:, : state[_N_NODES] + 1]

    def links(self, max_chars: int) -> list[str]:
        """Return the texts of the `a` elements in document order, with this length at most."""
        return self._texts_of(self._links, max_chars)

    def headings(self, max_chars: int) -> list[str]:
        """Return the texts of the elements of HEADINGS."""
        return self._texts_of(self._headings, max_chars)

    def _texts_of(self, ranges: NDArray[np.int32], max_chars: int) -> list[str]:
        if not len(ranges):
            return []
        n_bytes = int(np.minimum(ranges[:, 1] - ranges[:, 0], _MAX_CHAR_BYTES * max_chars).sum())
        texts = np.empty(n_bytes + len(ranges), np.uint8)
        n_bytes, has_rare_space = _copy_ranges(self._letters, ranges, max_chars, texts)
        found = str(texts[: n_bytes - 1].data, "utf-8").split("\n")
        return [collapsed(text, max_chars) for text in found] if has_rare_space else found


def collapsed(text: str, max_chars: int) -> str:
    """Return a text with collapsed white space, of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[:max_chars].rstrip()


@kernel
def _read_text(
    page: Any, text: Any, state: Any, opened: Any, links: Any, headings: Any, nodes: Any, of_lines: Any, linked: Any
) -> Any:
    """Fill in the text and all else; `opened` is a stack of open elements.

    No tag has a > but at its end: in the values of attributes it is escaped, and their names have none.
    """
    n, i = len(page), 0
    state[_IS_FIRST] = 1
    while i + 1 < n:
        if page[i] != _LESS:
            i = _copy_text(page, i, text, state, of_lines, linked)
            continue
        byte = page[i + 1]
        if byte == _EXCLAMATION:
            i = _comment_end(page, i + 4)
            continue
        is_end = byte == _SLASH
        name, start = _number_of_name(page, i + 1 + is_end)
        i = _after(page, start, _GREATER)
        if not name:
            continue
        if is_end:
            _close(name, state, opened, links, headings)
            continue
        _open(name, start, i - 1, state, opened, links, headings, nodes)
    return 0


@inner
def _copy_text(page: Any, i: Any, text: Any, state: Any, of_lines: Any, linked: Any) -> Any:
    """Copy the text that begins at i, with its white space collapsed; return where the next tag begins."""
    n, has_lines = len(page), len(of_lines) > 0
    size, gap = state[_SIZE], state[_GAP]
    while i < n and page[i] != _LESS:
        byte = page[i]
        i += 1
        if byte <= _SPACE and (byte == _SPACE or 9 <= byte <= 13 or byte == _RECORD_END):
            gap = max(gap, 1)
            continue
        if byte == _SOFT_HYPHEN[0] and i < n and page[i] == _SOFT_HYPHEN[1]:
            i += 1
            continue
        if byte == _AMPERSAND and i < n:
            second = page[i]
            i = _after(page, i, _SEMICOLON)
            if second == _LETTER_N:  # a no-break space
                gap = max(gap, 1)
                continue
            byte = _AMPERSAND if second == _LETTER_A else _LESS if second == _LETTER_L else _GREATER
        if gap:
            if size:
                text[size] = _SPACE if gap == 1 else _LINE_END
                size += 1
                if has_lines:
                    _note_gap(gap, state, linked)
            gap = 0
        text[size] = byte
        size += 1
        if has_lines and byte & 0xC0 != 0x80:
            _note_character(state, of_lines, linked)
    state[_SIZE], state[_GAP] = size, gap
    return i


@kernel
def _copy_ranges(letters: Any, ranges: Any, max_chars: Any, texts: Any) -> Any:
    """Copy these ranges of a text, with white space collapsed and at most `max_chars` characters of each, with a line
    end after each.

    Return the size of all, and whether they may contain white space that is not ASCII, or control characters.
    """
    size, has_rare_space = 0, False
    for k in range(len(ranges)):
        start, n_chars, has_gap = size, 0, False
        for i in range(ranges[k, 0], ranges[k, 1]):
            byte = letters[i]
            if byte == _SPACE or byte == _LINE_END:
                has_gap = size > start
                continue
            if byte & 0xC0 != 0x80:
                n_chars += 1 + has_gap
                if n_chars > max_chars:
                    break
                if has_gap:
                    texts[size] = _SPACE
                    size += 1
                    has_gap = False
                has_rare_space |= byte < _SPACE or _may_be_space(byte, letters[min(i + 1, len(letters) - 1)])
            texts[size] = byte
            size += 1
        texts[size] = _LINE_END
        size += 1
    return size, has_rare_space


@inner
def _may_be_space(first: Any, second: Any) -> Any:
    """Whether two bytes may begin a white space in UTF-8 other than that of ASCII."""
    if first == 0xC2:
        return second == 0x85 or second == 0xA0
    return 0xE1 <= first <= 0xE3 and (second == 0x80 or second == 0x81 or second == 0x9A)


@inner
def _note_gap(gap: Any, state: Any, linked: Any) -> None:
    if gap == 2:
        state[_LINE] += 1
        state[_IS_FIRST] = 1
    elif state[_N_LINKS] and state[_WAS_LINKED]:
        linked[state[_LINE]] += 1


@inner
def _note_character(state: Any, of_lines: Any, linked: Any) -> None:
    line = state[_LINE]
    if state[_IS_FIRST]:
        of_lines[line] = state[_BLOCK]
        state[_IS_FIRST] = 0
    state[_WAS_LINKED] = state[_N_LINKS] > 0
    if state[_N_LINKS]:
        linked[line] += 1


@inner
def _open(name: Any, start: Any, end: Any, state: Any, opened: Any, links: Any, headings: Any, nodes: Any) -> None:
    """Begin an element with the attributes from start to end."""
    flags = _FLAGS[name]
    if flags & _BREAKS:
        state[_GAP] = 2
    n_open = state[_N_OPEN]
    if flags & _IS_EMPTY or n_open == len(opened):
        return
    opened[n_open, _NAME], opened[n_open, _OUTER_NODE] = name, state[_NODE]
    opened[n_open, _OUTER_BLOCK], opened[n_open, _RANGE] = state[_BLOCK], -1
    state[_N_OPEN] = n_open + 1
    if flags & _IS_HEADING:
        found = opened[n_open, _RANGE] = state[_N_FOUND_HEADINGS]
        headings[found, 0] = headings[found, 1] = state[_SIZE]
        state[_N_FOUND_HEADINGS] += 1
    if flags & _IS_LINK:
        found = opened[n_open, _RANGE] = state[_N_FOUND_LINKS]
        links[found, 0] = links[found, 1] = state[_SIZE]
        state[_N_FOUND_LINKS] += 1
        state[_N_LINKS] += 1
    if flags & _IS_NODE and nodes.shape[1]:
        state[_N_NODES] += 1
        node = state[_N_NODES]
        nodes[0, node], nodes[1, node], nodes[2, node], nodes[3, node] = state[_NODE], name, start, end
        state[_NODE] = node
        if not flags & _IS_LINK:
            state[_BLOCK] = node


@inner
def _close(name: Any, state: Any, opened: Any, links: Any, headings: Any) -> None:
    top = state[_N_OPEN] - 1
    if top < 0 or opened[top, _NAME] != name:
        return
    state[_N_OPEN] = top
    state[_NODE], state[_BLOCK] = opened[top, _OUTER_NODE], opened[top, _OUTER_BLOCK]
    flags = _FLAGS[name]
    if flags & _BREAKS:
        state[_GAP] = 2
    if flags & _IS_HEADING:
        headings[opened[top, _RANGE], 1] = state[_SIZE]
    if flags & _IS_LINK:
        links[opened[top, _RANGE], 1] = state[_SIZE]
        state[_N_LINKS] -= 1


@inner
def _number_of_name(page: Any, i: Any) -> Any:
    """Return the number of the name that starts at i, 0 if it is not one of NAMES, and where the name ends."""
    key = np.uint64(0)
    while i < len(page) and page[i] != _GREATER and page[i] != _SPACE:
        key = (key ^ np.uint64(page[i])) * np.uint64(FNV_PRIME)
        i += 1
    place = np.int64(key >> np.uint64(64 - _TABLE_BITS))
    while _HASHES[place] != key:
        if _HASHES[place] == 0:
            return 0, i
        place = (place + 1) & (len(_HASHES) - 1)
    return _HASHED_NUMBERS[place], i


@inner
def hash_of(page: Any, i: Any, end: Any) -> Any:
    key = np.uint64(0)
    while i < end:
        key = (key ^ np.uint64(page[i])) * np.uint64(FNV_PRIME)
        i += 1
    return np.int64(key)


@inner
def _comment_end(page: Any, i: Any) -> Any:
    """Return the end of the comment whose text begins at i."""
    while i + 2 < len(page) and (page[i] != _DASH or page[i + 1] != _DASH or page[i + 2] != _GREATER):
        i += 1
    return i + 3


@inner
def _after(page: Any, i: Any, byte: Any) -> Any:
    """Return the position behind the next such byte, or the end."""
    while i < len(page) and page[i] != byte:
        i += 1
    return min(i + 1, len(page))
