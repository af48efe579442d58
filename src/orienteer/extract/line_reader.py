"""Read a page by lines: as `reader`, with the enclosing elements of each line, which main text detection needs.

Python handles the same tags as in the plain reader and no others: elements come as a table (`markup_notes`), and a zero
byte in the text marks a change to the next element of the notes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.extract.elements import numbers
from orienteer.extract.line_places import Floats, Ints, placed
from orienteer.extract.markup import FilteredPage, MarkupFilter
from orienteer.extract.reader import BLOCKS, LINE_NODES, READ_WITH_TEXT, PageReader, dispatch
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.whitespace import collapsed
from orienteer.kernel import kernel

_WITH_LINES = MarkupFilter(READ_WITH_TEXT, BLOCKS, with_text=True, nodes=LINE_NODES, with_table=True)
_LINES_AND_FIELDS = _WITH_LINES.with_fields()

_CHANGE = "\0"
_SPACE, _LINE_END = b" \n"
(_A,) = numbers("a")


def read_with_lines(html: bytes, robot: str = OUR_NAME, with_fields: bool = False) -> LineReader:
    """Read a page in UTF-8 with the places of its lines, and the rules for a robot of this name."""
    reader = LineReader(html, robot, with_fields)
    dispatch((_LINES_AND_FIELDS if with_fields else _WITH_LINES).apply(html, reader.signs), reader)
    return reader


class LineReader(PageReader):
    """A `PageReader` that also collects the `places` of lines."""

    def __init__(self, html: bytes, robot: str, with_fields: bool) -> None:
        super().__init__(True, robot, with_fields)
        self._html = html

    def begin(self, filtered: FilteredPage) -> None:
        super().begin(filtered)
        self._light = filtered

    def _discard_from(self, start: int) -> None:
        n_changes = sum(part.count(_CHANGE) for part in self._pieces[start:])
        super()._discard_from(start)
        if n_changes:
            self._pieces.append(_CHANGE * n_changes)

    def _make_text(self) -> None:
        nodes = self._light.nodes
        assert nodes is not None
        text = "".join(self._pieces)
        self.text, of_lines, linked = _placed(text, self._light.notes, nodes.parents, nodes.names)
        self.places = placed(nodes, self._html, of_lines, linked)


def _placed(text: str, changes: Any, parents: Ints, names: Ints) -> tuple[str, Ints, Floats]:
    """Return the lines of a text, the element of each line, and its number of characters in links."""
    letters = collapsed(text)
    n_lines = int(np.count_nonzero(letters == _LINE_END)) + 1
    of_lines, linked = np.zeros(n_lines, np.int64), np.zeros(n_lines)
    size = _place(letters, changes, parents, names, of_lines, linked)
    lines = letters[:size].tobytes().decode()
    visible = lines.strip()
    first = lines.count("\n", 0, len(lines) - len(lines.lstrip()))
    n_lines = visible.count("\n") + 1 if visible else 0
    return visible, of_lines[first : first + n_lines], linked[first : first + n_lines]


@kernel
def _place(letters: Any, changes: Any, parents: Any, names: Any, of_lines: Any, linked: Any) -> Any:
    """Remove the zeros from the letters, and fill in elements and links of lines; return the number of bytes left."""
    size, line, n_changes = 0, 0, 0
    element, is_linked, was_linked, is_first = 0, False, False, True
    for i in range(len(letters)):
        byte = letters[i]
        if byte == 0:
            element = changes[n_changes]
            n_changes += 1
            inner = element
            while inner >= 0 and names[inner] != _A:
                inner = parents[inner]
            is_linked = inner >= 0
            continue
        letters[size] = byte
        size += 1
        if byte == _LINE_END:
            line, is_first = line + 1, True
        elif byte == _SPACE:
            linked[line] += is_linked and was_linked
        elif byte & 0xC0 != 0x80:
            if is_first:
                inner = element
                while names[inner] == _A and parents[inner] >= 0:
                    inner = parents[inner]
                of_lines[line] = inner
                is_first = False
            linked[line] += is_linked
            was_linked = is_linked
    return size
