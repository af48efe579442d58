"""The list of formatting elements (`b`, `i`, links and others), which are reopened after a block has closed them.

The standard's list, with its markers, and its adoption agency: what the end tag of such an element does to the stack.
"""

from __future__ import annotations

from typing import Any

from orienteer.extract.elements import BARRIER, SPECIAL, numbers
from orienteer.extract.open_elements import (
    ELEMENTS,
    FREE,
    GAVE_UP,
    LISTED,
    MARKER,
    N_FREE,
    N_LISTED,
    N_OPEN,
    N_SLOTS,
    N_TEMPLATES,
    NO_SLOT,
    NODES,
    SLOT_IS_HIDDEN,
    SLOT_IS_LISTED,
    SLOT_IS_OPEN,
    SLOT_LOOKS,
    SLOT_NAMES,
    SLOTS,
    STATE,
    end_any,
    flags_of,
    free_slot,
    pop_to,
    push,
    remove,
    scoped,
    step,
)  # fmt: skip
from orienteer.kernel import inner

(_NOBR,) = numbers("nobr")


@inner
def list_slot(tree: Any, name: Any, looks: Any) -> Any:
    """A new slot at the end of the list; of more than three that look the same, the first goes."""
    n = tree[STATE, N_LISTED]
    if n == tree.shape[1] or (tree[STATE, N_FREE] == 0 and tree[STATE, N_SLOTS] == tree.shape[1]):
        tree[STATE, GAVE_UP] = 1
        return NO_SLOT
    n_same, first, k = 0, -1, n - 1
    while k >= 0 and tree[LISTED, k] != MARKER and step(tree, 1):
        slot = tree[LISTED, k]
        if tree[SLOT_NAMES, slot] == name and tree[SLOT_LOOKS, slot] == looks:
            n_same, first = n_same + 1, k
        k -= 1
    if n_same >= 3:
        _unlist(tree, first)
    if tree[STATE, N_FREE]:
        tree[STATE, N_FREE] -= 1
        slot = tree[FREE, tree[STATE, N_FREE]]
    else:
        slot = tree[STATE, N_SLOTS]
        tree[STATE, N_SLOTS] += 1
    tree[SLOT_NAMES, slot], tree[SLOT_LOOKS, slot] = name, looks
    tree[SLOT_IS_OPEN, slot], tree[SLOT_IS_LISTED, slot] = False, True
    tree[SLOT_IS_HIDDEN, slot] = tree[STATE, N_TEMPLATES] > 0
    tree[LISTED, tree[STATE, N_LISTED]] = slot
    tree[STATE, N_LISTED] += 1
    return slot


@inner
def _unlist(tree: Any, k: Any) -> Any:
    slot, n = tree[LISTED, k], tree[STATE, N_LISTED]
    step(tree, n - k)
    for i in range(k, n - 1):
        tree[LISTED, i] = tree[LISTED, i + 1]
    tree[STATE, N_LISTED] = n - 1
    tree[SLOT_IS_LISTED, slot] = False
    free_slot(tree, slot)


@inner
def _place_listed(tree: Any, slot: Any) -> Any:
    k = tree[STATE, N_LISTED] - 1
    while k > 0 and tree[LISTED, k] != slot and step(tree, 1):
        k -= 1
    return k


@inner
def _list_behind(tree: Any, slot: Any, other: Any) -> Any:
    """Move a slot in the list to the place behind another."""
    k, to = _place_listed(tree, slot), _place_listed(tree, other)
    while k < to:
        tree[LISTED, k] = tree[LISTED, k + 1]
        k += 1
    while k > to + 1:
        tree[LISTED, k] = tree[LISTED, k - 1]
        k -= 1
    tree[LISTED, k] = slot


@inner
def add_marker(tree: Any) -> Any:
    n = tree[STATE, N_LISTED]
    if n == tree.shape[1]:
        tree[STATE, GAVE_UP] = 1
    else:
        tree[LISTED, n] = MARKER
        tree[STATE, N_LISTED] = n + 1


@inner
def clear_to_marker(tree: Any) -> Any:
    while tree[STATE, N_LISTED] > 0:
        k = tree[STATE, N_LISTED] - 1
        if tree[LISTED, k] == MARKER:
            tree[STATE, N_LISTED] = k
            return
        _unlist(tree, k)


