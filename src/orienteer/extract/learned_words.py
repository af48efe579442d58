"""Learned weights of words: words in the classes of elements, and words of short lines.

The weight of a word is its log-odds to occur in main text. Kernels look words up by hashes of their UTF-8 bytes;
`element_words` and `line_words` define the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.line_places import Places
from orienteer.extract.page_text import FNV_PRIME, Floats
from orienteer.kernel import inner, kernel

SHORT_LINE_WORDS = 14  # lines up to this length are scored by their words, too

_ELEMENT_WORD = re.compile(rb"[a-z]{2,}")
# Characters that begin with C2 or E2 are mostly punctuation; other characters beyond ASCII are mostly letters.
_LINE_WORD = re.compile(rb"(?:[a-z0-9]|[\xc3-\xe1\xe3-\xf7][\x80-\xbf]*)+")
_LINE_END = 10
_TITLE_BITS = 10
_MOST_WORDS = 256  # different words of an element; 400 bytes have fewer

Hashes = NDArray[np.uint64]
Letters = NDArray[np.uint8]


def element_words(words: str) -> set[str]:
    """Return the words in the class, id and role of an element, which must be in lower case."""
    return {word.decode() for word in _ELEMENT_WORD.findall(words.encode())}


def line_words(text: str) -> set[str]:
    return {word.decode(errors="replace") for word in _LINE_WORD.findall(text.lower().encode(errors="replace"))}


class WordTable:
    """A hash table of words with open addressing, for kernels."""

    def __init__(self, words: Mapping[str, float]) -> None:
        bits = max(len(words).bit_length() + 1, 4)
        self.keys: Hashes = np.zeros(1 << bits, np.uint64)
        self.values = np.zeros(1 << bits)
        for word, value in words.items():
            _insert(self.keys, self.values, np.frombuffer(word.encode(), np.uint8), value)


@dataclass
class LearnedWords:
    """The log-odds of words to occur in main text."""

    of_elements: Mapping[str, float]
    of_lines: Mapping[str, float]

    @cached_property
    def _element_table(self) -> WordTable:
        return WordTable(self.of_elements)

    @cached_property
    def _line_table(self) -> WordTable:
        return WordTable(self.of_lines)

    def element_scores(self, places: Places) -> Floats:
        """Return for each element the minimum, maximum and sum of its words' weights; 0 is included in the extremes."""
        scores, seen = np.zeros((len(places.names), 3)), np.empty(_MOST_WORDS, np.uint64)
        table = self._element_table
        _score_elements(places.words, places.word_ends, table.keys, table.values, seen, scores)
        return scores

    def line_scores(self, letters: Letters, n_words: Floats) -> Floats:
        """Return for each short line the minimum, maximum and mean of its words' weights; 0 for long lines."""
        scores, seen = np.zeros((len(n_words), 3)), np.empty(SHORT_LINE_WORDS, np.uint64)
        table = self._line_table
        _score_lines(letters, n_words, table.keys, table.values, seen, scores)
        return scores


NO_WORDS = LearnedWords({}, {})


def title_shares(letters: Letters, n_words: Floats, title: str) -> Floats:
    """Return the share of each short line's words that are in the title, and the share of the title's in the line."""
    shares, seen = np.zeros((len(n_words), 2)), np.empty(SHORT_LINE_WORDS, np.uint64)
    keys = np.zeros(1 << _TITLE_BITS, np.uint64)
    n_of_title = _note_words(lowered(title), keys)
    if n_of_title:
        _share_title(letters, n_words, keys, n_of_title, seen, shares)
    return shares


def lowered(text: str) -> Letters:
    """Return a text in lower case as UTF-8 bytes, for kernels."""
    return np.frombuffer(text.lower().encode(errors="replace"), np.uint8)


# Hashes


@inner
def _place_of(keys: Any, key: Any) -> Any:
    """Return the slot of a hash among the keys, or the empty slot for it."""
    mask = np.uint64(len(keys) - 1)
    place = (key ^ (key >> np.uint64(32))) & mask
    while keys[place] != 0 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def _insert(keys: Any, values: Any, letters: Any, value: Any) -> Any:
    key = np.uint64(0)
    for i in range(len(letters)):
        key = (key ^ np.uint64(letters[i])) * np.uint64(FNV_PRIME)
    place = _place_of(keys, key)
    keys[place], values[place] = key, value
    return 0


