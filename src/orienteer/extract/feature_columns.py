"""The columns of line features, and kernels that fill a matrix with a row for each line.

Columns named `log ...` are filled with plain values first, and replaced by logarithms at the end (see `LOGS`).
"""

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


INNERMOST = ("p", "div", "li", "td", "th", "button", "option")
ANCESTORS = (
    "nav", "footer", "header", "aside", "main", "article", "form", "table", "ol", "button", "select", "figure", "dl",
    "pre", "figcaption",
)  # fmt: skip
N_LEVELS = 5  # ancestors of a line whose contents count
SHIFTS = (-2, -1, 1, 2)
WINDOWS = (5, 12, 30)
N_INNERMOST, N_ANCESTORS = len(INNERMOST), len(ANCESTORS)

_GROUPS = {
    "lines": (
        "log chars", "log words", "link share", "has link", "log sentences", "commas per word", "figures", "capitals",
        "has separators", "starts high", "ends sentence", "is h1", "is h2", "is h3", "log repeated",
    ),
    "places": (*(f"in a {name}" for name in INNERMOST), *(f"within {name}" for name in ANCESTORS)),
    "held": tuple(
        f"{name} {level}" for level in range(1, N_LEVELS + 1)
        for name in ("log held chars", "held link share", "held of page", "log held lines")
    ),
    "containers": tuple(
        f"{name} {share}" for share in ("80 %", "50 %") for name in (
            "in container", "out of container", "log before container", "log after container",
        )
    ),
    "likes": tuple(
        f"{name}, same {like}" for like in ("class", "path")
        for name in ("log lines", "log chars", "link share", "of page")
    ),
    "neighbours": tuple(
        f"{name}, {-shift:+}" for shift in SHIFTS for name in ("log chars", "heading", "log sentences")
    ),
    "windows": tuple(f"{name}, window {size}" for size in WINDOWS for name in ("log chars", "prose")),
    "headings": (
        "log since heading", "log to heading", "level of heading", "in title", "has title", "log behind title",
        "log before title",
    ),
    "page": (
        "lines before", "chars before", "log lines before", "log before prose", "log after prose",
    ),
    "whole page": (
        "log page: chars", "page: link share", "page: prose", "page: main", "page: prices", "log page: median",
        "page: segments", "page: hyphens", "page: figures in path",
    ),
}  # fmt: skip
COLUMNS = tuple(name for names in _GROUPS.values() for name in names)
N_UNLEARNED = len(COLUMNS)
LOGS = [k for k, name in enumerate(COLUMNS) if name.startswith("log ")]


def _begin(group: str) -> int:
    return COLUMNS.index(_GROUPS[group][0])


_LINES, _PLACES, _HELD, _CONTAINERS = map(_begin, ("lines", "places", "held", "containers"))
_LIKES, _NEIGHBOURS, _WINDOWS, _HEADINGS, _PAGE, WHOLE_PAGE = map(
    _begin, ("likes", "neighbours", "windows", "headings", "page", "whole page")
)
_PER_CONTAINER, _PER_LIKE = len(_GROUPS["containers"]) // 2, len(_GROUPS["likes"]) // 2
_FAR = 99  # lines: counts as no heading


@inner
def _put(matrix: Any, line: Any, at: Any, values: Any) -> Any:
    """Put values into a row from a column on; return the next column."""
    for value in values:
        matrix[line, at] = value
        at += 1
    return at


@inner
def _is(condition: Any) -> Any:
    return 1.0 if condition else 0.0


@kernel
def fill_lines(counts: Any, linked: Any, sentences: Any, levels: Any, repeated: Any, matrix: Any) -> Any:
    for line in range(len(linked)):
        chars, words = max(counts[line, CHARS], 1.0), max(counts[line, WORDS], 1.0)
        at = _put(matrix, line, _LINES, (chars, words, linked[line] / chars))
        at = _put(matrix, line, at, (_is(linked[line] > 0), sentences[line], counts[line, COMMAS] / words))
        at = _put(matrix, line, at, (counts[line, FIGURES] / chars, counts[line, CAPITALS] / chars))
        at = _put(matrix, line, at, (_is(counts[line, SEPARATORS] > 0), counts[line, STARTS_HIGH]))
        level = levels[line]
        at = _put(matrix, line, at, (counts[line, ENDS_SENTENCE], _is(level == 1), _is(level == 2), _is(level == 3)))
        _put(matrix, line, at, (repeated[line] - 1.0,))
    return 0


