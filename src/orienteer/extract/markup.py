"""A page without the markup that nothing here reads.

Of the tags of a page few matter: of the 760 elements on a mean page of documentation a hundred are links, and half are
`span`s. The tokenizer passes each of them to Python, which is where the time goes. So a kernel goes over the page
first. It leaves out comments, scripts, styles and tags without meaning, puts a mark where a block begins or ends, and
copies the rest as it is. What is left is read by the tokenizer, as the whole page would be, and says the same.

The kernel knows where the tokens of the HTML standard end, not what they say: attributes and character references are
left to the tokenizer. Where leaving something out could change what stays (`<<`, half a character reference before a
tag), and at elements out of the ordinary, it gives up, and the page has to be read whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from orienteer.extract.whitespace import BLOCK_MARK
from orienteer.kernel import kernel

# Elements whose content is mere text to a browser that runs scripts and knows frames; we do neither, and read it. A
# mark in the names of their start tags keeps the tokenizer from doing as browsers do.
READ_ANYWAY = {"noscript": f"no{BLOCK_MARK}script", "noframes": f"no{BLOCK_MARK}frames"}

# What becomes of a tag, by the name of the element.
_DROP, _MARK, _KEEP, _KEEP_RENAMED, _KEEP_WITH_TEXT, _DROP_WITH_TEXT, _GIVE_UP = range(7)

_SPACE, _QUOTE, _HASH, _AMPERSAND, _APOSTROPHE, _DASH, _SLASH = b" \"#&'-/"
_LESS, _EQUALS, _GREATER, _QUESTION, _EXCLAMATION = b"<=>?!"
_MARK_BYTE = ord(BLOCK_MARK)

_TABLE_BITS = 9
_FNV_PRIME = 0x100000001B3


class Lightener:
    """Takes pages in UTF-8 and gives back what matters of them."""

    def __init__(self, kept: Iterable[str], blocks: Iterable[str], with_text: bool) -> None:
        """The tags of `kept` elements stay and those of `blocks` leave a mark. Without text nothing but start tags and
        the title stays.
        """
        actions = dict.fromkeys(blocks, _MARK) if with_text else {}
        actions |= dict.fromkeys(READ_ANYWAY, _KEEP_RENAMED if with_text else _DROP)
        actions |= dict.fromkeys(kept, _KEEP)
        actions |= dict.fromkeys(("title", "iframe"), _KEEP_WITH_TEXT)
        actions |= {"textarea": _KEEP_WITH_TEXT if with_text else _DROP_WITH_TEXT}
        actions |= dict.fromkeys(("script", "style"), _DROP_WITH_TEXT)
        actions |= dict.fromkeys(("noembed", "plaintext", "xmp"), _GIVE_UP)
        self._names, self._actions = _table(actions)
        self._with_text = with_text

    def lightened(self, html: bytes) -> bytes | None:
        """What matters of a page; None where only the whole page will do."""
        page = np.frombuffer(html, np.uint8)
        rest = np.empty(len(page) * 11 // len("<noscript>") + 1, np.uint8)  # nothing but a mark in a name adds to it
        size = _lighten(page, rest, self._names, self._actions, self._with_text)
        return None if size < 0 else rest[:size].tobytes()


def _table(actions: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """A hash table: a name stands at the top bits of its hash or, where that place is taken, behind it."""
    names, values = np.zeros(1 << _TABLE_BITS, np.uint64), np.zeros(1 << _TABLE_BITS, np.uint8)
    for name, action in actions.items():
        key = 0
        for byte in name.encode():
            key = ((key ^ byte) * _FNV_PRIME) % (1 << 64)
        place = key >> (64 - _TABLE_BITS)
        while names[place]:
            place = (place + 1) % len(names)
        names[place], values[place] = key, action
    return names, values


@kernel
def _lighten(page: Any, rest: Any, names: Any, actions: Any, with_text: Any) -> Any:
    """Fill `rest` with what matters of `page`; the number of bytes, or -1 to give up."""
    n, i, size = len(page), 0, 0
    while True:
        start = i
        i = _text_end(page, i)
        if with_text:
            if i < n and _ends_in_half_a_reference(page, start, i):
                return -1
            size = _copy(page, start, i, rest, size)
        if i == n:
            return size
        if i + 1 == n or page[i + 1] == _LESS:
            return -1
        if page[i + 1] == _EXCLAMATION:
            i = _comment_end(page, i + 2)
        elif page[i + 1] == _QUESTION:
            i = _after(page, i + 2, _GREATER)
        else:
            i, size = _lighten_tag(page, i, rest, size, names, actions, with_text)
            if size < 0:
                return -1


@kernel
def _lighten_tag(page: Any, start: Any, rest: Any, size: Any, names: Any, actions: Any, with_text: Any) -> Any:
    """Copy the tag at `start`, with the text behind it where that is to stay, or leave it out.

    Where to go on, and the number of bytes in `rest`, which is -1 to give up.
    """
    n = len(page)
    is_end = page[start + 1] == _SLASH
    i = start + 1 + is_end
    if i == n:
        return n, -1
    if not _is_letter(page[i]):  # no tag, but a comment by mistake
        return _after(page, i, _GREATER), size
    action, name_end = _action(page, i, names, actions)
    i = _tag_end(page, name_end)
    if i < 0:
        return n, size
    if action == _MARK:
        rest[size] = _MARK_BYTE
        return i, size + 1
    if action == _GIVE_UP:
        return n, -1
    if action >= _KEEP_WITH_TEXT and not is_end:
        is_empty = page[i - 2] == _SLASH
        i = -1 if is_empty else _raw_text_end(page, i, start + 1, name_end)
        if i < 0:
            return n, -1
    if action == _DROP or action == _DROP_WITH_TEXT or (is_end and not with_text):
        return i, size
    if action == _KEEP_RENAMED and not is_end:
        size = _copy(page, start, start + 3, rest, size)
        rest[size] = _MARK_BYTE
        size += 1
        start += 3
    return i, _copy(page, start, i, rest, size)


@kernel
def _copy(page: Any, start: Any, end: Any, rest: Any, size: Any) -> Any:
    for k in range(end - start):
        rest[size + k] = page[start + k]
    return size + end - start


@kernel
def _text_end(page: Any, i: Any) -> Any:
    while i < len(page) and not (page[i] == _LESS and _is_markup(page, i)):
        i += 1
    return i


@kernel
def _is_markup(page: Any, i: Any) -> Any:
    """Whether the < at i is more than text, or could become more if what follows is left out."""
    if i + 1 == len(page):
        return True
    byte = page[i + 1]
    return _is_letter(byte) or byte == _SLASH or byte == _EXCLAMATION or byte == _QUESTION or byte == _LESS


@kernel
def _ends_in_half_a_reference(page: Any, start: Any, i: Any) -> Any:
    """Whether the text before i ends like `&am`, which a piece of text that moves up could complete."""
    while i > start:
        i -= 1
        byte = page[i]
        if not (_is_letter(byte) or 48 <= byte <= 57 or byte == _HASH):
            return byte == _AMPERSAND
    return False


@kernel
def _action(page: Any, i: Any, names: Any, actions: Any) -> Any:
    """What becomes of the tag whose name starts at i, and where the name ends."""
    key = np.uint64(0)
    while i < len(page):
        byte = page[i]
        if byte == _GREATER or byte == _SLASH or _is_space(byte):
            break
        if 65 <= byte <= 90:
            byte += 32
        key = (key ^ np.uint64(byte)) * np.uint64(_FNV_PRIME)
        i += 1
    place = np.int64(key >> np.uint64(64 - _TABLE_BITS))
    while names[place] != key:
        if names[place] == 0:
            return _DROP, i
        place = (place + 1) & (len(names) - 1)
    return np.int64(actions[place]), i


@kernel
def _tag_end(page: Any, i: Any) -> Any:
    """Behind the > of a tag whose name ends at i; -1 where the page ends before."""
    n = len(page)
    while i < n:
        byte = page[i]
        if byte == _GREATER:
            return i + 1
        i += 1
        if byte == _SLASH or _is_space(byte):
            continue
        # An attribute. Its name may begin with = but not hold one.
        while i < n and page[i] != _EQUALS and page[i] != _GREATER and page[i] != _SLASH and not _is_space(page[i]):
            i += 1
        i = _spaces_end(page, i)
        if i == n or page[i] != _EQUALS:
            continue
        i = _spaces_end(page, i + 1)
        if i == n:
            break
        byte = page[i]
        if byte == _QUOTE or byte == _APOSTROPHE:
            i = _after(page, i + 1, byte)
        else:
            while i < n and page[i] != _GREATER and not _is_space(page[i]):
                i += 1
    return -1


@kernel
def _comment_end(page: Any, i: Any) -> Any:
    """Behind what begins with <! before i: a comment, a doctype, or neither."""
    n = len(page)
    if i + 1 >= n or page[i] != _DASH or page[i + 1] != _DASH:
        return _after(page, i, _GREATER)
    start = i + 2
    i = start
    while i < n:
        i = _after(page, i, _GREATER)
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


@kernel
def _raw_text_end(page: Any, i: Any, name: Any, name_end: Any) -> Any:
    """Behind the end tag for the element whose text begins at i; -1 where a script may hold another in a comment."""
    n, length = len(page), name_end - name
    in_comment = False
    while i < n:
        i = _after(page, i, _LESS)
        if i == n:
            break
        if page[i] == _SLASH:
            if _is_name(page, i + 1, name, length):
                end = _tag_end(page, i + 1 + length)
                return end if end >= 0 else n
        elif page[i] == _EXCLAMATION:
            in_comment = True
        elif in_comment and _is_name(page, i, name, length):
            return -1
    return n


@kernel
def _is_name(page: Any, i: Any, name: Any, length: Any) -> Any:
    """Whether the name that stands at `name` stands at i as well, in any case."""
    if i + length >= len(page):
        return False
    for k in range(length):
        if (page[i + k] | 32) != (page[name + k] | 32):
            return False
    byte = page[i + length]
    return byte == _GREATER or byte == _SLASH or _is_space(byte)


@kernel
def _after(page: Any, i: Any, byte: Any) -> Any:
    """Behind the next such byte, or the end."""
    n = len(page)
    while i < n and page[i] != byte:
        i += 1
    return min(i + 1, n)


@kernel
def _spaces_end(page: Any, i: Any) -> Any:
    while i < len(page) and _is_space(page[i]):
        i += 1
    return i


@kernel
def _is_space(byte: Any) -> Any:
    return byte == _SPACE or (9 <= byte <= 13 and byte != 11)


@kernel
def _is_letter(byte: Any) -> Any:
    return 97 <= byte | 32 <= 122
