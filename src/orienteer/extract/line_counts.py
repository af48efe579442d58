"""Counts for each line of a text: characters, words, sentences, digits, capitals and others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import inner, kernel

# Columns of the counts.
CHARS, WORDS, FIGURES, CAPITALS, SENTENCES, COMMAS, PRICES, SEPARATORS, STARTS_HIGH, ENDS_SENTENCE = range(10)
N_COUNTS = 10

_LINE_END, _SPACE, _COMMA, _DOT, _EXCLAMATION, _QUESTION, _DOLLAR, _BAR = b"\n ,.!?$|"
_QUOTES = np.frombuffer(b"\"')]", np.uint8).copy()


def line_counts(text: str, n_lines: int) -> NDArray[np.float64]:
    """Return a row of counts for each of the `n_lines` lines of a text."""
    counts = np.zeros((n_lines, N_COUNTS))
    letters = np.frombuffer(text.encode(errors="replace"), np.uint8)
    _count(letters, counts, _QUOTES)
    return counts


@kernel
def _count(letters: Any, counts: Any, quotes: Any) -> Any:
    """Characters beyond ASCII belong to words, except punctuation; each sign of Chinese or Japanese is a word."""
    n, line, is_word, first = len(letters), 0, False, True
    last = 0  # the last character of the line, ignoring quotes
    for i in range(n):
        byte = letters[i]
        if byte == _LINE_END:
            _end_line(counts, line, last)
            line, is_word, first, last = line + 1, False, True, 0
            continue
        if byte & 0xC0 == 0x80:
            continue  # inside a sign
        counts[line, CHARS] += 1
        if first:
            counts[line, STARTS_HIGH] = 65 <= byte <= 90
            first = False
        if byte < 0x80:
            is_letter = 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122
            if 48 <= byte <= 57:
                counts[line, FIGURES] += 1
            elif 65 <= byte <= 90:
                counts[line, CAPITALS] += 1
            elif byte == _COMMA:
                counts[line, COMMAS] += 1
            elif byte == _DOLLAR:
                counts[line, PRICES] += 1
            elif byte == _BAR:
                counts[line, SEPARATORS] += 1
            elif byte == _SPACE and (last == _DOT or last == _EXCLAMATION or last == _QUESTION):
                counts[line, SENTENCES] += 1
            if is_letter and not is_word:
                counts[line, WORDS] += 1
            is_word = is_letter
            if not _is_in(byte, quotes):
                last = byte
        else:
            is_word = _count_sign(letters, i, counts, line, is_word)
            last = _sentence_end(letters, i)
    if n:
        _end_line(counts, line, last)
    return line


@inner
def _end_line(counts: Any, line: Any, last: Any) -> None:
    if last == _DOT or last == _EXCLAMATION or last == _QUESTION:
        counts[line, SENTENCES] += 1
        counts[line, ENDS_SENTENCE] = 1


@inner
def _count_sign(letters: Any, i: Any, counts: Any, line: Any, is_word: Any) -> Any:
    """Count a character beyond ASCII; return whether a word can continue after it."""
    byte, second = letters[i], letters[i + 1] if i + 1 < len(letters) else 0
    if byte == 0xC2:
        if second == 0xA3:  # a pound
            counts[line, PRICES] += 1
        elif second == 0xA9 or second == 0xB7 or second == 0xBB:  # ©, ·, »
            counts[line, SEPARATORS] += 1
        return False
    if byte == 0xE2:
        if second == 0x82:  # the signs of currencies
            counts[line, PRICES] += 1
        elif second == 0x80 and i + 2 < len(letters) and (letters[i + 2] == 0xA2 or letters[i + 2] == 0xBA):  # •, ›
            counts[line, SEPARATORS] += 1
        return False
    if 0xE3 <= byte <= 0xE9:
        counts[line, WORDS] += 1
        if _sentence_end(letters, i):
            counts[line, SENTENCES] += 1
        return False
    if not is_word:
        counts[line, WORDS] += 1
    return True


@inner
def _sentence_end(letters: Any, i: Any) -> Any:
    """Return a dot if the character is a full stop of Chinese or Japanese, an ellipsis or a closing quote; else 0."""
    if i + 2 < len(letters):
        if letters[i] == 0xE3 and letters[i + 1] == 0x80 and letters[i + 2] == 0x82:
            return _DOT
        if letters[i] == 0xE2 and letters[i + 1] == 0x80 and letters[i + 2] == 0xA6:
            return _DOT
        if letters[i] == 0xE2 and letters[i + 1] == 0x80 and (letters[i + 2] == 0x9D or letters[i + 2] == 0x99):
            return _DOT  # the end of a quotation
    return 0


@inner
def _is_in(byte: Any, some: Any) -> Any:
    for k in range(len(some)):
        if some[k] == byte:
            return True
    return False
