"""Where the tokens of a page end: tags, attributes, comments, and text that is no markup; all in bytes of UTF-8."""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.extract.elements import FNV_PRIME, HASHED_NUMBERS, HASHES, N_NAMES, TABLE_SHIFT, numbers
from orienteer.kernel import inner

_SPACE, _QUOTE, _APOSTROPHE, _DASH, _SLASH = b" \"'-/"
_LESS, _EQUALS, _GREATER, _QUESTION, _EXCLAMATION = b"<=>?!"
_FONT, _TEMPLATE, _ANNOTATION, _INPUT = numbers("font", "template", "annotation-xml", "input")

_ATTRIBUTES = np.zeros((10, 16), np.uint8)  # names that matter
_SHADOW_ROOT_MODE, _ENCODING, _TYPE, _COLOR, _FACE, _SIZE, _SRC, _ID, _CLASS, _ROLE = range(10)
_VALUES = np.zeros((5, 32), np.uint8)  # and values
_OPEN, _CLOSED, _TEXT_HTML, _XHTML, _HIDDEN = range(5)
for _row, _word in enumerate(
    ("shadowrootmode", "encoding", "type", "color", "face", "size", "src", "id", "class", "role")
):
    _ATTRIBUTES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
for _row, _word in enumerate(("open", "closed", "text/html", "application/xhtml+xml", "hidden")):
    _VALUES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
_DATA_TYPES = np.zeros((7, 16), np.uint8)  # parts of the types of scripts that are not run; the first are linked data
for _row, _word in enumerate(("ld+json", "json", "template", "html", "importmap", "rules", "tex")):
    _DATA_TYPES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)

CODE, CODE_ELSEWHERE, DATA, LINKED_DATA = range(4)  # what a script is


@inner
def text_end(page: Any, i: Any) -> Any:
    """Before the next < that begins a tag, a comment or the like."""
    n = len(page)
    while i < n:
        if page[i] == _LESS and i + 1 < n:
            byte = page[i + 1]
            if is_letter(byte) or byte == _SLASH or byte == _EXCLAMATION or byte == _QUESTION:
                return i
        i += 1
    return n


@inner
def number_of_name(page: Any, i: Any) -> Any:
    """The number of the name that starts at i, and where the name ends."""
    key = np.uint64(0)
    has_dash = 0
    while i < len(page):
        byte = page[i]
        if byte == _DASH:
            has_dash = 1
        if byte == _GREATER or byte == _SLASH or is_space(byte):
            break
        if 65 <= byte <= 90:
            byte += 32
        key = (key ^ np.uint64(byte)) * np.uint64(FNV_PRIME)
        i += 1
    place = np.int64(key >> np.uint64(TABLE_SHIFT))
    while HASHES[place] != key:
        if HASHES[place] == 0:
            return N_NAMES + 2 * np.int64(key >> np.uint64(8)) + has_dash, i
        place = (place + 1) & (len(HASHES) - 1)
    return HASHED_NUMBERS[place], i


@inner
def tag_end(page: Any, i: Any) -> Any:
    """Behind the > of a tag whose name ends at i, and whether the tag is empty (/>); -1 where the page ends before."""
    n = len(page)
    is_empty = False
    while i < n:
        byte = page[i]
        if byte == _GREATER:
            return i + 1, is_empty
        i += 1
        is_empty = byte == _SLASH
        if is_empty or is_space(byte):
            continue
        i = _attribute_name_end(page, i)
        value = _value_start(page, i)
        if value >= 0:
            i = _value_end(page, value)
    return -1, False


@inner
def _attribute_name_end(page: Any, i: Any) -> Any:
    """Behind a name whose first byte, which may be a =, is before i."""
    n = len(page)
    while i < n and page[i] != _EQUALS and page[i] != _GREATER and page[i] != _SLASH and not is_space(page[i]):
        i += 1
    return i


@inner
def _value_start(page: Any, i: Any) -> Any:
    """Where the value of the attribute whose name ends at i begins, at its quote if it has one; -1: it has none."""
    i = _spaces_end(page, i)
    if i == len(page) or page[i] != _EQUALS:
        return -1
    return _spaces_end(page, i + 1)


