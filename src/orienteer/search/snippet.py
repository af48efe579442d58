"""Snippets: the passage of a page that matches a query best, with the words marked.

The text is untrusted and may contain markup, so it is escaped before marks are added. Texts with pages, such as those
of PDF, have a PAGE_MARK at the beginning of each page, and a result names the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from orienteer.extract.documents.document import PAGE_MARK
from orienteer.search.query import ParsedQuery
from orienteer.search.words import PLAIN, WORD_MARKS, folded, has_unspaced_script, words_of, written_forms

SNIPPET_CHARS = 240
_MAX_CHARS_READ = 20_000
_MAX_MARKS = 12  # of one word
_MAX_MARKS_OF_PAGE = 200  # the same, to choose a page of a document
_MAX_LIKELY_PAGES = 50  # pages of a document that are compared
_MIN_CHARS_CUT = 4
_LEAD_CHARS = 40  # before the first word that is marked
_TITLE_WITHIN_CHARS = 2_000
_MIN_TITLE_CHARS = 5  # of the beginning of a title; shorter ones, such as "The", match by chance
_MAX_LEAD_CHARS = 100  # the same, if the snippet then begins with a block or a sentence
_SENTENCE_END = re.compile(r"[.!?]\s+(?=[^\W\d_a-z])|[。！？]")
_REST = re.compile(rf"[^\W_]*(?:[{WORD_MARKS}]+[^\W_]*)*")  # of a word
_INSIDE = frozenset(WORD_MARKS)
_SEPARATOR = "\ud800"  # a lone surrogate, which occurs in no text


def collapsed(line: str) -> str:
    """Return a line with single spaces between its words; a page mark at its beginning stays.

    >>> collapsed(f"{PAGE_MARK} a  b "), collapsed(PAGE_MARK), collapsed(" ")
    ('\\x0ca b', '\\x0c', '')
    """
    words = " ".join(line.split())
    return PAGE_MARK + words if line.startswith(PAGE_MARK) else words


def has_pages(text: str) -> bool:
    return text.startswith(PAGE_MARK)


def pages_of(text: str) -> list[str]:
    """Split a text with page marks into pages; the first is page 1."""
    return [page.strip("\n") for page in text.split(PAGE_MARK)[1:]]


class Snippet(NamedTuple):
    """A passage of text, and the spans to mark in it."""

    plain: str
    marks: tuple[tuple[int, int], ...] = ()
    page: int | None = None  # of a document with pages, if a word matches on one

    @property
    def segments(self) -> tuple[str, ...]:
        """The text split into segments, every second of which is to be marked."""
        segments, at = [], 0
        for start, stop in self.marks:
            segments += [self.plain[at:start], self.plain[start:stop]]
            at = stop
        return (*segments, self.plain[at:])

    @property
    def html(self) -> str:
        return html_of(self.segments)


def html_of(segments: Sequence[str]) -> str:
    """Return segments as HTML: escaped, every second one in `<mark>`."""
    if len(segments) == 1:
        return escape(segments[0])
    escaped = escape(_SEPARATOR.join(segments)).split(_SEPARATOR)  # a single call is faster
    escaped[1::2] = [f"<mark>{part}</mark>" for part in escaped[1::2]]
    return "".join(escaped)


Mark = tuple[int, int, str]  # start, stop, and the matching stem


class Marker:
    """Finds the words of a query in texts that use the same stemmer."""

    def __init__(self, parsed: ParsedQuery, stemmer: str) -> None:
        terms = [clause.text for clause in parsed.scored_clauses]
        if any(len(text) >= _MIN_CHARS_CUT for text in terms):
            terms = [text for text in terms if len(text) >= _MIN_CHARS_CUT or not text.isascii()]  # not `the`, `of`
        forms = [form for text in terms for form in (text, *written_forms(text))]
        spaced = [form for form in forms if not has_unspaced_script(form)]
        stems = frozenset(word for text in spaced for word in words_of(text, stemmer))
        typed = {word for text in spaced for word in folded(text.lower()).split()}
        plain = {word for text in spaced for word in words_of(text, PLAIN)}
        self._starts = [(start, len(start)) for start in _starts(typed | plain | stems)]
        self._runs = _runs(forms)
        self._is_ascii = not self._runs and all(start.isascii() and "?" not in start for start, _ in self._starts)
        self._stem_of = _Stems(stems, stemmer)

    def marked(self, text: str) -> Snippet:
        """Return all of a short text."""
        line = " ".join(text.split())
        return Snippet(line, tuple((start, stop) for start, stop, _ in self._marks(line, self._lower(line))))

    def snippet(self, text: str, title: str = "", most: int = _MAX_MARKS) -> Snippet:
        """Return the passage of a text with the most of the words, or the beginning of the text if there are none.

        The passage starts at a block or a sentence, if one starts nearby. It starts after the title if the text repeats
        the title. Expects collapsed white space, with line ends between blocks.
        """
        blocks = text[:_MAX_CHARS_READ]
        lower = self._lower(blocks)
        after_title = _after_title(blocks, lower, title)
        marks = self._marks(blocks, lower, most)
        marks = [mark for mark in marks if mark[0] >= after_title] if after_title else marks
        if not marks:
            return _cut(blocks, after_title, marks, is_cut=False)
        first = marks[_best(marks)][0]
        start = _start_before(blocks, first, after_title)
        if start is not None:
            return _cut(blocks, start, marks, is_cut=False)
        return _cut(blocks, first - _LEAD_CHARS, marks, is_cut=True)

    def snippet_of_pages(self, text: str, title: str) -> Snippet:
        """Return the snippet of the page with most of the words close together, for a text with pages."""
        pages = pages_of(text)
        n_starts = [self._n_starts(page) for page in pages]
        least = max(1, max(n_starts, default=0) - 1)  # tolerates one: a word may be hyphenated, and substrings match
        likely = [number for number, n in enumerate(n_starts) if n >= least][:_MAX_LIKELY_PAGES]
        if not likely:
            return self.snippet("\n".join(pages)[:_MAX_CHARS_READ], title)
        best = max(likely, key=lambda number: self._closeness(pages[number]))
        snippet = self.snippet(pages[best], title, _MAX_MARKS_OF_PAGE)
        return snippet._replace(page=best + 1) if snippet.marks else snippet

    def _n_starts(self, text: str) -> int:
        lower = text.lower()
        return sum(start in lower for start, *_ in self._starts)

    def _closeness(self, text: str) -> tuple[int, int]:
        """Count the different words in the best passage of a page, and their occurrences."""
        marks = self._marks(text, self._lower(text), _MAX_MARKS_OF_PAGE)
        if not marks:
            return 0, 0
        first = _best(marks)
        end = marks[first][0] + SNIPPET_CHARS - _LEAD_CHARS
        inside = [stem for _, stop, stem in marks[first:] if stop <= end]
        return len(set(inside)), len(inside)

    def _lower(self, text: str) -> str:
        """Return a text in lower case without changing its length, so that offsets stay valid."""
        if text.isascii():
            return text.lower()
        if self._is_ascii:  # other letters cannot match, and become "?": twice as fast
            return text.encode("latin-1", errors="replace").lower().decode("latin-1")
        return folded(text.replace("\u0130", "I").lower())  # the one letter whose lower case has two characters

    def _marks(self, text: str, lower: str, most: int = _MAX_MARKS) -> list[Mark]:
        marks: list[Mark] = []
        find, stem_of = lower.find, self._stem_of
        for start, n_chars in self._starts:
            at, n_left = find(start), most
            while at >= 0 and n_left:
                end = at + n_chars
                if at == 0 or (before := text[at - 1]) == " " or not (before.isalnum() or before in _INSIDE):
                    end = _REST.match(text, end).end()  # type: ignore[union-attr]  # it always matches, possibly nothing
                    if stem := stem_of[text[at:end]]:
                        marks.append((at, end, stem))
                        n_left -= 1
                at = find(start, end)
        if self._runs:
            return _merged(marks + [mark for run in self._runs for mark in _run_marks(lower, run)])
        if len(self._starts) > 1:
            marks.sort()
        return marks


def _runs(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the runs of characters of scripts without spaces, except those that contain another run."""
    runs = {run.lower() for text in texts if has_unspaced_script(text) for run in text.split()}
    return tuple(sorted(run for run in runs if not any(run != other and other in run for other in runs)))


