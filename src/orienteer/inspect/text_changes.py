"""What differs between two texts: the lines that were added and removed, and the words in those that were changed.

Texts of strangers may be made to keep us busy: lines are compared up to a number of them, words in short lines only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_LINES = 3_000  # of each text, without the lines that both begin and end with
MAX_LINE_CHARS = 2_000
_CONTEXT = 2
_MAX_WORDS = 200
_MAX_PAIRS = 150  # of lines that are compared word by word
_NEAR = 4  # a line takes the place of one of the next few
_ALIKE = 0.6  # lines that have less in common are told as two

Piece = tuple[str, bool]


@dataclass(frozen=True)
class Line:
    """`kind` is "same", "added", "removed", or "skipped": so many lines that are the same are left out.

    `pieces` are its words, and whether each is one that differs.
    """

    kind: str
    pieces: tuple[Piece, ...] = ()
    n_skipped: int = 0

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


@dataclass(frozen=True)
class TextChanges:
    """`is_whole` says whether all lines were compared."""

    lines: tuple[Line, ...]
    n_added: int
    n_removed: int
    is_whole: bool


def text_changes(before: str, after: str) -> TextChanges:
    """
    >>> changes = text_changes("a\\nb\\nc", "a\\nc\\nd")
    >>> [(line.kind, line.text) for line in changes.lines]
    [('same', 'a'), ('removed', 'b'), ('same', 'c'), ('added', 'd')]
    """
    old, new = _lines(before), _lines(after)
    n_head = _n_same(zip(old, new, strict=False))
    n_tail = _n_same(zip(reversed(old[n_head:]), reversed(new[n_head:]), strict=False))
    head, tail = old[:n_head], old[len(old) - n_tail :]
    left, right = old[n_head : len(old) - n_tail], new[n_head : len(new) - n_tail]
    is_whole = max(len(left), len(right)) <= MAX_LINES
    lines = _plain("same", head)
    lines += _compared(left[:MAX_LINES], right[:MAX_LINES])
    if is_whole:
        lines += _plain("same", tail)
    n_added = sum(line.kind == "added" for line in lines)
    n_removed = sum(line.kind == "removed" for line in lines)
    return TextChanges(tuple(_shortened(lines)), n_added, n_removed, is_whole)


def _lines(text: str) -> list[str]:
    return [line[:MAX_LINE_CHARS] for line in (raw.strip() for raw in text.splitlines()) if line]


def _n_same(pairs: Iterator[tuple[str, str]]) -> int:
    n_same = 0
    for one, other in pairs:
        if one != other:
            break
        n_same += 1
    return n_same


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    n_left = _MAX_PAIRS
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if kind == "equal":
            yield from _plain("same", old[a:b])
            continue
        removed, added = _plain("removed", old[a:b]), _plain("added", new[c:d])
        n_left -= _mark_words(removed, added, n_left)
        yield from removed
        yield from added


def _plain(kind: str, lines: Sequence[str]) -> list[Line]:
    return [Line(kind, ((text, False),)) for text in lines]


def _mark_words(removed: list[Line], added: list[Line], n_most: int) -> int:
    """Mark the words that differ in lines that took the place of others; how many pairs were looked at."""
    n_pairs, start = 0, 0
    for number, line in enumerate(removed):
        for other in range(start, min(start + _NEAR, len(added))):
            if n_pairs >= n_most:
                return n_pairs
            n_pairs += 1
            pieces = _by_words(line.text, added[other].text)
            if pieces is not None:
                removed[number], added[other] = Line("removed", pieces[0]), Line("added", pieces[1])
                start = other + 1
                break
    return n_pairs


def _by_words(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """Two lines in words, and which of them differ; None where the lines have little in common."""
    one, other = _words(old), _words(new)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if max(len(one), len(other)) > _MAX_WORDS or matcher.quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return None
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if b > a:
            left.append(("".join(one[a:b]), kind != "equal"))
        if d > c:
            right.append(("".join(other[c:d]), kind != "equal"))
    return tuple(left), tuple(right)


def _words(line: str) -> list[str]:
    return [part for word in line.split(" ") for part in (word, " ")][:-1]


def _shortened(lines: list[Line]) -> Iterator[Line]:
    """With some lines around each change, and how many were left out between them."""
    changed = [number for number, line in enumerate(lines) if line.kind != "same"]
    shown = {near for number in changed for near in range(number - _CONTEXT, number + _CONTEXT + 1)}
    n_skipped = 0
    for number, line in enumerate(lines):
        if number in shown:
            if n_skipped:
                yield Line("skipped", (), n_skipped)
            yield line
            n_skipped = 0
        else:
            n_skipped += 1
    if n_skipped:
        yield Line("skipped", (), n_skipped)
