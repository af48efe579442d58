"""The difference of two texts: the lines that were added and removed, and the words in changed ones.

Untrusted texts may be made to take very long: lines are compared up to a limit, words in short lines only.

`describe_change` is the change of a page in a sentence or two. Both versions are read from the archive; versions that
are missing or unreadable are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.inspect.captures import ArchivedTime, Captures
from orienteer.inspect.changes import Change
from orienteer.responses.reading import read_page
from orienteer.store.capture_table import CaptureRow
from orienteer.wording import counted, plain

MAX_LINES = 3_000  # of each text, without the lines that both begin and end with
MAX_LINE_CHARS = 2_000
_CONTEXT = 2
_MAX_WORDS = 200
_MAX_PAIRS = 150  # of lines that are compared word by word
_NEAR = 4  # a removed line is compared with this many added ones
_ALIKE = 0.6  # lines that have less in common count as removed and added

Piece = tuple[str, bool]
_MAX_LINES = 3
_MAX_LINE_CHARS = 160


@dataclass(frozen=True)
class DiffLine:
    """`kind` is "same", "added", "removed", or "skipped": `n_skipped` equal lines are left out.

    `pieces` are its words, and whether each differs.
    """

    kind: str
    pieces: tuple[Piece, ...] = ()
    n_skipped: int = 0

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


@dataclass(frozen=True)
class TextChanges:
    """The lines of a difference; `is_complete` is whether all lines were compared."""

    lines: tuple[DiffLine, ...]
    n_added: int
    n_removed: int
    is_complete: bool


def text_changes(before: str, after: str) -> TextChanges:
    """Compare two texts by lines.

    >>> changes = text_changes("a\\nb\\nc", "a\\nc\\nd")
    >>> [(line.kind, line.text) for line in changes.lines]
    [('same', 'a'), ('removed', 'b'), ('same', 'c'), ('added', 'd')]
    """
    old, new = _lines(before), _lines(after)
    n_head = _n_same(zip(old, new, strict=False))
    n_tail = _n_same(zip(reversed(old[n_head:]), reversed(new[n_head:]), strict=False))
    head, tail = old[:n_head], old[len(old) - n_tail :]
    left, right = old[n_head : len(old) - n_tail], new[n_head : len(new) - n_tail]
    is_complete = max(len(left), len(right)) <= MAX_LINES
    lines = _plain("same", head)
    lines += _compare(left[:MAX_LINES], right[:MAX_LINES])
    if is_complete:
        lines += _plain("same", tail)
    n_added = sum(line.kind == "added" for line in lines)
    n_removed = sum(line.kind == "removed" for line in lines)
    return TextChanges(tuple(_shortened(lines)), n_added, n_removed, is_complete)


def _lines(text: str) -> list[str]:
    return [line[:MAX_LINE_CHARS] for line in (raw.strip() for raw in text.splitlines()) if line]


def _n_same(pairs: Iterator[tuple[str, str]]) -> int:
    n_same = 0
    for one, other in pairs:
        if one != other:
            break
        n_same += 1
    return n_same


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    n_left = _MAX_PAIRS
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if kind == "equal":
            yield from _plain("same", old[a:b])
            continue
        removed, added = _plain("removed", old[a:b]), _plain("added", new[c:d])
        n_left -= _mark_words(removed, added, n_left)
        yield from removed
        yield from added


def _plain(kind: str, lines: Sequence[str]) -> list[DiffLine]:
    return [DiffLine(kind, ((text, False),)) for text in lines]


def _mark_words(removed: list[DiffLine], added: list[DiffLine], n_most: int) -> int:
    """Mark the words that differ in replaced lines; return how many pairs were compared."""
    n_pairs, start = 0, 0
    for number, line in enumerate(removed):
        for other in range(start, min(start + _NEAR, len(added))):
            if n_pairs >= n_most:
                return n_pairs
            n_pairs += 1
            pieces = _by_words(line.text, added[other].text)
            if pieces is not None:
                removed[number], added[other] = DiffLine("removed", pieces[0]), DiffLine("added", pieces[1])
                start = other + 1
                break
    return n_pairs


def _by_words(old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """Return two lines in words, with which of them differ; None if the lines have little in common."""
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
    return [word for token in line.split(" ") for word in (token, " ")][:-1]


def _shortened(lines: list[DiffLine]) -> Iterator[DiffLine]:
    """Yield each change with `_CONTEXT` lines before and after, and skipped lines as one."""
    changed = [number for number, line in enumerate(lines) if line.kind != "same"]
    visible = {near for number in changed for near in range(number - _CONTEXT, number + _CONTEXT + 1)}
    n_skipped = 0
    for number, line in enumerate(lines):
        if number in visible:
            if n_skipped:
                yield DiffLine("skipped", (), n_skipped)
            yield line
            n_skipped = 0
        else:
            n_skipped += 1
    if n_skipped:
        yield DiffLine("skipped", (), n_skipped)


def describe_change(captures: Captures, change: Change) -> str:
    """Return the sentence of `Change.describe`; for a changed page with the number of lines, and the first new ones."""
    if change.kind != "changed" or change.redirects_to is not None:
        return change.describe()
    try:
        compared = _compare_versions(captures, change)
    except CrawlFolderError:
        compared = None
    return change.describe() if compared is None else _describe_lines(compared)


def texts_at(captures: Captures, first: ArchivedTime, last: ArchivedTime) -> tuple[str, str]:
    """Return the texts of a page at two times: rendered ones if it was rendered both times, else of the responses."""
    if first.dom is not None and last.dom is not None:
        return _text_of(captures, first.dom), _text_of(captures, last.dom)
    return _text_of(captures, first.capture), _text_of(captures, last.capture)


def _text_of(captures: Captures, row: CaptureRow) -> str:
    """Return the text of a capture, "" if it cannot be read."""
    archived = captures.content(row)
    if archived is None:
        return ""
    try:
        return read_page(archived.content, archived.url, archived.type, archived.charset).text
    except UnreadableDocumentError:
        return ""


def _compare_versions(captures: Captures, change: Change) -> TextChanges | None:
    times = captures.times_of(change.url)
    if not times:
        return None
    number = min(range(len(times)), key=lambda k: abs(times[k].time - change.time))
    if number == 0:
        return None
    return text_changes(*texts_at(captures, times[number - 1], times[number]))


def _describe_lines(compared: TextChanges) -> str:
    if not compared.n_added and not compared.n_removed:
        return "The page has changed, but not its text."
    lines = f"{counted(compared.n_added, 'line')} added, {compared.n_removed:,} removed"
    added = [plain(line.text, _MAX_LINE_CHARS) for line in compared.lines if line.kind == "added"]
    more = " …" if len(added) > _MAX_LINES else ""
    new_text = f" It says now: {' / '.join(added[:_MAX_LINES])}{more}" if added else ""
    return f"The page has changed: {lines}.{new_text}"