@inner
def _is_new(seen: Any, n: Any, key: Any) -> Any:
    for k in range(n):
        if seen[k] == key:
            return False
    return True


@kernel
def _score_elements(words: Any, ends: Any, keys: Any, values: Any, seen: Any, scores: Any) -> Any:
    i = 0
    for element in range(len(ends)):
        n_seen = 0
        while i < ends[element]:
            start, key = i, np.uint64(0)
            while i < ends[element] and 97 <= words[i] <= 122:
                key = (key ^ np.uint64(words[i])) * np.uint64(FNV_PRIME)
                i += 1
            if i - start >= 2:
                place = _place_of(keys, key)
                if keys[place] == key and n_seen < len(seen) and _is_new(seen, n_seen, key):
                    seen[n_seen] = key
                    n_seen += 1
                    value = values[place]
                    scores[element, 0] = min(scores[element, 0], value)
                    scores[element, 1] = max(scores[element, 1], value)
                    scores[element, 2] += value
            elif i == start:
                i += 1
    return 0


@inner
def _next_word(letters: Any, i: Any) -> Any:
    """Return the hash of the next word of the line from i on, and its end; hash 0: the line has no more words."""
    key, n = np.uint64(0), len(letters)
    while i < n and letters[i] != _LINE_END:
        byte = letters[i]
        if 97 <= byte <= 122 or 48 <= byte <= 57 or (byte >= 0xC3 and byte != 0xE2):
            key = (key ^ np.uint64(byte)) * np.uint64(FNV_PRIME)
            i += 1
            if byte >= 0xC3:
                while i < n and letters[i] & 0xC0 == 0x80:
                    key = (key ^ np.uint64(letters[i])) * np.uint64(FNV_PRIME)
                    i += 1
        elif key != 0:
            break
        else:
            i += 1
    return key, i


@inner
def _line_end(letters: Any, i: Any) -> Any:
    while i < len(letters) and letters[i] != _LINE_END:
        i += 1
    return i


@kernel
def _score_lines(letters: Any, n_words: Any, keys: Any, values: Any, seen: Any, scores: Any) -> Any:
    i = 0
    for line in range(len(n_words)):
        n_seen = 0
        key = np.uint64(1)
        while key != 0 and n_words[line] <= SHORT_LINE_WORDS:
            key, i = _next_word(letters, i)
            place = _place_of(keys, key)
            if key != 0 and keys[place] == key and n_seen < len(seen) and _is_new(seen, n_seen, key):
                seen[n_seen] = key
                value = values[place]
                scores[line, 0] = min(scores[line, 0], value) if n_seen else value
                scores[line, 1] = max(scores[line, 1], value) if n_seen else value
                scores[line, 2] += value
                n_seen += 1
        if n_seen:
            scores[line, 2] /= n_seen
        i = _line_end(letters, i) + 1
    return 0


@kernel
def _note_words(letters: Any, keys: Any) -> Any:
    """Insert the words of a line, until the table is half full; return their number."""
    n, i, key = 0, 0, np.uint64(1)
    while key != 0 and 2 * n < len(keys):
        key, i = _next_word(letters, i)
        place = _place_of(keys, key)
        if key != 0 and keys[place] == 0:
            keys[place] = key
            n += 1
    return n


@kernel
def _share_title(letters: Any, n_words: Any, keys: Any, n_of_title: Any, seen: Any, shares: Any) -> Any:
    i = 0
    for line in range(len(n_words)):
        n_seen, n_shared = 0, 0
        key = np.uint64(1)
        while key != 0 and n_words[line] <= SHORT_LINE_WORDS:
            key, i = _next_word(letters, i)
            if key != 0 and n_seen < len(seen) and _is_new(seen, n_seen, key):
                seen[n_seen] = key
                n_seen += 1
                n_shared += keys[_place_of(keys, key)] == key
        if n_shared:
            shares[line, 0], shares[line, 1] = n_shared / n_seen, n_shared / n_of_title
        i = _line_end(letters, i) + 1
    return 0
