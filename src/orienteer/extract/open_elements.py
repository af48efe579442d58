"""The stack of open elements, by the rules of the HTML standard's tree construction.

The meaning of a tag depends on the open elements: `<title>` begins text that ends at `</title>`, but not in SVG; the
content of a `template` is not on the page; after a `frameset` only frames count. So this module maintains the stack of
open elements of the standard, and the list of formatting elements, but builds no tree.

Each step along the stack is counted. A page that needs more steps than it should (thousands of elements left open, and
as many end tags that fit none) is not followed to its end: `GAVE_UP` is set, and from there on tags are taken as they
come. What this leaves out of the standard changes no link: where foster parents are, what attributes are merged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.extract.elements import BARRIER, FLAGS, HTML, N_NAMES, SPECIAL, numbers
from orienteer.kernel import inner

MAX_OPEN = 1 << 14  # elements; also formatting elements
_STEPS_PER_BYTE = 50
_MIN_STEPS = 1_000_000

# All of it is one array, of which these are the rows. Formatting elements are known by slots.
ELEMENTS = 0  # the stack from the root on: name * 4 + namespace
SLOTS = 1  # of each element of the stack; one of the constants below if negative
LISTED = 2  # slots in the order of the list of formatting elements
SLOT_NAMES, SLOT_LOOKS, SLOT_IS_OPEN, SLOT_IS_LISTED = 3, 4, 5, 6  # looks are a hash of the attributes
SLOT_IS_HIDDEN = 7  # in a template
FREE = 8  # slots to be used again
N_OF_NAME = 9  # how many elements of HTML are open, by their names
STATE = 10
NODES = 11  # of each element of the stack, its number for readers; see `markup`
_N_ROWS = 12

# Figures of the state.
N_OPEN, N_LISTED, N_FREE, N_SLOTS, STEPS_LEFT, GAVE_UP, N_TEMPLATES, N_SHADOWS = range(8)
HAS_BODY, IS_FRAMESET, SHOWS_SOMETHING, HAS_FORM, IS_QUIRKY = range(8, 13)

# Slots of elements that are no formatting elements.
NO_SLOT, HIDDEN_TEMPLATE, SHADOW_TEMPLATE, SHADOW_HOST = -1, -2, -3, -4
MARKER = -1  # in the list of formatting elements: those before it are not opened again here

_BUTTON, _DD, _DT, _HTML, _LI, _OPTGROUP = numbers("button", "dd", "dt", "html", "li", "optgroup")
_OPTION, _P, _RB, _RP, _RT, _RTC = numbers("option", "p", "rb", "rp", "rt", "rtc")


def nothing_open(n_bytes: int) -> np.ndarray:
    """Before the first byte of a page of this size."""
    tree = np.zeros((_N_ROWS, min(MAX_OPEN, n_bytes // 3 + N_NAMES)), np.int64)
    tree[ELEMENTS, 0], tree[SLOTS, 0] = _HTML << 2, NO_SLOT
    tree[STATE, N_OPEN], tree[STATE, IS_QUIRKY] = 1, 1
    tree[STATE, STEPS_LEFT] = max(_MIN_STEPS, _STEPS_PER_BYTE * n_bytes)
    return tree


@inner
def flags_of(element: Any) -> Any:
    name = element >> 2
    return FLAGS[element & 3, name] if name < N_NAMES else 0


@inner
def step(tree: Any, n_steps: Any) -> Any:
    """Whether there is still time to go on."""
    tree[STATE, STEPS_LEFT] -= n_steps
    if tree[STATE, STEPS_LEFT] < 0:
        tree[STATE, GAVE_UP] = 1
        return False
    return True


@inner
def _count(tree: Any, element: Any, change: Any) -> Any:
    if element & 3 == HTML and element >> 2 < N_NAMES:
        tree[N_OF_NAME, element >> 2] += change


@inner
def is_open(tree: Any, name: Any) -> Any:
    """Whether an element of this name may be open; it is not looked for else."""
    return name >= N_NAMES or tree[N_OF_NAME, name] > 0


@inner
def push(tree: Any, element: Any, slot: Any) -> Any:
    n = tree[STATE, N_OPEN]
    if n == tree.shape[1]:
        tree[STATE, GAVE_UP] = 1
        return
    tree[ELEMENTS, n], tree[SLOTS, n], tree[NODES, n] = element, slot, tree[NODES, n - 1]
    tree[STATE, N_OPEN] = n + 1
    _count(tree, element, 1)
    if slot >= 0:
        tree[SLOT_IS_OPEN, slot] = True
    elif slot == HIDDEN_TEMPLATE:
        tree[STATE, N_TEMPLATES] += 1
    elif slot == SHADOW_TEMPLATE:
        tree[STATE, N_SHADOWS] += 1


@inner
def free_slot(tree: Any, slot: Any) -> Any:
    if not tree[SLOT_IS_OPEN, slot] and not tree[SLOT_IS_LISTED, slot]:
        tree[FREE, tree[STATE, N_FREE]] = slot
        tree[STATE, N_FREE] += 1


@inner
def pop_to(tree: Any, place: Any) -> Any:
    """Close all from this place of the stack on."""
    place = max(place, 1 + tree[STATE, HAS_BODY])
    while tree[STATE, N_OPEN] > place:
        tree[STATE, N_OPEN] -= 1
        _count(tree, tree[ELEMENTS, tree[STATE, N_OPEN]], -1)
        slot = tree[SLOTS, tree[STATE, N_OPEN]]
        if slot >= 0:
            tree[SLOT_IS_OPEN, slot] = False
            free_slot(tree, slot)
        elif slot == HIDDEN_TEMPLATE:
            tree[STATE, N_TEMPLATES] -= 1
        elif slot == SHADOW_TEMPLATE:
            tree[STATE, N_SHADOWS] -= 1


@inner
def remove(tree: Any, place: Any) -> Any:
    """Take one element out of the stack."""
    slot, n = tree[SLOTS, place], tree[STATE, N_OPEN]
    step(tree, n - place)
    _count(tree, tree[ELEMENTS, place], -1)
    for i in range(place, n - 1):
        tree[ELEMENTS, i], tree[SLOTS, i], tree[NODES, i] = (
            tree[ELEMENTS, i + 1], tree[SLOTS, i + 1], tree[NODES, i + 1]
        )  # fmt: skip
    tree[STATE, N_OPEN] = n - 1
    if slot >= 0:
        tree[SLOT_IS_OPEN, slot] = False
        free_slot(tree, slot)


@inner
def place_in_scope(tree: Any, name: Any, barrier: Any, more_barrier: Any) -> Any:
    """The place of the innermost such element in scope, or -1; the scope may have one or two more barriers."""
    place = tree[STATE, N_OPEN] if is_open(tree, name) else 0
    while place > 0:
        place -= 1
        element = tree[ELEMENTS, place]
        if element == name << 2:
            return place
        if flags_of(element) & BARRIER or element == barrier << 2 or element == more_barrier << 2:
            return -1
        if not step(tree, 1):
            return -1
    return -1


@inner
def scoped(tree: Any, name: Any) -> Any:
    return place_in_scope(tree, name, name, name)


@inner
def close_scoped(tree: Any, name: Any) -> Any:
    place = scoped(tree, name)
    if place >= 0:
        pop_to(tree, place)
    return place >= 0


@inner
def close_p(tree: Any) -> Any:
    place = place_in_scope(tree, _P, _BUTTON, _BUTTON)
    if place >= 0:
        pop_to(tree, place)


@inner
def end_any(tree: Any, name: Any) -> Any:
    place = tree[STATE, N_OPEN] - 1 if is_open(tree, name) else 0
    while place > 0:
        element = tree[ELEMENTS, place]
        if element == name << 2:
            pop_to(tree, place)
            return
        if flags_of(element) & SPECIAL or not step(tree, 1):
            return
        place -= 1


@inner
def is_foreign(tree: Any) -> Any:
    """Whether the innermost element is of SVG or MathML."""
    return tree[ELEMENTS, tree[STATE, N_OPEN] - 1] & 3 != HTML


@inner
def is_implied(element: Any, but: Any) -> Any:
    """Whether the end tag of this element may be left out anywhere."""
    name = element >> 2
    if element & 3 != HTML or name == but:
        return False
    if name == _DD or name == _DT or name == _LI or name == _OPTGROUP or name == _OPTION or name == _P:
        return True
    return name == _RB or name == _RP or name == _RT or name == _RTC
