"""What start tags, end tags and text do to the elements that are open: the HTML standard's insertion modes.

Which mode a page is in follows from what is open, but for a few figures of the state: whether there is a body yet, or
a frameset in its place. Scripts are off.
"""

from __future__ import annotations

from typing import Any

from orienteer.extract.elements import (
    BARRIER,
    BLOCK,
    BREAKS_OUT,
    EMPTY,
    ENDS_SCOPED,
    FORMATTING,
    HOLDS_HTML,
    HOSTS_SHADOW,
    HTML,
    IN_HEAD,
    MATH,
    MATH_WITH_HTML,
    N_NAMES,
    RAW_TEXT,
    SHOWS,
    SPECIAL,
    SVG,
    TABLE_PART,
    numbers,
)  # fmt: skip
from orienteer.extract.formatting_elements import (
    add_marker,
    clear_to_marker,
    end_formatting,
    end_open_formatting,
    list_slot,
    reopen,
)  # fmt: skip
from orienteer.extract.open_elements import (
    ELEMENTS,
    GAVE_UP,
    HAS_BODY,
    HAS_FORM,
    HIDDEN_TEMPLATE,
    IS_FRAMESET,
    N_OPEN,
    N_SHADOWS,
    N_TEMPLATES,
    NO_SLOT,
    SHADOW_HOST,
    SHADOW_TEMPLATE,
    SHOWS_SOMETHING,
    SLOTS,
    STATE,
    close_p,
    close_scoped,
    end_any,
    flags_of,
    is_foreign,
    is_implied,
    place_in_scope,
    pop_to,
    push,
    remove,
    scoped,
    step,
)  # fmt: skip
from orienteer.extract.table_parts import end_table_part, is_section, start_table_part
from orienteer.kernel import inner

# What becomes of a start tag: it is ignored, an element of HTML, one of SVG or MathML, or it takes the body's place.
IGNORED, ELEMENT, DRAWN, FRAMESET_BEGINS = range(4)

_A, _ADDRESS, _ANNOTATION, _APPLET, _BODY, _BR = numbers("a", "address", "annotation-xml", "applet", "body", "br")
_BUTTON, _COLGROUP, _DD, _DIV, _DT, _FONT = numbers("button", "colgroup", "dd", "div", "dt", "font")
_FORM, _FRAME, _FRAMESET, _H1, _H6, _HEAD = numbers("form", "frame", "frameset", "h1", "h6", "head")
_HTML, _INPUT, _LI, _MALIGNMARK, _MARQUEE, _MATH = numbers("html", "input", "li", "malignmark", "marquee", "math")
_MGLYPH, _NOBR, _NOFRAMES, _NOSCRIPT, _OBJECT, _OL = numbers("mglyph", "nobr", "noframes", "noscript", "object", "ol")
_OPTGROUP, _OPTION, _P, _RB, _RP, _RT = numbers("optgroup", "option", "p", "rb", "rp", "rt")
_RTC, _RUBY, _SELECT, _SVG, _TABLE, _TEMPLATE = numbers("rtc", "ruby", "select", "svg", "table", "template")
_TR, _UL = numbers("tr", "ul")


@inner
def start_tag(tree: Any, name: Any, is_empty: Any, looks: Any, says: Any) -> Any:
    """Open the element of a start tag; what becomes of it.

    `says` is what its attributes say that matters: of a `template` that it is a shadow, of a `font` that it has looks,
    of an `annotation-xml` that it holds HTML, of an `input` that it is hidden.
    """
    if tree[STATE, GAVE_UP]:
        return ELEMENT
    if tree[STATE, IS_FRAMESET]:
        return _start_in_frameset(tree, name)
    top = tree[ELEMENTS, tree[STATE, N_OPEN] - 1]
    if top & 3 != HTML and not _reads_html(top, name):
        if not (flags_of(name << 2) & BREAKS_OUT or (name == _FONT and says)):
            return _start_foreign(tree, name, top & 3, is_empty, says)
        while tree[ELEMENTS, tree[STATE, N_OPEN] - 1] & 3 != HTML and not (
            flags_of(tree[ELEMENTS, tree[STATE, N_OPEN] - 1]) & HOLDS_HTML
        ):
            pop_to(tree, tree[STATE, N_OPEN] - 1)
    flags = flags_of(name << 2)
    if not tree[STATE, HAS_BODY] and tree[STATE, N_TEMPLATES] == 0 and not flags & IN_HEAD:
        if name == _FRAMESET:
            return _begin_frameset(tree)
        open_body(tree)
    if name == _FRAMESET:
        return _start_frameset(tree)
    if flags & SHOWS or (name == _INPUT and not says):
        tree[STATE, SHOWS_SOMETHING] = 1
    if flags & TABLE_PART or name == _TABLE:
        return ELEMENT if start_table_part(tree, name) else IGNORED
    return _start_in_body(tree, name, flags, is_empty, looks, says)