@inner
def reopen(tree: Any) -> Any:
    """Open the formatting elements again that were closed with their block."""
    n = tree[STATE, N_LISTED]
    k = n
    while k > 0 and tree[LISTED, k - 1] != MARKER and not tree[SLOT_IS_OPEN, tree[LISTED, k - 1]]:
        k -= 1
    for i in range(k, n):
        if not step(tree, 1):
            return
        slot = tree[LISTED, i]
        if tree[SLOT_IS_HIDDEN, slot] and tree[STATE, N_TEMPLATES] == 0:
            tree[STATE, GAVE_UP] = 1  # a link of a template comes out on the page
        push(tree, tree[SLOT_NAMES, slot] << 2, slot)


@inner
def end_formatting(tree: Any, name: Any) -> Any:
    """The standard's adoption agency, for the end tag of a formatting element."""
    top = tree[STATE, N_OPEN] - 1
    if tree[ELEMENTS, top] == name << 2 and (tree[SLOTS, top] < 0 or not tree[SLOT_IS_LISTED, tree[SLOTS, top]]):
        pop_to(tree, top)
        return
    for _ in range(8):
        k = tree[STATE, N_LISTED] - 1
        while k >= 0 and tree[LISTED, k] != MARKER and tree[SLOT_NAMES, tree[LISTED, k]] != name and step(tree, 1):
            k -= 1
        if k < 0 or tree[LISTED, k] == MARKER:
            end_any(tree, name)
            return
        if tree[STATE, GAVE_UP] or not _adopt(tree, k):
            return


@inner
def _adopt(tree: Any, k: Any) -> Any:
    """One round of it, for the element at k in the list; whether there may be another."""
    slot = tree[LISTED, k]
    if not tree[SLOT_IS_OPEN, slot]:
        _unlist(tree, k)
        return False
    place, block = tree[STATE, N_OPEN] - 1, -1
    while tree[SLOTS, place] != slot:
        flags = flags_of(tree[ELEMENTS, place])
        if flags & BARRIER:
            return False
        if flags & SPECIAL:
            block = place
        place -= 1
        if not step(tree, 1):
            return False
    if block < 0:
        pop_to(tree, place)
        _unlist(tree, k)
        return False
    bookmark, n_seen, node = NO_SLOT, 0, block - 1
    while node > place:
        inner, n_seen = tree[SLOTS, node], n_seen + 1
        is_listed = inner >= 0 and tree[SLOT_IS_LISTED, inner]
        if is_listed and n_seen > 3:
            _unlist(tree, _place_listed(tree, inner))
            is_listed = False
        if not is_listed:
            remove(tree, node)
            block -= 1
        elif bookmark == NO_SLOT:
            bookmark = inner
        node -= 1
    if bookmark != NO_SLOT:
        _list_behind(tree, slot, bookmark)
    element = tree[ELEMENTS, place]
    for i in range(place, block):
        tree[ELEMENTS, i], tree[SLOTS, i], tree[NODES, i] = (
            tree[ELEMENTS, i + 1], tree[SLOTS, i + 1], tree[NODES, i + 1]
        )  # fmt: skip
    tree[ELEMENTS, block], tree[SLOTS, block] = element, slot
    return step(tree, block - place + 1)


@inner
def end_open_formatting(tree: Any, name: Any) -> Any:
    """A link ends where the next one begins."""
    if name == _NOBR:
        if scoped(tree, name) >= 0:
            reopen(tree)
            end_formatting(tree, name)
        return
    k = tree[STATE, N_LISTED] - 1
    while k >= 0 and tree[LISTED, k] != MARKER and tree[SLOT_NAMES, tree[LISTED, k]] != name and step(tree, 1):
        k -= 1
    if k < 0 or tree[LISTED, k] == MARKER or tree[STATE, GAVE_UP]:
        return
    slot = tree[LISTED, k]
    end_formatting(tree, name)
    if tree[SLOT_IS_LISTED, slot]:
        _unlist(tree, _place_listed(tree, slot))
    if tree[SLOT_IS_OPEN, slot]:
        place = tree[STATE, N_OPEN] - 1
        while place > 0 and tree[SLOTS, place] != slot and step(tree, 1):
            place -= 1
        if tree[SLOTS, place] == slot:
            remove(tree, place)