def _run_marks(lower: str, run: str) -> list[Mark]:
    """Mark the occurrences of a run; if there are none, those of each pair of its characters."""
    pieces = [run] if run in lower else [run[at : at + 2] for at in range(len(run) - 1)]
    marks = []
    for piece in pieces:
        at, n_left = lower.find(piece), _MAX_MARKS
        while at >= 0 and n_left:
            marks.append((at, at + len(piece), piece))
            at, n_left = lower.find(piece, at + len(piece)), n_left - 1
    return marks


def _merged(marks: list[Mark]) -> list[Mark]:
    """Sort marks, and merge those that overlap."""
    found: list[Mark] = []
    for mark in sorted(marks):
        if found and mark[0] < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], mark[1]), found[-1][2])
        else:
            found.append(mark)
    return found


class _Stems(dict[str, str]):
    """A cache of the query stem that each word has, "" if none."""

    def __init__(self, terms: frozenset[str], stemmer: str) -> None:
        self._wanted, self._stemmer = terms, stemmer

    def __missing__(self, word: str) -> str:
        words = words_of(word[:100], self._stemmer)
        self[word] = words[0] if len(words) == 1 and words[0] in self._wanted else ""
        return self[word]


def _starts(words: Iterable[str]) -> tuple[str, ...]:
    """Return prefixes of all words that may share a stem with one of these; they differ in the last letters.

    A stemmer may return an empty stem, as the Greek one does.
    """
    starts = {word if len(word) < _MIN_CHARS_CUT else word[: min(len(word) - 1, 6)] for word in words if word}
    return tuple(sorted(a for a in starts if not any(a != b and a.startswith(b) for b in starts)))