@inner
def open_body(tree: Any) -> Any:
    """The body begins, with or without its tag."""
    if not tree[STATE, HAS_BODY] and tree[STATE, N_TEMPLATES] == 0 and not tree[STATE, IS_FRAMESET]:
        push(tree, _BODY << 2, NO_SLOT)
        tree[STATE, HAS_BODY] = 1


@inner
def _reads_html(top: Any, name: Any) -> Any:
    """Whether a start tag within this foreign element is HTML."""
    if top == _ANNOTATION << 2 | MATH and name == _SVG:
        return True
    if not flags_of(top) & HOLDS_HTML:
        return False
    return top & 3 != MATH or (name != _MGLYPH and name != _MALIGNMARK)


@inner
def _start_foreign(tree: Any, name: Any, space: Any, is_empty: Any, says: Any) -> Any:
    space = MATH if space == MATH_WITH_HTML else space
    if space == MATH and name == _ANNOTATION and says:
        space = MATH_WITH_HTML
    if not is_empty:
        push(tree, name << 2 | space, NO_SLOT)
    return DRAWN if space == SVG else IGNORED


@inner
def _start_in_frameset(tree: Any, name: Any) -> Any:
    if name == _NOFRAMES:
        return ELEMENT
    if tree[STATE, N_OPEN] == 1:  # it has ended
        return IGNORED
    if name == _FRAMESET:
        push(tree, name << 2, NO_SLOT)
    return ELEMENT if name == _FRAME else IGNORED


@inner
def _start_frameset(tree: Any) -> Any:
    """A frameset takes the place of a body in which nothing is seen yet."""
    if not tree[STATE, HAS_BODY] or tree[STATE, SHOWS_SOMETHING]:
        return IGNORED
    tree[STATE, HAS_BODY] = 0
    pop_to(tree, 1)
    return _begin_frameset(tree)


@inner
def _begin_frameset(tree: Any) -> Any:
    tree[STATE, IS_FRAMESET] = 1
    push(tree, _FRAMESET << 2, NO_SLOT)
    return FRAMESET_BEGINS


@inner
def _start_in_body(tree: Any, name: Any, flags: Any, is_empty: Any, looks: Any, says: Any) -> Any:
    if name == _TEMPLATE:
        return _start_template(tree, says)
    if flags & IN_HEAD and name != _NOSCRIPT:
        return ELEMENT
    if name == _BODY or name == _FRAME:
        return IGNORED if name == _FRAME else ELEMENT
    if flags & BLOCK:
        return _start_block(tree, name, flags)
    if name == _A or name == _NOBR:
        end_open_formatting(tree, name)
    elif name == _BUTTON:
        close_scoped(tree, name)
    elif name == _SELECT or name == _INPUT:
        if close_scoped(tree, _SELECT) and name == _SELECT:
            return IGNORED
    elif name == _OPTION or name == _OPTGROUP:
        _start_option(tree, name)
    elif name == _RB or name == _RT or name == _RP or name == _RTC:
        return _start_ruby_part(tree, name)
    if name == _NOSCRIPT and not tree[STATE, HAS_BODY] and tree[STATE, N_TEMPLATES] == 0:
        return ELEMENT
    if flags & RAW_TEXT:
        return ELEMENT
    reopen(tree)
    if flags & FORMATTING:
        push(tree, name << 2, list_slot(tree, name, looks))
    elif name == _SVG or name == _MATH:
        if not is_empty:
            push(tree, name << 2 | (SVG if name == _SVG else MATH), NO_SLOT)
        return DRAWN
    elif not flags & EMPTY:
        push(tree, name << 2, NO_SLOT)
        if name == _APPLET or name == _MARQUEE or name == _OBJECT:
            add_marker(tree)
    return ELEMENT


