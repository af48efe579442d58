"""Features of the lines of a page, a row of numbers for each line.

The features are of the line itself (length, share of links, sentences, digits), of its ancestors (their text and links,
and whether they contain most sentences of the page), of similar lines (in elements of the same name and class), of its
neighbors, of the headings before and after it, and of the page as a whole; and the learned weights of words, in classes
of elements (`sidebar`, `entry`) and in short lines (`Share`, `Subscribe`). `feature_columns` names and fills the
columns.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract import feature_columns as columns
from orienteer.extract.feature_columns import CHARS, N_ANCESTORS, PRICES, SENTENCES, SHIFTS, WORDS, line_counts
from orienteer.extract.learned_words import NO_WORDS, LearnedWords, lowered, title_shares
from orienteer.extract.line_places import Places
from orienteer.extract.page_text import NAMES, NUMBERS, Floats, Ints
from orienteer.kernel import kernel

N_LEARNED = 16
_SHARES = (0.8, 0.5)  # of the sentences of a page that its containers must contain
_HEADINGS = tuple(NUMBERS[f"h{level}"] for level in range(1, 7))

_INNERMOST = np.full(len(NAMES), -1, np.int64)
_INNERMOST[[NUMBERS[name] for name in columns.INNERMOST]] = range(columns.N_INNERMOST)
_BITS = np.zeros(len(NAMES), np.int64)  # a bit for each of ANCESTORS, and above them one for each level of headings
_BITS[[NUMBERS[name] for name in columns.ANCESTORS]] = 1 << np.arange(N_ANCESTORS)
_BITS[list(_HEADINGS)] = 1 << (N_ANCESTORS + np.arange(6))
_NAV, _FOOTER, _ASIDE, _PRE, _TABLE, _MAIN = (
    NUMBERS[name] for name in ("nav", "footer", "aside", "pre", "table", "main")
)
_OUTSIDE = int(_BITS[_NAV] | _BITS[_FOOTER] | _BITS[_ASIDE])
_MAY_REPEAT = int(_BITS[_PRE] | _BITS[_TABLE])


class Context(NamedTuple):
    """The relations between the lines of a page."""

    places: Places
    chars: Floats
    same_class: Ints  # for each line the number of its kind; similar lines have the same
    same_path: Ints
    last_heading: Ints  # for each line the last heading up to it; -1: none


class LineFeatures:
    """The features of a page; `matrix` has a row for each line, with the columns of learned words at the end."""

    def __init__(self, text: str, places: Places, title: str, url: str, learned: LearnedWords = NO_WORDS) -> None:
        self.texts, self.places = text.split("\n"), places
        self.n = n = len(self.texts)
        self.matrix: NDArray[np.float32] = np.empty((n, columns.N_UNLEARNED + N_LEARNED), np.float32)
        self.counts = line_counts(text, n)
        self.letters = lowered(text)
        self.chars, self.words = np.maximum(self.counts[:, CHARS], 1), np.maximum(self.counts[:, WORDS], 1)
        self.linked = np.minimum(places.linked, self.chars)
        self.sentences = np.minimum(self.counts[:, SENTENCES], 20)
        self.flags = places.flags(_BITS[places.names])
        self.depths = places.depths
        self.levels, self.last_heading = np.zeros(n), np.empty(n, np.int64)
        _find_headings(places.of_lines, self.flags, self.levels, self.last_heading)
        self._mark_prose()
        self._fill(title, url)
        fill_learned(self.context, self.letters, self.words, learned, self.matrix[:, columns.N_UNLEARNED :])

    @property
    def context(self) -> Context:
        return Context(self.places, self.chars, self.same_class, self.same_path, self.last_heading)

    def repeats(self, least_chars: int) -> list[int]:
        """Return the long lines that repeat an earlier line; lines of code and of tables may repeat."""
        seen: set[str] = set()
        again = []
        may_repeat = (self.flags & _MAY_REPEAT)[self.places.of_lines] > 0
        for k in np.nonzero((self.chars >= least_chars) & ~may_repeat)[0].tolist():
            if self.texts[k] in seen:
                again.append(k)
            seen.add(self.texts[k])
        return again

    def _mark_prose(self) -> None:
        """Count the characters of lines that look like sentences; of all lines if the page has few such lines."""
        unlinked = self.chars - self.linked
        is_prose = (self.chars >= 60) & (self.linked < 0.35 * self.chars) & (self.sentences >= 1)
        self.prose = np.where(is_prose, unlinked, 0.0)
        is_outside = (self.flags & _OUTSIDE)[self.places.of_lines] > 0
        self.sensible = np.where(is_outside, 0.0, self.prose)
        if self.sensible.sum() < 200:
            self.sensible = unlinked * np.where(is_outside, 0.1, 1.0)

    def _fill(self, title: str, url: str) -> None:
        places, matrix, n = self.places, self.matrix, self.n
        of_lines = places.of_lines
        all_chars, all_sensible = float(self.chars.sum()), max(float(self.sensible.sum()), 1.0)
        n_same = Counter(self.texts)
        repeated = np.array([n_same[text] for text in self.texts], np.float64)
        columns.fill_lines(self.counts, self.linked, self.sentences, self.levels, repeated, matrix)
        columns.fill_places(of_lines, _INNERMOST[places.names], self.flags, matrix)
        own = np.stack([self.chars, self.linked, self.sensible, np.ones(n)], axis=1)
        held = places.sums(own)
        columns.fill_held(of_lines, places.parents, held, all_sensible, matrix)
        for which, share in enumerate(_SHARES):
            container, meeting = self._container(share * all_sensible, held[:, 2])
            columns.fill_container(of_lines, self.depths, container, meeting, which, matrix)
        self.same_class, self.same_path = (numbered(kinds[of_lines]) for kinds in places.kinds())
        for which, like in enumerate((self.same_class, self.same_path)):
            columns.fill_likes(like, sums_of(like, own), all_chars, which, matrix)
        columns.fill_neighbours(self.chars, self.levels, self.sentences, matrix)
        before = np.zeros((n + 1, 2))
        np.cumsum(np.stack([self.chars, self.prose], axis=1), axis=0, out=before[1:])
        columns.fill_windows(before, matrix)
        shares = title_shares(self.letters, self.words, title)
        columns.fill_headings(self.last_heading, self.levels, shares, self._title_line(shares), matrix)
        columns.fill_page(self.chars, self.sensible, all_chars, self._whole_page(all_chars, url), matrix)
        matrix[:, columns.LOGS] = np.log1p(matrix[:, columns.LOGS])

    def _container(self, enough: float, sensible: Floats) -> tuple[int, Ints]:
        """Return the innermost element with `enough` sensible characters, and its common ancestor with each element."""
        holding = np.nonzero(sensible >= enough)[0]
        container = int(holding[np.argmax(self.depths[holding])]) if len(holding) else 0
        return container, self.places.meeting(container)

    def _title_line(self, shares: Floats) -> int:
        """Return the first heading with the words of the title, or else the first `h1`; -1: there is none."""
        levels = self.levels
        titles = np.nonzero((shares[:, 1] > 0.3) & (shares[:, 0] > 0.5) & (levels > 0) & (levels <= 2))[0]
        if not len(titles):
            titles = np.nonzero(levels == 1)[0]
        return int(titles[0]) if len(titles) else -1

    def _whole_page(self, all_chars: float, url: str) -> Floats:
        names = self.places.names
        path = url.partition("://")[2].partition("/")[2].partition("?")[0]
        segments = [segment for segment in path.split("/") if segment]
        return np.array([
            all_chars, self.linked.sum() / all_chars, self.prose.sum() / all_chars, (names == _MAIN).any(),
            np.count_nonzero(self.counts[:, PRICES]) / self.n, np.median(self.chars), min(len(segments), 8),
            min(segments[-1].count("-"), 10) if segments else 0, min(sum(map(str.isdigit, path)), 12),
        ], np.float64)  # fmt: skip


@kernel
def _find_headings(of_lines: Any, flags: Any, levels: Any, last: Any) -> Any:
    """Fill in the levels of headings, and the last heading up to each line."""
    heading = -1
    for line in range(len(of_lines)):
        bits = flags[of_lines[line]] >> N_ANCESTORS
        if bits:
            level = 1
            while not bits & 1:
                bits >>= 1
                level += 1
            levels[line] = level
            heading = line
        last[line] = heading
    return 0


def numbered(kinds: Ints) -> Ints:
    """Renumber kinds from 0 on; equal kinds get equal numbers."""
    index: Ints = np.unique(kinds, return_inverse=True)[1]
    return index


def sums_of(like: Ints, values: Floats) -> Floats:
    """Return for each kind the sums of the values of its lines."""
    total = np.zeros((int(like.max()) + 1, values.shape[1]))
    _add_up(like, values, total)
    return total


@kernel
def _add_up(like: Any, values: Any, total: Any) -> Any:
    for line in range(len(like)):
        for c in range(values.shape[1]):
            total[like[line], c] += values[line, c]
    return 0


def fill_learned(context: Context, letters: Any, n_words: Floats, learned: LearnedWords, matrix: Any) -> None:
    """Fill in the scores of learned words: those in the classes of elements, and those of short lines."""
    own = learned.element_scores(context.places)
    of_words = learned.line_scores(letters, n_words)
    spread = context.places.spread(own)
    _fill_learned(context.places.of_lines, context.places.parents, own, spread, of_words, context.last_heading, matrix)


@kernel
def _fill_learned(of_lines: Any, parents: Any, own: Any, spread: Any, of_words: Any, last: Any, matrix: Any) -> Any:
    n = len(of_lines)
    for line in range(n):
        element = of_lines[line]
        above = max(parents[element], 0)
        matrix[line, 0], matrix[line, 1] = spread[element, 0], spread[element, 1]
        matrix[line, 2] = min(max(spread[element, 2], -15.0), 15.0)
        matrix[line, 3], matrix[line, 4], matrix[line, 5] = (
            own[element, 2],
            own[above, 2],
            own[max(parents[above], 0), 2],
        )
        for k in range(3):
            matrix[line, 6 + k] = of_words[line, k]
        matrix[line, 9] = of_words[last[line], 2] if last[line] >= 0 else 0.0
        at = 10
        for shift in (-1, 1):
            k = line - shift
            matrix[line, at] = spread[of_lines[k], 0] if 0 <= k < n else 0.0
            at += 1
        for shift in SHIFTS:
            k = line - shift
            matrix[line, at] = of_words[k, 2] if 0 <= k < n else 0.0
            at += 1
    return 0


def context_columns(context: Context, scores: Floats) -> NDArray[np.float32]:
    """Return the features of the second pass: the scores of the first pass, of each line and of related lines."""
    chars, places = context.chars, context.places
    own = np.stack([scores * chars, chars], axis=1)
    mean = float(own[:, 0].sum() / own[:, 1].sum())
    before = np.zeros((len(scores) + 1, 2))
    np.cumsum(own, axis=0, out=before[1:])
    held = places.sums(own)
    matrix = np.empty((len(scores), N_CONTEXT), np.float32)
    for k, like in enumerate((context.same_class, context.same_path)):
        total = sums_of(like, own)
        matrix[:, k] = (total[:, 0] / total[:, 1])[like]
    _fill_context(scores, mean, context.last_heading, before, places.of_lines, places.parents, held, matrix)
    return matrix


N_CONTEXT = 15
_CONTEXT_WINDOWS = (3, 8)
_CONTEXT_LEVELS = 4


@kernel
def _fill_context(
    scores: Any, mean: Any, last: Any, before: Any, of_lines: Any, parents: Any, held: Any, matrix: Any
) -> Any:
    n = len(scores)
    for line in range(n):
        matrix[line, 2], matrix[line, 3] = scores[line], mean
        matrix[line, 4] = scores[last[line]] if last[line] >= 0 else mean
        at = 5
        for shift in SHIFTS:
            k = line - shift
            matrix[line, at] = scores[k] if 0 <= k < n else 0.0
            at += 1
        for window in _CONTEXT_WINDOWS:
            start, end = max(line - window, 0), min(line + window + 1, n)
            matrix[line, at] = (before[end, 0] - before[start, 0]) / (before[end, 1] - before[start, 1])
            at += 1
        element = of_lines[line]
        for _ in range(_CONTEXT_LEVELS):
            matrix[line, at] = held[element, 0] / max(held[element, 1], 1.0)
            at += 1
            element = max(parents[element], 0)
    return 0
