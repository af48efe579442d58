"""A page without the markup that nothing here reads, as browsers understand that markup.

Of the tags of a page few matter: of the 760 elements on a mean page of documentation a hundred are links, and half are
`span`s. The tokenizer passes each of them to Python, which is where the time goes. So a kernel goes over the page
first. It leaves out comments, scripts, styles, tags without meaning and whatever is in the markup but not on the page
(`tree_rules`), puts a mark where a block begins or ends, and copies the rest as it is. What is left is read by the
tokenizer, which then needs to know nothing of where a tag stands.

The kernel knows where the tokens of the HTML standard end, not what they say: attributes and character references are
left to the tokenizer. Scripts are not run, so the content of `noscript` is markup; what makes the tokenizer take it for
text, its name, is changed. So is that of a link in a drawing, which has its target elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.elements import FLAGS, FORMATTING, HTML, N_NAMES, NUMBERS, RAW_TEXT, UNSEEN_FOREIGN, numbers
from orienteer.extract.open_elements import (
    ELEMENTS,
    GAVE_UP,
    HAS_BODY,
    IS_FRAMESET,
    IS_QUIRKY,
    N_OPEN,
    N_SHADOWS,
    N_TEMPLATES,
    STATE,
    is_foreign,
    nothing_open,
)  # fmt: skip
from orienteer.extract.script_signs import IN_NOSCRIPT, SOURCES, count_code, count_words, new_signs
from orienteer.extract.tags import (
    CODE,
    CODE_ELSEWHERE,
    LINKED_DATA,
    after,
    comment_end,
    hash_of,
    is_letter,
    is_space,
    number_of_name,
    raw_text_end,
    says_what_matters,
    script_end,
    script_kind,
    tag_end,
    text_end,
)  # fmt: skip
from orienteer.extract.tree_rules import DRAWN, ELEMENT, FRAMESET_BEGINS, end_tag, start_tag, text
from orienteer.extract.whitespace import BLOCK_MARK
from orienteer.kernel import inner, kernel

# What `noscript`, and `a` in a drawing, are called for the tokenizer: names as long as theirs that are never kept.
NOSCRIPT, DRAWN_LINK = "unscript", "s"

MAX_LINKED_DATA_BYTES = 200_000  # of a script; larger ones are left out
MAX_TEXT_BYTES = 4_000_000  # of a page; what follows is left out, though not its links

# What becomes of a tag, by the name of the element.
_DROP, _MARK, _KEEP, _KEEP_WITH_TEXT = range(4)

_HASH, _AMPERSAND, _SLASH, _LESS, _GREATER, _QUESTION, _EXCLAMATION, _BRACKET_OPEN, _BRACKET_CLOSE = b"#&/<>?![]"
_MAX_REFERENCE_BYTES = 64  # longer ones are taken for unfinished, which does no harm
_MARK_BYTE = ord(BLOCK_MARK)
_DRAWN_LINK_BYTE, _RENAMED_U, _RENAMED_N = b"sun"
_A, _BODY, _SCRIPT, _PLAINTEXT, _NOSCRIPT = numbers("a", "body", "script", "plaintext", "noscript")
_END_TAG_BYTES = len("</script>")
_OF_PAGE = np.zeros(N_NAMES, np.bool_)  # what counts on the page itself only, not in a shadow
for _name in ("base", "link", "meta", "title", "html", "body"):
    _OF_PAGE[NUMBERS[_name]] = True


class Lightener:
    """Takes pages in UTF-8 and gives back what matters of them."""

    def __init__(
        self, kept: Iterable[str], blocks: Iterable[str], with_text: bool, with_linked_data: bool = False
    ) -> None:
        """The tags of `kept` elements stay and those of `blocks` leave a mark. Without text nothing but start tags and
        the title stays; with linked data also the scripts that hold it, as far as they are not too large.
        """
        self._actions = np.zeros(N_NAMES, np.uint8)
        for name in blocks if with_text else ():
            self._actions[NUMBERS[name]] = _MARK
        for name in (*kept, *(("noscript",) if with_text else ())):
            self._actions[NUMBERS[name]] = _KEEP
        for name in ("title", "iframe", *(("textarea", "xmp", "plaintext") if with_text else ())):
            self._actions[NUMBERS[name]] = _KEEP_WITH_TEXT
        if with_linked_data:
            self._actions[_SCRIPT] = _KEEP_WITH_TEXT
        self._with_text = with_text

    def lightened(self, html: bytes, signs: NDArray[np.int64] | None = None) -> tuple[str, bool]:
        """What matters of a page, and whether all its tags were understood (see `open_elements`).

        `signs` are filled with what may tell that scripts make the page (see `script_signs`).
        """
        page = np.frombuffer(html, np.uint8)
        rest = np.empty(len(page) + 1, np.uint8)
        tree = nothing_open(len(page))
        signs = new_signs() if signs is None else signs
        size = _lighten(page, rest, self._actions, tree, self._with_text, signs)
        return str(rest[:size].data, "utf-8"), not tree[STATE, GAVE_UP]


@kernel
def _lighten(page: Any, rest: Any, actions: Any, tree: Any, with_text: Any, signs: Any) -> Any:
    """Fill `rest` with what matters of `page`; the number of bytes."""
    n, i, size = len(page), 0, 0
    text_left = MAX_TEXT_BYTES
    body_at = -1  # where the body begins in `rest`
    while True:
        start = i
        i = text_end(page, i)
        if i > start:
            is_blank = _is_blank(page, start, i)
            text(tree, is_blank)
            if text_left and _is_shown(tree):
                if not is_blank:
                    count_words(page, start, i, signs)
                if with_text:
                    end = _letter_end(page, min(i, start + text_left))
                    text_left = text_left - (end - start) if end == i else 0
                    size = _copy(page, start, end, rest, size)
        if i == n:
            return size
        before = size
        had_body = tree[STATE, HAS_BODY]
        if page[i + 1] == _EXCLAMATION:
            i = _declaration_end(page, i, tree)
        elif page[i + 1] == _QUESTION:
            i = after(page, i + 2, _GREATER)
        elif page[i + 1] == _SLASH:
            i, size = _lighten_end_tag(page, i, rest, size, actions, tree, with_text, signs)
        else:
            i, size, became = _lighten_start_tag(page, i, rest, size, actions, tree, signs)
            if became == FRAMESET_BEGINS and had_body:
                before = size = body_at
        if tree[STATE, HAS_BODY] and not had_body:
            body_at = before
        if size == before and size and with_text and _is_unfinished(rest, size):
            for byte in (_LESS, _SLASH, _GREATER):  # nothing to the tokenizer, but it ends what the text began
                rest[size] = byte
                size += 1


@inner
def _letter_end(page: Any, i: Any) -> Any:
    """This place, or the one before it where a letter ends."""
    while 0 < i < len(page) and page[i] & 0xC0 == 0x80:
        i -= 1
    return i


@inner
def _is_shown(tree: Any) -> Any:
    """Whether text is seen here."""
    if tree[STATE, GAVE_UP]:
        return True
    element = tree[ELEMENTS, tree[STATE, N_OPEN] - 1]
    if element & 3 != HTML and element >> 2 < N_NAMES and FLAGS[element & 3, element >> 2] & UNSEEN_FOREIGN:
        return False
    return tree[STATE, N_TEMPLATES] == 0 and not tree[STATE, IS_FRAMESET]


@inner
def _is_blank(page: Any, i: Any, end: Any) -> Any:
    while i < end and (is_space(page[i]) or page[i] == 0):
        i += 1
    return i == end


@inner
def _declaration_end(page: Any, i: Any, tree: Any) -> Any:
    """Behind what begins with <! at i: a comment, a doctype, text of a drawing, or nothing of the kind."""
    n = len(page)
    if i + 3 < n and (page[i + 2] | 32) == 100 and tree[STATE, N_OPEN] == 1:  # d
        tree[STATE, IS_QUIRKY] = 0
    if i + 8 < n and page[i + 2] == _BRACKET_OPEN and page[i + 8] == _BRACKET_OPEN and is_foreign(tree):
        is_text = True
        for k, byte in enumerate((67, 68, 65, 84, 65)):  # CDATA
            is_text = is_text and page[i + 3 + k] == byte
        if is_text:
            text(tree, False)
            i += 9
            while i < n:
                i = after(page, i, _GREATER)
                if page[i - 1] == _GREATER and page[i - 2] == _BRACKET_CLOSE and page[i - 3] == _BRACKET_CLOSE:
                    break
            return i
    return comment_end(page, i + 2)


@inner
def _lighten_end_tag(
    page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, with_text: Any, signs: Any
) -> Any:
    """Close what the end tag at `start` closes; where to go on, and the number of bytes in `rest`."""
    n, i = len(page), start + 2
    if i == n:  # mere text
        return n, _copy(page, start, n, rest, size) if with_text and _is_shown(tree) else size
    if not is_letter(page[i]):  # no tag, but a comment by mistake
        return after(page, i, _GREATER), size
    name, name_end = number_of_name(page, i)
    i, _ = tag_end(page, name_end)
    if i < 0:
        return n, size
    end_tag(tree, name)
    if name == _NOSCRIPT:
        signs[IN_NOSCRIPT] = 0
    if not with_text or name >= N_NAMES or not (_is_shown(tree) or name == _A):
        return i, size
    action = actions[name]
    if action == _MARK:
        rest[size] = _MARK_BYTE
        return i, size + 1
    if action == _KEEP:
        copied = size
        size = _copy(page, start, i, rest, size)
        if name == _NOSCRIPT:
            rest[copied + 2], rest[copied + 3] = _RENAMED_U, _RENAMED_N
    return i, size


@inner
def _lighten_start_tag(page: Any, start: Any, rest: Any, size: Any, actions: Any, tree: Any, signs: Any) -> Any:
    """Copy the tag at `start`, with the text behind it where that is to stay, or leave it out.

    Where to go on, the number of bytes in `rest`, and what became of the element.
    """
    n = len(page)
    name, name_end = number_of_name(page, start + 1)
    i, is_empty = tag_end(page, name_end)
    if i < 0:
        return n, size, 0
    flags = FLAGS[HTML, name] if name < N_NAMES else 0
    looks = hash_of(page, name_end, i) if flags & FORMATTING else 0
    became = start_tag(tree, name, is_empty, looks, says_what_matters(page, name, name_end, i - 1))
    if became == DRAWN and name == _A and _is_on_page(tree, name):
        drawn = size
        size = _copy(page, start, i, rest, size)
        rest[drawn + 1] = _DRAWN_LINK_BYTE
        return i, size, became
    if became != ELEMENT:
        return i, size, became
    is_data = False
    if name == _SCRIPT:
        kind, code_start = script_kind(page, name_end, i - 1), i
        i = script_end(page, i)
        if kind == CODE:
            count_code(page, code_start, i - _END_TAG_BYTES, signs)
        elif kind == CODE_ELSEWHERE:
            signs[SOURCES] += 1
        is_data = kind == LINKED_DATA and i - code_start <= MAX_LINKED_DATA_BYTES
    elif flags & RAW_TEXT:
        i = raw_text_end(page, i, start + 1, name_end)
    elif name == _PLAINTEXT:
        i = n
    elif name == _NOSCRIPT or name == _BODY:
        signs[IN_NOSCRIPT] = 1 if name == _NOSCRIPT else 0  # one that was left open in the head ends there
    action = actions[name] if name < N_NAMES and _is_on_page(tree, name) else _DROP
    if name == _SCRIPT and not is_data:
        action = _DROP
    if action == _MARK:
        rest[size] = _MARK_BYTE
        return i, size + 1, became
    if action != _DROP:
        copied = size
        size = _copy(page, start, i, rest, size)
        if name == _NOSCRIPT:
            rest[copied + 1], rest[copied + 2] = _RENAMED_U, _RENAMED_N
    return i, size, became


@inner
def _is_on_page(tree: Any, name: Any) -> Any:
    if tree[STATE, GAVE_UP]:
        return True
    return tree[STATE, N_TEMPLATES] == 0 and not (tree[STATE, N_SHADOWS] and _OF_PAGE[name])


@inner
def _is_unfinished(rest: Any, size: Any) -> Any:
    """Whether text that moves up could become part of a tag, or of a reference like `&am`."""
    if rest[size - 1] == _LESS:
        return True
    i = size
    while i > max(0, size - _MAX_REFERENCE_BYTES):
        i -= 1
        byte = rest[i]
        if not (is_letter(byte) or 48 <= byte <= 57 or byte == _HASH):
            return byte == _AMPERSAND
    return i > 0


@inner
def _copy(page: Any, start: Any, end: Any, rest: Any, size: Any) -> Any:
    for k in range(end - start):
        rest[size + k] = page[start + k]
    return size + end - start
