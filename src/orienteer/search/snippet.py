"""The part of a page that shows best why it was found, with the words marked.

A page may hold anything, also markup that its reader took for text: what is marked up here is escaped first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from orienteer.search.query import Ask
from orienteer.search.words import PLAIN, is_sign, spaced, words_of

SNIPPET_CHARS = 240
_MAX_CHARS_READ = 50_000
_MAX_MARKS = 20  # of one word
_MIN_CHARS_CUT = 4
_LEAD_CHARS = 40  # before the first word that is marked
_REST = re.compile(r"[^\W_]*")  # of a word


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
        if any(len(text) >= _MIN_CHARS_CUT for text in sought):
            sought = [text for text in sought if len(text) >= _MIN_CHARS_CUT or not text.isascii()]  # not `the`, `of`
        self._stems = frozenset(word for text in sought for word in words_of(text, way))
        typed = {word for text in sought for word in spaced(text).lower().split()}
        plain = {word for text in sought for word in words_of(text, PLAIN)}
        self._starts = _starts(typed | plain | self._stems)

    def marked(self, text: str) -> Snippet:
        """All of a short text."""
        line = " ".join(text.split())
        return Snippet(line, tuple(self._marks(line)))

    def snippet(self, text: str) -> Snippet:
        """The stretch of a text with the most of the words in it; its beginning where there are none.

        White space is expected to be single spaces.
        """
        line = text[:_MAX_CHARS_READ]
        marks = self._marks(line)
        if not marks:
            return _cut(line, 0, ())
        first, _ = max(_windows(line, marks, self._stem), key=lambda window: window[1])
        return _cut(line, max(0, marks[first][0] - _LEAD_CHARS), marks)

    def _marks(self, text: str) -> list[tuple[int, int]]:
        lower = text.replace("\u0130", "I").lower()  # the one letter that would become two
        marks = {mark for start in self._starts for mark in self._marks_of(start, text, lower)}
        return sorted(marks)

    def _marks_of(self, start: str, text: str, lower: str) -> Iterator[tuple[int, int]]:
        """The words that begin so and have one of the stems."""
        at, n_marks, stands_alone = lower.find(start), 0, is_sign(start)
        while at >= 0 and n_marks < _MAX_MARKS:
            end = at + len(start)
            if stands_alone:
                yield at, end
                n_marks += 1
            elif at == 0 or not lower[at - 1].isalnum():
                found = _REST.match(lower, end)
                end = found.end() if found else end
                if self._stem(text[at:end]) in self._stems:
                    yield at, end
                    n_marks += 1
            at = lower.find(start, end)

    def _stem(self, word: str) -> str:
        words = words_of(word[:100], self._way)
        return words[0] if len(words) == 1 else ""


def _starts(words: Iterable[str]) -> tuple[str, ...]:
    """How words begin that may have the same stem as one of these: alike, but for a letter."""
    starts = {word if len(word) < _MIN_CHARS_CUT else word[: min(len(word) - 1, 6)] for word in words}
    return tuple(sorted(a for a in starts if not any(a != b and a.startswith(b) for b in starts)))


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