@inner
def _start_template(tree: Any, is_shadow: Any) -> Any:
    host = tree[STATE, N_OPEN] - 1
    if is_shadow and _may_host(tree[ELEMENTS, host]) and tree[SLOTS, host] == NO_SLOT:
        tree[SLOTS, host] = SHADOW_HOST  # it takes one shadow
        push(tree, _TEMPLATE << 2, SHADOW_TEMPLATE)
    else:
        push(tree, _TEMPLATE << 2, HIDDEN_TEMPLATE)
    add_marker(tree)
    return ELEMENT


@inner
def _may_host(element: Any) -> Any:
    """Whether an element may have a shadow: one of a few, or one of a name that authors make up."""
    name = element >> 2
    return element & 3 == HTML and (bool(flags_of(element) & HOSTS_SHADOW) if name < N_NAMES else name & 1 == 1)


@inner
def _start_block(tree: Any, name: Any, flags: Any) -> Any:
    if name == _FORM:
        if tree[STATE, HAS_FORM] and tree[STATE, N_TEMPLATES] + tree[STATE, N_SHADOWS] == 0:
            return IGNORED
        if tree[STATE, N_TEMPLATES] + tree[STATE, N_SHADOWS] == 0:
            tree[STATE, HAS_FORM] = 1
    if name == _LI or name == _DD or name == _DT:
        _close_item(tree, name)
    close_p(tree)
    if _H1 <= name <= _H6 and _is_heading(tree[ELEMENTS, tree[STATE, N_OPEN] - 1]):
        pop_to(tree, tree[STATE, N_OPEN] - 1)
    if flags & RAW_TEXT:
        reopen(tree)
    elif not flags & EMPTY:
        push(tree, name << 2, NO_SLOT)
    return ELEMENT


@inner
def _is_heading(element: Any) -> Any:
    return element & 3 == HTML and _H1 <= element >> 2 <= _H6


@inner
def _close_item(tree: Any, name: Any) -> Any:
    """An item of a list ends where the next one begins."""
    place = tree[STATE, N_OPEN] - 1
    while place > 0:
        element = tree[ELEMENTS, place]
        other = element >> 2
        if element & 3 == HTML and (other == name or (name != _LI and (other == _DD or other == _DT))):
            pop_to(tree, place)
            return
        if flags_of(element) & SPECIAL and not (
            element & 3 == HTML and (other == _ADDRESS or other == _DIV or other == _P)
        ):
            return
        if not step(tree, 1):
            return
        place -= 1


@inner
def _start_option(tree: Any, name: Any) -> Any:
    if scoped(tree, _SELECT) < 0:
        if tree[ELEMENTS, tree[STATE, N_OPEN] - 1] == _OPTION << 2:
            pop_to(tree, tree[STATE, N_OPEN] - 1)
        return
    while is_implied(tree[ELEMENTS, tree[STATE, N_OPEN] - 1], _OPTGROUP if name == _OPTION else 0):
        pop_to(tree, tree[STATE, N_OPEN] - 1)


@inner
def _start_ruby_part(tree: Any, name: Any) -> Any:
    if scoped(tree, _RUBY) >= 0:
        while is_implied(tree[ELEMENTS, tree[STATE, N_OPEN] - 1], _RTC if name == _RT or name == _RP else 0):
            pop_to(tree, tree[STATE, N_OPEN] - 1)
    push(tree, name << 2, NO_SLOT)
    return ELEMENT