@inner
def _value_end(page: Any, i: Any) -> Any:
    n = len(page)
    if i < n and (page[i] == _QUOTE or page[i] == _APOSTROPHE):
        return after(page, i + 1, page[i])
    while i < n and page[i] != _GREATER and not is_space(page[i]):
        i += 1
    return i


@inner
def says_what_matters(page: Any, name: Any, i: Any, end: Any) -> Any:
    """Whether the attributes from i to end say what `open_elements.start_tag` wants to know."""
    if name == _FONT:
        for attribute in (_COLOR, _FACE, _SIZE):
            if _attribute(page, i, end, _ATTRIBUTES[attribute]) != -2:
                return True
    elif name == _TEMPLATE:
        value = _attribute(page, i, end, _ATTRIBUTES[_SHADOW_ROOT_MODE])
        return _is_value(page, value, end, _VALUES[_OPEN]) or _is_value(page, value, end, _VALUES[_CLOSED])
    elif name == _ANNOTATION:
        value = _attribute(page, i, end, _ATTRIBUTES[_ENCODING])
        return _is_value(page, value, end, _VALUES[_TEXT_HTML]) or _is_value(page, value, end, _VALUES[_XHTML])
    elif name == _INPUT:
        return _is_value(page, _attribute(page, i, end, _ATTRIBUTES[_TYPE]), end, _VALUES[_HIDDEN])
    return False


@inner
def has_id(page: Any, i: Any, end: Any) -> Any:
    """Whether there is an `id` among the attributes from i to end."""
    return _attribute(page, i, end, _ATTRIBUTES[_ID]) != -2


@inner
def copy_naming(page: Any, i: Any, end: Any, names: Any, size: Any, max_bytes: Any) -> Any:
    """Copy what class, id and role among the attributes from i to end say, in lower case, with a space before each."""
    limit = size + max_bytes
    while i < end:
        byte = page[i]
        i += 1
        if byte == _SLASH or is_space(byte):
            continue
        name = i - 1
        i = _attribute_name_end(page, i)
        name_end = i
        value = _value_start(page, i)
        if value < 0:
            continue
        i = _value_end(page, value)
        if not _is_naming(page, name, name_end):
            continue
        is_quoted = page[value] == _QUOTE or page[value] == _APOSTROPHE
        names[size] = _SPACE
        size += 1
        for k in range(value + is_quoted, min(i, end) - is_quoted):
            if size >= limit:
                return limit
            byte = page[k]
            names[size] = byte + 32 if 65 <= byte <= 90 else byte
            size += 1
    return size


@inner
def _is_naming(page: Any, i: Any, end: Any) -> Any:
    for attribute in (_CLASS, _ID, _ROLE):
        if _is_word(page, i, end, _ATTRIBUTES[attribute]):
            return True
    return False


@inner
def script_kind(page: Any, i: Any, end: Any) -> Any:
    """What a script is whose attributes stand from i to end: code here or in a file, or data."""
    value = _attribute(page, i, end, _ATTRIBUTES[_TYPE])
    if value >= 0:
        value_end = min(_value_end(page, value), end)
        for row in range(len(_DATA_TYPES)):
            if _holds(page, value, value_end, _DATA_TYPES[row]):
                return LINKED_DATA if row == 0 else DATA
    return CODE_ELSEWHERE if _attribute(page, i, end, _ATTRIBUTES[_SRC]) >= 0 else CODE


