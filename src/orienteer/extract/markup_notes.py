"""Notes that go along with a lightened page (`markup`): which element a tag or a text stands in.

Elements that a reader wants to know of get numbers, in the order of their start tags; the page is 0. Of each start tag
that stays, a note says what it stands in. Where a text, unless it is blank, stands in another element than what was
before it, an end tag that no page can have (`CHANGE`) precedes it, and a note says in which.

A reader that wants to know of elements, but not to hear of each, gets a table of them (`NodeTable`). Then there are
notes of changes alone, and a zero stands for each in the text itself, where no other is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.elements import numbers
from orienteer.extract.open_elements import ELEMENTS, GAVE_UP, N_OPEN, NODES, STATE
from orienteer.kernel import inner

CHANGE = "x"
MAX_NODES = 200_000  # elements with numbers; what follows stands in them
N_NOTES, N_NODES, LAST_NODE, FIRST_NOTE = range(4)  # what stands in front of the notes

_LESS, _SLASH, _GREATER, _CHANGE_BYTE = f"</>{CHANGE}".encode()
(_HTML,) = numbers("html")


class NodeTable(NamedTuple):
    """The elements with numbers: what each stands in, its name, and from where to where in the page its attributes are.

    The first is the page, and stands in -1.
    """

    parents: NDArray[np.int64]
    names: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def new_notes(n_bytes: int, is_wanted: bool) -> NDArray[np.int32]:
    """For a page of this size; nothing is noted where they are empty.

    A note, or a change, takes a tag of three bytes at least; before a change there is such a tag, behind it text.
    """
    return np.zeros(FIRST_NOTE + n_bytes // 3 + n_bytes // 4 + 2 if is_wanted else 0, np.int32)


def new_table(n_bytes: int, is_wanted: bool) -> NDArray[np.int64]:
    """The same for a table, as `NodeTable` has its rows."""
    table = np.empty((4, min(n_bytes // 3, MAX_NODES) + 1 if is_wanted else 0), np.int64)
    table[:, :1] = [[-1], [_HTML], [0], [0]]
    return table


@inner
def note_change(rest: Any, size: Any, tree: Any, notes: Any, table: Any) -> Any:
    """Note which element the text stands in that comes next, if it is another; the number of bytes in `rest`."""
    if len(notes) == 0:
        return size
    node = tree[NODES, tree[STATE, N_OPEN] - 1]
    if node == notes[LAST_NODE]:
        return size
    notes[LAST_NODE] = node
    notes[FIRST_NOTE + notes[N_NOTES]] = node
    notes[N_NOTES] += 1
    if table.shape[1]:
        rest[size] = 0
        return size + 1
    for byte in (_LESS, _SLASH, _CHANGE_BYTE, _GREATER):
        rest[size] = byte
        size += 1
    return size


@inner
def note_start(tree: Any, name: Any, is_node: Any, notes: Any, table: Any, start: Any, end: Any) -> Any:
    """Note what the start tag stands in that stays, and give its element, with its attributes here, a number."""
    if len(notes) == 0:
        return
    top = tree[STATE, N_OPEN] - 1
    is_node = is_node and not tree[STATE, GAVE_UP] and tree[ELEMENTS, top] == name << 2
    is_node = is_node and top > 0 and notes[N_NODES] < MAX_NODES
    around = tree[NODES, top - 1] if is_node else tree[NODES, top]
    if is_node:
        notes[N_NODES] += 1
        tree[NODES, top] = notes[N_NODES]
    if table.shape[1]:
        if is_node:
            for row, value in enumerate((around, name, start, end)):
                table[row, notes[N_NODES]] = value
        return
    notes[LAST_NODE] = tree[NODES, top]
    notes[FIRST_NOTE + notes[N_NOTES]] = 2 * around + is_node
    notes[N_NOTES] += 1
