"""Reading a page line by line: what `reader` reads, and besides in which elements each line stands.

That is all that main text is told by, and takes a fraction of the time of blocks. Python sees the start tags; which
line stands where is found by a kernel, while it collapses white space as `whitespace.lines` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.line_places import Floats, Ints, placed
from orienteer.extract.markup import CHANGE, Light, Lightener
from orienteer.extract.reader import BLOCK_NODES, BLOCKS, READ_WITH_TEXT, STARTS, PageReader, dispatch
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.extract.script_signs import new_signs
from orienteer.extract.whitespace import BLOCK_MARK
from orienteer.kernel import kernel

_WITH_LINES = Lightener(READ_WITH_TEXT, BLOCKS, with_text=True, nodes=(*BLOCK_NODES, "a"))

_SPACE, _LINE_END, _MARK = 0x20, 0x0A, 0x1E
_NO_BREAK_SPACE = 0xC2, 0xA0  # in UTF-8


def read_with_lines(html: bytes, robot: str = OUR_NAME) -> LineReader:
    """What a page in UTF-8 says, also to a robot of this name, with the places of its lines."""
    signs = new_signs()
    light = _WITH_LINES.lightened(html, signs)
    reader = LineReader(light, signs, robot)
    dispatch(light, reader)
    return reader


class LineReader(PageReader):
    """A reader that knows the `places` of its lines in the end."""

    def __init__(self, light: Light, signs: NDArray[np.int64], robot: str) -> None:
        super().__init__(True, robot)
        self.signs = signs
        self._next_note = iter(light.notes.tolist()).__next__
        self._names, self._parents = ["html"], [-1]
        self._attributes: list[list[tuple[str, str]]] = [[]]
        self._element = 0
        # Where the text stands in another element than before: the number of parts up to there, and the element.
        self._changed_at: list[int] = []
        self._changed_to: list[int] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str]]) -> None:
        note = self._next_note()
        start = STARTS.get(tag)
        if start is not None:
            start(self, dict(attributes))
        elif tag in BLOCKS:
            self._parts.append(BLOCK_MARK)
        element = note >> 1
        if note & 1:
            self._parents.append(element)
            element = len(self._names)
            self._names.append(tag)
            self._attributes.append(attributes)
        if element != self._element:
            self._enter(element)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == CHANGE:
            self._enter(self._next_note())
        else:
            super().handle_endtag(tag)

    def _enter(self, element: int) -> None:
        self._element = element
        self._changed_at.append(len(self._parts))
        self._changed_to.append(element)

    def _take_out(self, start: int) -> None:
        super()._take_out(start)
        while self._changed_at and self._changed_at[-1] > start:
            self._changed_at.pop()
            self._changed_to.pop()
        self._enter(self._element)

    def _make_text(self) -> None:
        parents = np.array(self._parents, np.int64)
        is_anchor = np.array([name == "a" for name in self._names])
        ends = np.concatenate([[0], np.cumsum(np.fromiter(map(len, self._parts), np.int64, len(self._parts)))])
        changed_at = ends[np.array(self._changed_at, np.int64)]
        text, of_lines, linked = _placed(
            "".join(self._parts), changed_at, np.array(self._changed_to, np.int64), parents, is_anchor
        )
        self.text = text
        self.places = placed(self._names, self._attributes, parents, of_lines, linked)


def _placed(text: str, changed_at: Ints, changed_to: Ints, parents: Ints, is_anchor: Any) -> tuple[str, Ints, Floats]:
    """The lines of a text, in which element each stands, and how many of its characters are links."""
    page = np.frombuffer(text.encode(), np.uint8)
    rest = np.empty(len(page), np.uint8)
    n_lines = text.count(BLOCK_MARK) + 1
    of_lines, linked = np.zeros(n_lines, np.int64), np.zeros(n_lines)
    size = _collapse(page, rest, changed_at, changed_to, parents, is_anchor, of_lines, linked)
    lines = rest[:size].tobytes().decode()
    shown = lines.strip()
    first = lines.count("\n", 0, len(lines) - len(lines.lstrip()))
    n_lines = shown.count("\n") + 1 if shown else 0
    return shown, of_lines[first : first + n_lines], linked[first : first + n_lines]


@kernel
def _collapse(
    page: Any, rest: Any, changed_at: Any, changed_to: Any, parents: Any, is_anchor: Any, of_lines: Any, linked: Any
) -> Any:
    n, size, line, at, change = len(page), 0, 0, 0, 0
    gap = 0  # what stands for the white space before i
    element, is_linked, was_linked = 0, False, False
    i = 0
    while i < n:
        byte = page[i]
        if byte & 0xC0 != 0x80:
            while change < len(changed_at) and changed_at[change] <= at:
                element = changed_to[change]
                is_linked = False
                inner = element
                while inner >= 0 and not is_linked:
                    is_linked = is_anchor[inner]
                    inner = parents[inner]
                change += 1
            at += 1
        i += 1
        if byte == _SPACE or 9 <= byte <= 13:
            gap = max(gap, 1)
        elif byte == _NO_BREAK_SPACE[0] and i < n and page[i] == _NO_BREAK_SPACE[1]:
            gap = max(gap, 1)
            i += 1
        elif byte == _MARK:
            gap = 2
        elif byte != 0:
            if size == 0 or gap == 2:
                if size:
                    rest[size] = _LINE_END
                    size += 1
                    line += 1
                inner = element
                while is_anchor[inner] and parents[inner] >= 0:
                    inner = parents[inner]
                of_lines[line] = inner
            elif gap == 1:
                rest[size] = _SPACE
                size += 1
                linked[line] += is_linked and was_linked
            gap = 0
            was_linked = is_linked
            rest[size] = byte
            size += 1
            if byte & 0xC0 != 0x80:
                linked[line] += is_linked
    return size