@inner
def _holds(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    """Whether a word stands somewhere in these bytes, in any case; behind the word there are zeros."""
    n = 0
    while wanted[n] != 0:
        n += 1
    while i + n <= end:
        if _is_word(page, i, i + n, wanted):
            return True
        i += 1
    return False


@inner
def _attribute(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    """Where the value of the first attribute of this name begins; -1: it has none; -2: there is no such attribute."""
    while i < end:
        byte = page[i]
        i += 1
        if byte == _SLASH or is_space(byte):
            continue
        name = i - 1
        i = _attribute_name_end(page, i)
        name_end = i
        value = _value_start(page, i)
        if value >= 0:
            i = _value_end(page, value)
        if _is_word(page, name, name_end, wanted):
            return value
    return -2


@inner
def _is_value(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    if i < 0 or i >= end:
        return False
    value_end = min(_value_end(page, i), end)
    if page[i] == _QUOTE or page[i] == _APOSTROPHE:
        return _is_word(page, i + 1, value_end - 1, wanted)
    return _is_word(page, i, value_end, wanted)


@inner
def _is_word(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    """Whether these bytes are a word, in any case; behind the word there are zeros."""
    n = end - i
    if n < 1 or n >= len(wanted) or wanted[n] != 0:
        return False
    for k in range(n):
        byte = page[i + k]
        if 65 <= byte <= 90:
            byte += 32
        if byte != wanted[k]:
            return False
    return True


@inner
def hash_of(page: Any, i: Any, end: Any) -> Any:
    key = np.uint64(0)
    while i < end:
        key = (key ^ np.uint64(page[i])) * np.uint64(FNV_PRIME)
        i += 1
    return np.int64(key)


@inner
def comment_end(page: Any, i: Any) -> Any:
    """Behind what begins with <! before i: a comment, a doctype, or neither."""
    n = len(page)
    if i + 1 >= n or page[i] != _DASH or page[i + 1] != _DASH:
        return after(page, i, _GREATER)
    start = i + 2
    i = start
    while i < n:
        i = after(page, i, _GREATER)
        inside = page[start : i - 1]
        size = len(inside)
        if page[i - 1] != _GREATER:
            break
        if size == 0 or (size == 1 and inside[0] == _DASH):
            return i
        if size >= 2 and inside[size - 1] == _DASH and inside[size - 2] == _DASH:
            return i
        if size >= 3 and inside[size - 1] == _EXCLAMATION and inside[size - 2] == _DASH and inside[size - 3] == _DASH:
            return i
    return n


@inner
def raw_text_end(page: Any, i: Any, name: Any, name_end: Any) -> Any:
    """Behind the end tag for the element whose text begins at i, or the end of the page."""
    n, length = len(page), name_end - name
    while i < n:
        i = after(page, i, _LESS)
        if i < n and page[i] == _SLASH and _is_name(page, i + 1, name, length):
            end, _ = tag_end(page, i + 1 + length)
            return end if end >= 0 else n
    return n


@inner
def script_end(page: Any, i: Any) -> Any:
    """The same for a script: in a comment in it, another script may begin and end."""
    n = len(page)
    start, in_comment, in_script = i, False, False
    while i < n:
        byte = page[i]
        i += 1
        if byte == _GREATER:
            if in_comment and i - 3 >= start and page[i - 2] == _DASH and page[i - 3] == _DASH:
                in_comment = in_script = False
        elif byte == _LESS and i < n:
            if page[i] == _SLASH and _is_script(page, i + 1):
                if not in_script:
                    end, _ = tag_end(page, i + 7)
                    return end if end >= 0 else n
                in_script = False
            elif in_comment and _is_script(page, i):
                in_script = True
            elif i + 2 < n and page[i] == _EXCLAMATION and page[i + 1] == _DASH and page[i + 2] == _DASH:
                in_comment = True
                i += 3
    return n


@inner
def _is_script(page: Any, i: Any) -> Any:
    if i + 6 >= len(page):
        return False
    for k, letter in enumerate((115, 99, 114, 105, 112, 116)):
        if (page[i + k] | 32) != letter:
            return False
    byte = page[i + 6]
    return byte == _GREATER or byte == _SLASH or is_space(byte)


@inner
def _is_name(page: Any, i: Any, name: Any, length: Any) -> Any:
    """Whether the name that stands at `name` stands at i as well, in any case."""
    if i + length >= len(page):
        return False
    for k in range(length):
        if (page[i + k] | 32) != (page[name + k] | 32):
            return False
    byte = page[i + length]
    return byte == _GREATER or byte == _SLASH or is_space(byte)


@inner
def after(page: Any, i: Any, byte: Any) -> Any:
    """Behind the next such byte, or the end."""
    n = len(page)
    while i < n and page[i] != byte:
        i += 1
    return min(i + 1, n)


@inner
def _spaces_end(page: Any, i: Any) -> Any:
    while i < len(page) and is_space(page[i]):
        i += 1
    return i


@inner
def is_space(byte: Any) -> Any:
    return byte == _SPACE or (9 <= byte <= 13 and byte != 11)


@inner
def is_letter(byte: Any) -> Any:
    return 97 <= byte | 32 <= 122