@inner
def end_tag(tree: Any, name: Any) -> Any:
    """Close what an end tag closes."""
    if tree[STATE, GAVE_UP]:
        return
    if tree[STATE, IS_FRAMESET]:
        if name == _FRAMESET and tree[STATE, N_OPEN] > 1:
            tree[STATE, N_OPEN] -= 1
        return
    if is_foreign(tree) and _end_foreign(tree, name):
        return
    if not tree[STATE, HAS_BODY] and tree[STATE, N_TEMPLATES] == 0:
        if name != _TEMPLATE and name != _BODY and name != _HTML and name != _BR:
            return
        if name != _TEMPLATE:
            open_body(tree)
    flags = flags_of(name << 2)
    if name == _TEMPLATE:
        _end_template(tree)
    elif flags & TABLE_PART or name == _TABLE:
        end_table_part(tree, name)
    elif name == _P:
        close_p(tree)
    elif name == _LI:
        place = place_in_scope(tree, name, _OL, _UL)
        if place >= 0:
            pop_to(tree, place)
    elif _H1 <= name <= _H6:
        _end_heading(tree)
    elif name == _FORM:
        _end_form(tree)
    elif flags & FORMATTING:
        end_formatting(tree, name)
    elif flags & ENDS_SCOPED:
        if close_scoped(tree, name) and (name == _APPLET or name == _MARQUEE or name == _OBJECT):
            clear_to_marker(tree)
    elif name == _BR and tree[STATE, N_TEMPLATES] == 0:
        tree[STATE, SHOWS_SOMETHING] = 1
        reopen(tree)
    elif name != _BODY and name != _HTML and name != _HEAD:
        end_any(tree, name)


@inner
def _end_foreign(tree: Any, name: Any) -> Any:
    """Close a foreign element, or say that the tag is HTML."""
    if name == _BR or name == _P:
        while is_foreign(tree) and not flags_of(tree[ELEMENTS, tree[STATE, N_OPEN] - 1]) & HOLDS_HTML:
            pop_to(tree, tree[STATE, N_OPEN] - 1)
        return False
    place = tree[STATE, N_OPEN] - 1
    while place > 0 and tree[ELEMENTS, place] & 3 != HTML and step(tree, 1):
        if tree[ELEMENTS, place] >> 2 == name:
            pop_to(tree, place)
            return True
        place -= 1
    return False


@inner
def _end_template(tree: Any) -> Any:
    if tree[STATE, N_TEMPLATES] + tree[STATE, N_SHADOWS] == 0:
        return
    place = tree[STATE, N_OPEN] - 1
    while tree[ELEMENTS, place] != _TEMPLATE << 2:
        place -= 1
    step(tree, tree[STATE, N_OPEN] - place)
    pop_to(tree, place)
    clear_to_marker(tree)


@inner
def _end_heading(tree: Any) -> Any:
    place = tree[STATE, N_OPEN] - 1
    while place > 0 and not flags_of(tree[ELEMENTS, place]) & BARRIER and step(tree, 1):
        if _is_heading(tree[ELEMENTS, place]):
            pop_to(tree, place)
            return
        place -= 1


@inner
def _end_form(tree: Any) -> Any:
    place = scoped(tree, _FORM)
    if tree[STATE, N_TEMPLATES] + tree[STATE, N_SHADOWS]:
        if place >= 0:
            pop_to(tree, place)
    elif tree[STATE, HAS_FORM]:
        tree[STATE, HAS_FORM] = 0
        if place >= 0:
            while is_implied(tree[ELEMENTS, tree[STATE, N_OPEN] - 1], 0):
                pop_to(tree, tree[STATE, N_OPEN] - 1)
            remove(tree, place)


@inner
def text(tree: Any, is_blank: Any) -> Any:
    """Text begins the body, unless it is blank, and opens formatting elements again."""
    if tree[STATE, GAVE_UP] or tree[STATE, IS_FRAMESET]:
        return
    if not is_blank:
        open_body(tree)
        tree[STATE, SHOWS_SOMETHING] = 1
    top = tree[ELEMENTS, tree[STATE, N_OPEN] - 1]
    if top & 3 != HTML and not flags_of(top) & HOLDS_HTML:
        return
    if not is_blank and top == _COLGROUP << 2:
        pop_to(tree, tree[STATE, N_OPEN] - 1)
    in_table = top & 3 == HTML and (top >> 2 == _TABLE or top >> 2 == _TR or is_section(top >> 2))
    if tree[STATE, HAS_BODY] and not (is_blank and in_table):
        reopen(tree)
