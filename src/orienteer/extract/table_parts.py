"""The rules of tables for the stack of open elements: which elements of a table end where the next one begins."""

from __future__ import annotations

from typing import Any

from orienteer.extract.elements import HTML, TABLE_PART, numbers
from orienteer.extract.formatting_elements import add_marker, clear_to_marker
from orienteer.extract.open_elements import (
    ELEMENTS,
    GAVE_UP,
    IS_QUIRKY,
    N_OPEN,
    N_SHADOWS,
    NO_SLOT,
    STATE,
    close_p,
    flags_of,
    is_open,
    pop_to,
    push,
    step,
)  # fmt: skip
from orienteer.kernel import inner

_CAPTION, _COL, _COLGROUP, _TABLE, _TBODY, _TD = numbers("caption", "col", "colgroup", "table", "tbody", "td")
_TEMPLATE, _TFOOT, _TH, _THEAD, _TR = numbers("template", "tfoot", "th", "thead", "tr")


@inner
def _context(tree: Any) -> Any:
    """The place of the innermost part of a table, table or template."""
    place = tree[STATE, N_OPEN] - 1 if is_open(tree, _TABLE) or is_open(tree, _TEMPLATE) else 0
    while place > 0 and step(tree, 1):
        element = tree[ELEMENTS, place]
        name = element >> 2
        if element & 3 == HTML and (flags_of(element) & TABLE_PART or name == _TABLE or name == _TEMPLATE):
            return place
        place -= 1
    return 0


@inner
def _place_in_table(tree: Any, name: Any) -> Any:
    """The same in table scope: as far as the table, or the template."""
    place = tree[STATE, N_OPEN] if is_open(tree, name) else 0
    while place > 0:
        place -= 1
        element = tree[ELEMENTS, place]
        if element == name << 2:
            return place
        if element == _TABLE << 2 or element == _TEMPLATE << 2 or not step(tree, 1):
            return -1
    return -1


@inner
def is_section(name: Any) -> Any:
    return name == _TBODY or name == _THEAD or name == _TFOOT


@inner
def _is_cell(name: Any) -> Any:
    return name == _TD or name == _TH


@inner
def _leave(tree: Any, place: Any) -> Any:
    """Close a part of a table."""
    name = tree[ELEMENTS, place] >> 2
    pop_to(tree, place)
    if _is_cell(name) or name == _CAPTION:
        clear_to_marker(tree)


@inner
def start_table_part(tree: Any, name: Any) -> Any:
    place = _context(tree)
    context = tree[ELEMENTS, place] >> 2
    if name == _TABLE:
        return _start_table(tree, place, context)
    if place == 0:
        return False  # not in a table
    if context == _TEMPLATE and tree[STATE, N_SHADOWS]:
        tree[STATE, GAVE_UP] = 1  # what may follow here depends on more than what is open
    # Close elements that cannot contain the new one.
    while context != _TABLE and context != _TEMPLATE:
        stays = (_is_cell(name) and (context == _TR or is_section(context))) or (name == _TR and is_section(context))
        if stays or (name == _COL and context == _COLGROUP):
            break
        _leave(tree, place)
        place = _context(tree)
        context = tree[ELEMENTS, place] >> 2
    pop_to(tree, place + 1)
    if name == _COL:
        if context == _TABLE:
            push(tree, _COLGROUP << 2, NO_SLOT)
        return True
    if context == _TABLE and (_is_cell(name) or name == _TR):
        push(tree, _TBODY << 2, NO_SLOT)
    if _is_cell(name) and context != _TR and context != _TEMPLATE:
        push(tree, _TR << 2, NO_SLOT)
    push(tree, name << 2, NO_SLOT)
    if _is_cell(name) or name == _CAPTION:
        add_marker(tree)
    return True


@inner
def _start_table(tree: Any, place: Any, context: Any) -> Any:
    if place and (context == _TABLE or context == _COLGROUP or context == _TR or is_section(context)):
        # A table in a table that is not in a cell ends it.
        table = _place_in_table(tree, _TABLE)
        if table >= 0:
            pop_to(tree, table)
    elif not tree[STATE, IS_QUIRKY]:
        close_p(tree)
    push(tree, _TABLE << 2, NO_SLOT)
    return True


@inner
def end_table_part(tree: Any, name: Any) -> Any:
    place = _context(tree)
    context = tree[ELEMENTS, place] >> 2
    if name == _COL or place == 0 or (context == _TEMPLATE and name != _TABLE):
        return
    if context == _CAPTION and name != _CAPTION and name != _TABLE:
        return
    if _is_cell(context) and (name == _CAPTION or name == _COLGROUP or (_is_cell(name) and name != context)):
        target = _place_in_table(tree, name) if _is_cell(name) else -1
    else:
        target = _place_in_table(tree, name)
    if target < 0:
        return
    if context == _COLGROUP and name != _COLGROUP and name != _TABLE:
        return
    while tree[STATE, N_OPEN] > target:
        _leave(tree, max(target, _context(tree)))
