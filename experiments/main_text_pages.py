"""Pages whose main text is known (WCXB), line by line: the features of a line, and how much of it is main text.

Which lines are main text is settled by an alignment of the words of the page with those of its main text, in order:
a word of the page that is matched belongs to it, and runs of matched words count more than single ones. A long line
that occurs anywhere in the main text belongs to it, too.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.feature_columns import N_UNLEARNED
from orienteer.extract.learned_words import SHORT_LINE_WORDS, element_words, line_words
from orienteer.extract.line_features import Context, LineFeatures
from orienteer.extract.line_places import placed
from orienteer.extract.main_text import REPEATED_CHARS
from orienteer.extract.reader import read
from orienteer.files.compressed import byte_blocks
from orienteer.kernel import allocating_kernel
from orienteer.url import host_of

_WORD = re.compile(r"\w+")
_MOST_CELLS = 400_000_000  # of an alignment
_SHINGLE = 4


@dataclass(slots=True)
class KnownPage:
    """A page of the collection."""

    id: str
    url: str
    type: str
    html: bytes
    main: str
    belonging: list[str]  # snippets of the main text
    boilerplate: list[str]  # snippets of the rest

    @property
    def host(self) -> str:
        return host_of(self.url) or self.id


@dataclass(slots=True)
class Sample:
    """The lines of a page: a row of `matrix` each, without what is learned of words; `truth` is the share of its words
    that are main text, `weights` how much a line matters to the page's F1."""

    page: KnownPage
    texts: list[str]
    matrix: NDArray[np.float32]
    context: Context
    n_words: NDArray[np.float64]
    truth: NDArray[np.float64]
    weights: NDArray[np.float64]
    repeats: list[int]  # the long lines that stood on the page before
    levels: NDArray[np.float64]  # of headings; 0 of other lines


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def known_pages(path: Path) -> Iterator[KnownPage]:
    """Those whose main text is known; that of some pages is empty."""
    for line in b"".join(byte_blocks(path)).splitlines():
        page = json.loads(line)
        if page["main"]:
            html = page["html"].encode()
            yield KnownPage(page["id"], page["url"], page["type"], html, page["main"], page["with"], page["without"])


def sample_of(known: KnownPage) -> Sample | None:
    """Return the sample of a page; None if it is empty, or its text is in `noscript`, which is not judged."""
    reader = read(known.html, with_nodes=True)
    if not reader.text or reader.lines is None or reader.noscript_text:
        return None
    texts = reader.text.split("\n")
    features = LineFeatures(reader.text, placed(reader.lines), reader.title, known.url)
    truth, n_words = true_shares(texts, known.main)
    weights = np.clip(n_words, 1, 400) / max(len(words_of(known.main)), 30)
    repeats = features.repeats(REPEATED_CHARS)
    unlearned = features.matrix[:, :N_UNLEARNED]
    return Sample(known, texts, unlearned, features.context, features.words, truth, weights, repeats, features.levels)


def true_shares(texts: list[str], main: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each line the share of its words that are main text, and how many there are."""
    numbers: dict[str, int] = {}
    true_words = words_of(main)
    target_words = np.array([numbers.setdefault(word, len(numbers)) for word in true_words], np.int32)
    of_lines = [words_of(text) for text in texts]
    page_words = np.array([numbers.get(word, -1) for words in of_lines for word in words], np.int32)
    shingles = {tuple(true_words[k : k + _SHINGLE]) for k in range(len(true_words) - _SHINGLE + 1)}
    is_small = len(page_words) * len(target_words) <= _MOST_CELLS
    matched = _aligned(page_words, target_words) if is_small else np.zeros(len(page_words), np.uint8)
    shares, start = [], 0
    for words in of_lines:
        n = len(words)
        share = float(matched[start : start + n].mean()) if n else 0.0
        if n >= _SHINGLE + 2:
            n_shingles = n - _SHINGLE + 1
            n_known = sum(tuple(words[k : k + _SHINGLE]) in shingles for k in range(n_shingles))
            share = max(share, n_known / n_shingles)
        shares.append(share)
        start += n
    return np.array(shares), np.array([len(words) for words in of_lines], np.float64)


@allocating_kernel
def _aligned(page_words: Any, target_words: Any) -> Any:
    """1 for each word here that the best alignment matches: a match counts 1, and 1.6 right behind another."""
    n, m = len(page_words), len(target_words)
    came_from = np.zeros((n + 1, m + 1), np.uint8)  # 0: a match, 1: from above, 2: from the left; 8: a match before it
    best = np.zeros(m + 1, np.float32)
    matching = np.full(m + 1, -1e9, np.float32)
    for i in range(1, n + 1):
        best_before, matching_before = best[0], matching[0]
        for j in range(1, m + 1):
            best_above, matching_above = best[j], matching[j]
            match, way = np.float32(-1e9), 1
            run = 0
            if page_words[i - 1] == target_words[j - 1]:
                match = best_before + np.float32(1)
                if matching_before + np.float32(1.6) >= match:
                    match, run = matching_before + np.float32(1.6), 8
            most = best_above
            if best[j - 1] > most:
                most, way = best[j - 1], 2
            if match > most:
                most, way = match, 0
            came_from[i, j] = way | run
            best_before, matching_before = best_above, matching_above
            best[j], matching[j] = most, match
    matched = np.zeros(n, np.uint8)
    i, j, in_run = n, m, False
    while i > 0 and j > 0:
        way = came_from[i, j]
        if in_run or way & 3 == 0:
            matched[i - 1] = 1
            in_run = way & 8 != 0
            i, j = i - 1, j - 1
        elif way & 3 == 1:
            i -= 1
        else:
            j -= 1
    return matched


WordShares = dict[str, float]


def word_shares(sample: Sample) -> tuple[WordShares, WordShares]:
    """Return, for each word in the names of elements, and for each word of short lines, the share of main text in the
    lines that it applies to."""
    places, weights = sample.context.places, np.sqrt(np.maximum(sample.n_words, 1))
    n_elements = len(places.parents)
    total = places.sums(np.stack([weights * sample.truth, weights], axis=1))
    of_elements: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    parents = places.parents.tolist()
    enclosing: list[set[str]] = []
    for k in range(n_elements):
        above = enclosing[parents[k]] if k else set()
        own = element_words(places.words_of(k))
        for word in own - above:  # the content of an element was counted for its parent
            share = of_elements[word]
            share[0] += total[k, 0]
            share[1] += total[k, 1]
        enclosing.append(above | own if own else above)
    of_lines: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for text, truth, n_words in zip(sample.texts, sample.truth, sample.n_words, strict=True):
        if n_words <= SHORT_LINE_WORDS:
            for word in line_words(text):
                share = of_lines[word]
                share[0] += truth
                share[1] += 1
    return _shares(of_elements), _shares(of_lines)


def _shares(sums: dict[str, list[float]]) -> WordShares:
    return {word: main / total for word, (main, total) in sums.items() if total}
