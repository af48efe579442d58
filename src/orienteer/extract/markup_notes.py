"""Notes on a filtered page (`markup`): the enclosing elements of tags and texts.

Elements that a reader needs get numbers in the order of their start tags; the page is 0. Each retained start tag has a
note with its enclosing element. If a text that is not blank has another element than the token before it, an end tag
that no page can have (`CHANGE`) precedes it, with a note of the new element.

A reader that needs elements, but no call for each, gets a table of them (`NodeTable`). Then there are only notes of
changes, and each is marked by a zero in the text itself, from which other zeros are removed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.elements import numbers
from orienteer.extract.open_elements import ELEMENTS, GAVE_UP, N_OPEN, NODES, STATE
from orienteer.kernel import inner

CHANGE = "x"
MAX_NODES = 200_000  # elements with numbers; content of further ones counts for their parents
N_NOTES, N_NODES, LAST_NODE, FIRST_NOTE = range(4)  # the header of the notes

_LESS, _SLASH, _GREATER, _CHANGE_BYTE = f"</>{CHANGE}".encode()
(_HTML,) = numbers("html")


class NodeTable(NamedTuple):
    """The elements with numbers: their parents, names, and the ranges of their attributes in the page.

    The first is the page, with the parent -1.
    """

    parents: NDArray[np.int64]
    names: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def new_notes(n_bytes: int, is_needed: bool) -> NDArray[np.int32]:
    """Allocate notes for a page of this size; empty notes disable them.

    A note or a change needs a tag of at least three bytes; a change has such a tag before it and text after it.
    """
    return np.zeros(FIRST_NOTE + n_bytes // 3 + n_bytes // 4 + 2 if is_needed else 0, np.int32)


def new_table(n_bytes: int, is_needed: bool) -> NDArray[np.int64]:
    """Allocate a table with the rows of `NodeTable`; an empty table disables it."""
    table = np.empty((4, min(n_bytes // 3, MAX_NODES) + 1 if is_needed else 0), np.int64)
    table[:, :1] = [[-1], [_HTML], [0], [0]]
    return table


@inner
def note_change(rest: Any, size: Any, tree: Any, notes: Any, table: Any) -> Any:
    """Note the element of the next text if it has changed; return the new size of `rest`."""
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
    """Note the enclosing element of a retained start tag, and number its element, with the range of its attributes."""
    if len(notes) == 0:
        return
    top = tree[STATE, N_OPEN] - 1
    is_node = is_node and not tree[STATE, GAVE_UP] and tree[ELEMENTS, top] == name << 2
    is_node = is_node and top > 0 and notes[N_NODES] < MAX_NODES
    parent = tree[NODES, top - 1] if is_node else tree[NODES, top]
    if is_node:
        notes[N_NODES] += 1
        tree[NODES, top] = notes[N_NODES]
    if table.shape[1]:
        if is_node:
            for row, value in enumerate((parent, name, start, end)):
                table[row, notes[N_NODES]] = value
        return
    notes[LAST_NODE] = tree[NODES, top]
    notes[FIRST_NOTE + notes[N_NOTES]] = 2 * parent + is_node
    notes[N_NOTES] += 1
