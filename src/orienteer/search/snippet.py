"""The part of a page that shows best why it was found, with the words marked.

A page may hold anything, also markup that its reader took for text: what is marked up here is escaped first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import NamedTuple

from orienteer.search.query import Ask
from orienteer.search.words import words_of

SNIPPET_CHARS = 240
_MAX_CHARS_READ = 200_000
_MAX_MARKS = 300
_LEAD_CHARS = 40  # before the first word that is marked

# Letters that lose their accents when words are looked up.
_ACCENTED = {
    "a": "aàáâãäåāăą", "c": "cçćč", "d": "dďđ", "e": "eèéêëēėęě", "g": "gğ", "i": "iìíîïīįı", "l": "lł", "n": "nñńň",
    "o": "oòóôõöøōő", "r": "rř", "s": "sśşš", "t": "tťţ", "u": "uùúûüūůű", "y": "yýÿ", "z": "zźżž",
}  # fmt: skip


class Snippet(NamedTuple):
    """A stretch of text, and the places in it that are to be marked."""

    plain: str
    marks: tuple[tuple[int, int], ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The text in pieces: every second one is to be marked."""
        ends = [0, *(end for mark in self.marks for end in mark), len(self.plain)]
        return tuple(self.plain[start:stop] for start, stop in pairwise(ends))

    @property
    def html(self) -> str:
        """The same for a browser: escaped, with `<mark>` around the words."""
        pieces = (f"<mark>{escape(part)}</mark>" if n % 2 else escape(part) for n, part in enumerate(self.parts))
        return "".join(pieces)


class Marker:
    """Finds the words of a query in texts that are read in one way."""

    def __init__(self, ask: Ask, way: str) -> None:
        sought = [clause.text for clause in ask.sought]
        self._way = way
        self._stems = frozenset(word for text in sought for word in words_of(text, way))
        plain = [word for text in sought for word in words_of(text, "plain")]
        self._pattern = _pattern(tuple(sorted({*plain, *self._stems})))

    def marked(self, text: str) -> Snippet:
        """All of a short text."""
        line = " ".join(text.split())
        return Snippet(line, tuple(self._marks(line)))

    def snippet(self, text: str) -> Snippet:
        """The stretch of a long text with the most of the words in it; its beginning where there are none."""
        line = " ".join(text[:_MAX_CHARS_READ].split())
        marks = self._marks(line)
        if not marks:
            return _cut(line, 0, ())
        first, _ = max(_windows(line, marks, self._stem), key=lambda window: window[1])
        return _cut(line, max(0, marks[first][0] - _LEAD_CHARS), marks)

    def _marks(self, text: str) -> list[tuple[int, int]]:
        if self._pattern is None:
            return []
        marks: list[tuple[int, int]] = []
        for found in self._pattern.finditer(text):
            if self._stem(found[0]) in self._stems:
                marks.append(found.span())
                if len(marks) == _MAX_MARKS:
                    break
        return marks

    def _stem(self, word: str) -> str:
        words = words_of(word[:100], self._way)
        return words[0] if len(words) == 1 else ""


def _windows(
    line: str, marks: Sequence[tuple[int, int]], stem: Callable[[str], str]
) -> Iterable[tuple[int, tuple[int, int, int]]]:
    """For each mark how good a stretch is that begins there: different words, marks, how early."""
    stems = [stem(line[start:stop]) for start, stop in marks]
    last = 0
    for first, (start, _) in enumerate(marks):
        while last < len(marks) and marks[last][1] <= start + SNIPPET_CHARS - _LEAD_CHARS:
            last += 1
        yield first, (len(set(stems[first:last])), last - first, -first)


def _cut(line: str, start: int, marks: Iterable[tuple[int, int]]) -> Snippet:
    """The stretch from about there on, from one end of a word to another."""
    if start and (space := line.find(" ", start, start + _LEAD_CHARS)) >= 0:
        start = space + 1
    stop = min(len(line), start + SNIPPET_CHARS)
    if stop < len(line) and (space := line.rfind(" ", start, stop)) > start:
        stop = space
    lead, tail = "… " if start else "", " …" if stop < len(line) else ""
    moved = len(lead) - start
    inside = tuple((a + moved, b + moved) for a, b in marks if start <= a and b <= stop)
    return Snippet(lead + line[start:stop] + tail, inside)


@lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds words that may have one of these stems: they begin alike, but for a letter."""
    starts = {word if len(word) == 1 else word[: max(1, min(len(word) - 1, 6))] for word in words}
    shortest = {start for start in starts if not any(start != other and start.startswith(other) for other in starts)}
    if not shortest:
        return None
    letters = (
        "".join(f"[{_ACCENTED[c]}]" if c in _ACCENTED else re.escape(c) for c in start) for start in sorted(shortest)
    )
    signs = "".join(re.escape(word) for word in words if len(word) == 1 and not word.isascii())
    alone = f"[{signs}]|" if signs else ""
    return re.compile(rf"{alone}(?<![^\W_])(?:{'|'.join(letters)})[^\W_]*", re.IGNORECASE)
