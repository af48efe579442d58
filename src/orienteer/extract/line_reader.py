"""Reading a page line by line: what `reader` reads, and besides in which elements each line stands.

That is all that main text is told by. Python sees the tags that the plain reader sees, and no others: the elements come
as a table (`markup_notes`), and a zero in the text says that the next one begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.extract.elements import numbers
from orienteer.extract.line_places import Floats, Ints, placed
from orienteer.extract.markup import Light, Lightener
from orienteer.extract.reader import BLOCKS, LINE_NODES, READ_WITH_TEXT, PageReader, dispatch
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.whitespace import collapsed
from orienteer.kernel import kernel

_WITH_LINES = Lightener(READ_WITH_TEXT, BLOCKS, with_text=True, nodes=LINE_NODES, with_table=True)

_CHANGE = "\0"
_SPACE, _LINE_END = b" \n"
(_A,) = numbers("a")


def read_with_lines(html: bytes, robot: str = OUR_NAME) -> LineReader:
    """What a page in UTF-8 says, also to a robot of this name, with the places of its lines."""
    reader = LineReader(html, robot)
    dispatch(_WITH_LINES.lightened(html, reader.signs), reader)
    return reader


class LineReader(PageReader):
    """A reader that knows the `places` of its lines in the end."""

    def __init__(self, html: bytes, robot: str) -> None:
        super().__init__(True, robot)
        self._html = html

    def begin(self, light: Light) -> None:
        super().begin(light)
        self._light = light

    def _take_out(self, start: int) -> None:
        n_changes = sum(part.count(_CHANGE) for part in self._parts[start:])
        super()._take_out(start)
        if n_changes:
            self._parts.append(_CHANGE * n_changes)

    def _make_text(self) -> None:
        nodes = self._light.nodes
        assert nodes is not None
        text = "".join(self._parts)
        self.text, of_lines, linked = _placed(text, self._light.notes, nodes.parents, nodes.names)
        self.places = placed(nodes, self._html, of_lines, linked)


def _placed(text: str, changes: Any, parents: Ints, names: Ints) -> tuple[str, Ints, Floats]:
    """The lines of a text, in which element each stands, and how many of its characters are links."""
    letters = collapsed(text)
    n_lines = int(np.count_nonzero(letters == _LINE_END)) + 1
    of_lines, linked = np.zeros(n_lines, np.int64), np.zeros(n_lines)
    size = _place(letters, changes, parents, names, of_lines, linked)
    lines = letters[:size].tobytes().decode()
    shown = lines.strip()
    first = lines.count("\n", 0, len(lines) - len(lines.lstrip()))
    n_lines = shown.count("\n") + 1 if shown else 0
    return shown, of_lines[first : first + n_lines], linked[first : first + n_lines]


@kernel
def _place(letters: Any, changes: Any, parents: Any, names: Any, of_lines: Any, linked: Any) -> Any:
    """Take the zeros out of the letters, and fill in what they say; the number of bytes that are left."""
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