@kernel
def fill_places(of_lines: Any, innermost: Any, flags: Any, matrix: Any) -> Any:
    for line in range(len(of_lines)):
        element = of_lines[line]
        at = _PLACES
        for k in range(N_INNERMOST):
            matrix[line, at + k] = _is(innermost[element] == k)
        at += N_INNERMOST
        for k in range(N_ANCESTORS):
            matrix[line, at + k] = float((flags[element] >> k) & 1)
    return 0


@kernel
def fill_held(of_lines: Any, parents: Any, held: Any, all_sensible: Any, matrix: Any) -> Any:
    for line in range(len(of_lines)):
        element, at = of_lines[line], _HELD
        for _ in range(N_LEVELS):
            chars, linked, sensible = held[element, 0], held[element, 1], held[element, 2]
            at = _put(matrix, line, at, (chars, linked / chars, sensible / all_sensible, held[element, 3]))
            element = max(parents[element], 0)
    return 0


@kernel
def fill_container(of_lines: Any, depths: Any, container: Any, meeting: Any, which: Any, matrix: Any) -> Any:
    """`meeting` is for each element its lowest common ancestor with the container."""
    n = len(of_lines)
    first, last = -1, -1
    for line in range(n):
        if meeting[of_lines[line]] == container:
            first = line if first < 0 else first
            last = line
    if first < 0:
        first, last = 0, n - 1
    for line in range(n):
        met = meeting[of_lines[line]]
        out = min(float(depths[container] - depths[met]), 12.0)
        at = _CONTAINERS + which * _PER_CONTAINER
        before, behind = max(float(first - line), 0.0), max(float(line - last), 0.0)
        _put(matrix, line, at, (_is(met == container), out, before, behind))
    return 0


@kernel
def fill_likes(like: Any, sums: Any, all_chars: Any, which: Any, matrix: Any) -> Any:
    """`sums` has for each kind: characters, linked ones, sensible ones, lines."""
    for line in range(len(like)):
        kind = like[line]
        chars, linked, n_lines = sums[kind, 0], sums[kind, 1], sums[kind, 3]
        at = _LIKES + which * _PER_LIKE
        _put(matrix, line, at, (n_lines, chars / n_lines, linked / chars, chars / all_chars))
    return 0


@kernel
def fill_neighbours(chars: Any, levels: Any, sentences: Any, matrix: Any) -> Any:
    n = len(chars)
    for line in range(n):
        at = _NEIGHBOURS
        for shift in SHIFTS:
            k = line - shift
            if 0 <= k < n:
                at = _put(matrix, line, at, (chars[k], _is(levels[k] > 0), sentences[k]))
            else:
                at = _put(matrix, line, at, (0.0, 0.0, 0.0))
    return 0


@kernel
def fill_windows(sums: Any, matrix: Any) -> Any:
    """`sums` has cumulative sums over the lines before each: characters, those of prose."""
    n = len(sums) - 1
    for line in range(n):
        at = _WINDOWS
        for window in WINDOWS:
            start, end = max(line - window, 0), min(line + window + 1, n)
            chars = sums[end, 0] - sums[start, 0]
            at = _put(matrix, line, at, (chars, (sums[end, 1] - sums[start, 1]) / chars))
    return 0


@kernel
def fill_headings(last: Any, levels: Any, shares: Any, title: Any, matrix: Any) -> Any:
    """`last` is the last heading up to each line, `title` the line of the title; -1: none."""
    n = len(last)
    following = n + _FAR
    for line in range(n - 1, -1, -1):
        heading = last[line]
        since = float(line - heading) if heading >= 0 else float(_FAR)
        level = levels[heading] if heading >= 0 else 0.0
        at = _put(matrix, line, _HEADINGS, (since, float(min(following - line, _FAR)), level))
        behind = float(line - title) if title >= 0 else 0.0
        _put(matrix, line, at, (shares[line, 0], _is(title >= 0), max(behind, 0.0), max(-behind, 0.0)))
        if heading == line:
            following = line
    return 0


@kernel
def fill_page(chars: Any, sensible: Any, all_chars: Any, whole_page: Any, matrix: Any) -> Any:
    """`whole_page` has the values that are the same for all lines."""
    n = len(chars)
    first, last = -1, -1
    for line in range(n):
        if sensible[line] > 0:
            first = line if first < 0 else first
            last = line
    if first < 0:
        first, last = 0, n - 1
    before = 0.0
    for line in range(n):
        at = _put(matrix, line, _PAGE, (line / n, before / all_chars, float(line)))
        at = _put(matrix, line, at, (max(float(first - line), 0.0), max(float(line - last), 0.0)))
        for k in range(len(whole_page)):
            matrix[line, at + k] = whole_page[k]
        before += chars[line]
    return 0
