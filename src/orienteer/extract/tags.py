"""Find the ends of tokens in the UTF-8 bytes of a page: tags, attributes, comments, and raw text."""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.extract.elements import FNV_PRIME, HASHED_NUMBERS, HASHES, N_NAMES, TABLE_SHIFT, numbers
from orienteer.kernel import inner

_SPACE, _QUOTE, _APOSTROPHE, _DASH, _SLASH = b" \"'-/"
_LESS, _EQUALS, _GREATER, _QUESTION, _EXCLAMATION = b"<=>?!"
_FONT, _TEMPLATE, _ANNOTATION, _INPUT = numbers("font", "template", "annotation-xml", "input")

_ATTRIBUTES = np.zeros((11, 16), np.uint8)  # names that matter
_SHADOW_ROOT_MODE, _ENCODING, _TYPE, _COLOR, _FACE, _SIZE, _SRC, _ID, _CLASS, _ROLE, _LANGUAGE = range(11)
_VALUES = np.zeros((5, 32), np.uint8)  # and values
_OPEN, _CLOSED, _TEXT_HTML, _XHTML, _HIDDEN = range(5)
for _row, _word in enumerate(
    ("shadowrootmode", "encoding", "type", "color", "face", "size", "src", "id", "class", "role", "language")
):
    _ATTRIBUTES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
for _row, _word in enumerate(("open", "closed", "text/html", "application/xhtml+xml", "hidden")):
    _VALUES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
# Types of scripts that a browser runs: `module`, and the JavaScript MIME type essence strings of the MIME Sniffing
# standard. It runs no script of any other type.
_LANGUAGES = (
    "javascript", "ecmascript", "x-javascript", "x-ecmascript", "javascript1.0", "javascript1.1", "javascript1.2",
    "javascript1.3", "javascript1.4", "javascript1.5", "jscript", "livescript",
)  # fmt: skip
_CODE_TYPES = np.zeros((17, 32), np.uint8)
for _row, _word in enumerate(
    (
        "module",
        *(f"text/{name}" for name in _LANGUAGES),
        *(f"application/{name}" for name in _LANGUAGES[:4]),
    )
):
    _CODE_TYPES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
_CODE_LANGUAGES = np.zeros((len(_LANGUAGES), 16), np.uint8)  # values of the old `language` attribute
for _row, _word in enumerate(_LANGUAGES):
    _CODE_LANGUAGES[_row, : len(_word)] = np.frombuffer(_word.encode(), np.uint8)
_LINKED_DATA_TYPE = np.zeros(16, np.uint8)
_LINKED_DATA_TYPE[: len("ld+json")] = np.frombuffer(b"ld+json", np.uint8)

CODE, CODE_IN_FILE, DATA, LINKED_DATA = range(4)  # what a script is


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
def has_significant_value(page: Any, name: Any, i: Any, end: Any) -> Any:
    """Whether the attributes from i to end have the value that `tree_rules.start_tag` needs."""
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
    """Copy the values of class, id and role among the attributes from i to end, in lower case, each after a space."""
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
    """The kind of a script whose attributes are from i to end: code here or in a file, or data.

    As the HTML standard says, a script is code if its `type` is one of code, empty, or missing; where it is missing,
    a `language` counts.
    """
    value = _attribute(page, i, end, _ATTRIBUTES[_TYPE])
    if value != -2:
        start, value_end = _value_inside(page, value, end)
        if start < value_end:
            while start < value_end and is_space(page[start]):
                start += 1
            while start < value_end and is_space(page[value_end - 1]):
                value_end -= 1
            if not _is_one_of(page, start, value_end, _CODE_TYPES):
                return LINKED_DATA if _holds(page, start, value_end, _LINKED_DATA_TYPE) else DATA
    else:
        start, value_end = _value_inside(page, _attribute(page, i, end, _ATTRIBUTES[_LANGUAGE]), end)
        if start < value_end and not _is_one_of(page, start, value_end, _CODE_LANGUAGES):
            return DATA
    return CODE_IN_FILE if _attribute(page, i, end, _ATTRIBUTES[_SRC]) >= 0 else CODE


@inner
def _is_one_of(page: Any, i: Any, end: Any, words: Any) -> Any:
    for row in range(len(words)):
        if _is_word(page, i, end, words[row]):
            return True
    return False


@inner
def _holds(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    """Whether these bytes contain a word, ignoring case; the word is padded with zeros."""
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
    start, value_end = _value_inside(page, i, end)
    return _is_word(page, start, value_end, wanted)


@inner
def _value_inside(page: Any, i: Any, end: Any) -> Any:
    """The value that begins at i, without its quotes; nothing where i is below 0 (`_attribute`)."""
    if i < 0 or i >= end:
        return 0, 0
    value_end = min(_value_end(page, i), end)
    if page[i] == _QUOTE or page[i] == _APOSTROPHE:
        return i + 1, value_end - 1
    return i, value_end


@inner
def _is_word(page: Any, i: Any, end: Any, wanted: Any) -> Any:
    """Whether these bytes are a word, ignoring case; the word is padded with zeros."""
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
    """Whether the name at `name` is also at i, ignoring case."""
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
