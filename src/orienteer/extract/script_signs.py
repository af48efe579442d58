"""Detect pages that are made by scripts: little is visible without them, and there is code that may add content.

A page is *suspect* if its links, or nearly all of its content, may be made by scripts:

    it has no link that can be clicked, and any code: a few bytes of code are enough for a link
    it has fewer than FEW_WORDS words and FEW_LINKS links, and much code
    it has fewer than HARDLY_WORDS words, more links, and very much code

Code is every script that a browser runs, by the types of the HTML standard; JSON, templates and others are data. Code
in files is not read; each file counts as SOURCE_BYTES. The content of `noscript` counts if it has more words than the
remainder of the page and at least MIN_NOSCRIPT_WORDS words: some forums put the whole page there. A short page without
code is not suspect.

Measured: of 310 real pages with their scripts (WCXB, development) it detects the one that is empty without them, and no
other; of 7,085 pages of documentation 22: two search forms whose results scripts make, and 20 texts of AsciiDoc without
a link, whose script makes the table of contents; of 5,814 pages of universities of 1997 three. Four applications made
with React, Vue, Svelte and Lit are detected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.tags import is_space
from orienteer.kernel import inner

# Counts of a page: visible words, and those in `noscript`, up to a limit; bytes of inline code, and files of code;
# whether a `noscript` is open.
WORDS, NOSCRIPT_WORDS, CODE_BYTES, SOURCES, IN_NOSCRIPT = range(5)
N_SIGNS = 5

FEW_WORDS = 50
HARDLY_WORDS = 20
MIN_NOSCRIPT_WORDS = 20
FEW_LINKS = 3
SOURCE_BYTES = 10_000
_MUCH_CODE, _VERY_MUCH_CODE = SOURCE_BYTES, 5 * SOURCE_BYTES

_ENOUGH_WORDS = 10 * FEW_WORDS  # further words do not change any decision
_WORD_BYTES = 24  # of text without spaces count as a word
_AMPERSAND, _HASH, _SEMICOLON = b"&#;"


def new_signs() -> NDArray[np.int64]:
    return np.zeros(N_SIGNS, np.int64)


def reads_noscript(n_words: int, n_noscript_words: int) -> bool:
    """Whether the content of `noscript` is the page, by the numbers of words in it and outside of it."""
    return n_words < FEW_WORDS and n_noscript_words >= max(MIN_NOSCRIPT_WORDS, n_words)


def noscript_is_page(signs: NDArray[np.int64]) -> bool:
    return reads_noscript(int(signs[WORDS]), int(signs[NOSCRIPT_WORDS]))


def has_code(signs: NDArray[np.int64]) -> bool:
    """Whether scripts may change the page at all."""
    return bool(signs[SOURCES] > 0 or signs[CODE_BYTES] > 0)


def is_suspect(signs: NDArray[np.int64], n_links: int, n_scripted: int) -> bool:
    """Whether scripts may make the page, with `n_links` links to click and `n_scripted` links that run a script.

    Links in `noscript` count if its content is read.
    """
    n_words, n_noscript_words, code_bytes, n_sources = map(int, signs[:IN_NOSCRIPT])
    code_bytes += SOURCE_BYTES * n_sources
    if n_links == 0 and (n_scripted > 0 or code_bytes > 0):
        return True
    if reads_noscript(n_words, n_noscript_words):
        n_words += n_noscript_words
    if n_links < FEW_LINKS:
        return n_words < FEW_WORDS and code_bytes >= _MUCH_CODE
    return n_words < HARDLY_WORDS and code_bytes >= _VERY_MUCH_CODE


@inner
def count_words(page: Any, i: Any, end: Any, signs: Any) -> None:
    """Add the words from i to end to the visible ones, or to those in `noscript`."""
    kind = NOSCRIPT_WORDS if signs[IN_NOSCRIPT] else WORDS
    n_words = signs[kind]
    while i < end and n_words < _ENOUGH_WORDS:
        start, n_signs = i, 0
        while i < end and _is_of_word(page[i]):
            n_signs += 1 if 0xE3 <= page[i] <= 0xE9 else 0  # of Chinese and Japanese
            i += 1
        if i > start:
            n_words += 1 + max(n_signs // 2, (i - start) // _WORD_BYTES)
        elif page[i] == _AMPERSAND:  # a reference such as &nbsp; is no word
            i += 1
            while i < end and page[i] != _SEMICOLON and (page[i] == _HASH or _is_of_word(page[i])):
                i += 1
        else:
            i += 1
    signs[kind] = n_words


@inner
def _is_of_word(byte: Any) -> Any:
    return byte >= 0x80 or 48 <= byte <= 57 or 97 <= byte | 32 <= 122


@inner
def count_code(page: Any, i: Any, end: Any, signs: Any) -> None:
    """Add the code of a script from i to end."""
    while i < end and is_space(page[i]):
        i += 1
    signs[CODE_BYTES] += max(0, end - i)