def _best(marks: Sequence[Mark]) -> int:
    """Return the first mark of the best passage: by different words, then by marks, then the earliest."""
    n_marks, last, best, best_first = len(marks), 0, (0, 0), 0
    n_words = len({stem for _, _, stem in marks})
    for first, mark in enumerate(marks):
        end = mark[0] + SNIPPET_CHARS - _LEAD_CHARS
        while last < n_marks and marks[last][1] <= end:
            last += 1
        if last - first > (best[1] if best[0] == n_words else best[0]):  # otherwise it cannot be better
            found = (len({stem for _, _, stem in marks[first:last]}), last - first)
            if found > best:
                best, best_first = found, first
        if last == n_marks:  # all later passages lie within this one
            break
    return best_first


def _after_title(blocks: str, lower: str, title: str) -> int:
    """Return the end of the block that has the title, or the beginning of it; 0 if there is none.

    Text before that block, such as a menu, is not about the topic of the page.
    """
    name = " ".join(title.split()).lower()
    if not name:
        return 0
    lead, key = "\n" + blocks[:_TITLE_WITHIN_CHARS], "\n" + name[:_MIN_TITLE_CHARS]
    if key.isascii():
        lower = "\n" + lower[:_TITLE_WITHIN_CHARS]
    else:
        lead = lower = lead.lower()
    at = lower.find(key)
    while at >= 0 and (end := lower.find("\n", at + 1)) >= 0:
        block = lead[at:end].strip().lower()
        if block == name or (len(block) >= _MIN_TITLE_CHARS and name.startswith(block)):
            return end
        at = lower.find(key, end)
    return 0


def _start_before(blocks: str, first: int, earliest: int) -> int | None:
    """Return the start of the block or sentence of a word; None if it is too far before the word."""
    at_block = blocks.rfind("\n", max(earliest, first - _MAX_LEAD_CHARS), first)
    if at_block >= 0:
        return at_block + 1
    if first - earliest <= _LEAD_CHARS:
        return earliest
    ends = [end.end() for end in _SENTENCE_END.finditer(blocks, max(earliest, first - _MAX_LEAD_CHARS), first)]
    return ends[-1] if ends else None


def _cut(blocks: str, start: int, marks: Iterable[Mark], is_cut: bool) -> Snippet:
    """Return the passage from `start` to the end of a word; if `is_cut`, from the next beginning of a word."""
    line = blocks[start : start + _LEAD_CHARS + SNIPPET_CHARS].replace("\n", " ")
    if is_cut and (space := line.find(" ", 0, _LEAD_CHARS)) >= 0:
        start, line = start + space + 1, line[space + 1 :]
    line = line[:SNIPPET_CHARS]
    goes_on = start + len(line) < len(blocks)
    if goes_on and (space := line.rfind(" ")) > 0:
        line = line[:space]
    lead, tail = "… " if is_cut else "", " …" if goes_on else ""
    moved, stop = len(lead) - start, start + len(line)
    inside = tuple((a + moved, b + moved) for a, b, _ in marks if start <= a and b <= stop)
    return Snippet(lead + line + tail, inside)
