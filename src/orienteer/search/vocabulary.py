"""Which words stand anywhere: what stands nowhere need not be looked for.

A word is sought in a field for each part of a page and each way of reading, which are many where there are pages in
many languages, and stands in few of them. To ask the text index costs about as much as to look for it; so the words of
languages that few pages are in are kept in mind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import NamedTuple

import tantivy

from orienteer.search.text_index import ADDED, COUNTED, FIELD_NAME, NAME, PARTS, field
from orienteer.search.words import words_of

_FEW_PAGES = 200
_N_REMEMBERED = 1 << 16
_N_TEXTS_REMEMBERED = 1 << 12
MAX_WORDS_IN_A_ROW = 32  # that are looked for
_MAX_FIELD_NAMES = 1_000  # that can be asked for by name


class Place(NamedTuple):
    """A way of reading a text, its words as they are read, and the parts of pages in which each of them stands."""

    way: str
    words: tuple[str, ...]
    parts: tuple[str, ...]


class Vocabulary:
    """The words of an index as it is at one moment. `n_by_way` are the pages that are read in each way.

    `main_way` is that of most pages; `field_names` are those of fields that page hooks added; `has_added`: they have
    added any words.
    """

    def __init__(self, searcher: tantivy.Searcher, n_by_way: Mapping[str, int]) -> None:
        self._searcher = searcher
        self._all: tuple[tantivy.Searcher, ...] = (searcher,)
        self.ways = tuple(n_by_way)
        self.main_way = max(self.ways, key=lambda way: n_by_way[way])
        self.has_added = bool(searcher.terms_with_prefix(ADDED, "", limit=1))
        self._with_values = {field for field in COUNTED if searcher.terms_with_prefix(field, "", limit=1)}
        names = searcher.terms_with_prefix(FIELD_NAME, "", limit=_MAX_FIELD_NAMES)
        self.field_names = frozenset(name for name, _ in names)
        asked = lru_cache(_N_REMEMBERED)(partial(_parts, searcher))
        self._parts_of: dict[str, _PartsOf] = {
            way: _parts_by_word(searcher, way).get if n_pages <= _FEW_PAGES else partial(asked, way)
            for way, n_pages in n_by_way.items()
        }
        self._places = lru_cache(_N_TEXTS_REMEMBERED)(partial(_places, self._parts_of))
        self._in_url = lru_cache(_N_REMEMBERED)(lambda word: bool(searcher.doc_freq("url", word)))

    def together_with(self, searchers: Iterable[tantivy.Searcher]) -> Vocabulary:
        """The same, but a word weighs what it would in one index of these and no others."""
        same = copy(self)
        same._all = tuple(searchers)
        return same

    def weight(self, name: str, words: Sequence[str]) -> float:
        """What words in a row, in a field, are worth by how rare they are in all indexes together, as a multiple of
        what they are in this one: the text index goes by this one alone."""
        if len(self._all) == 1:
            return 1.0
        counts = [[searcher.doc_freq(name, word) for searcher in self._all] for word in words]
        n_pages = sum(searcher.num_docs for searcher in self._all)
        together = sum(_idf(n_pages, sum(of_word)) for of_word in counts)
        return together / sum(_idf(self._searcher.num_docs, self._searcher.doc_freq(name, word)) for word in words)

    def has_values(self, field: str) -> bool:
        """Whether any page has a value in a field that results are counted by."""
        return field in self._with_values

    def is_title(self, name: str) -> bool:
        """Whether any page has this title (see `name_of`)."""
        return bool(self._searcher.doc_freq(NAME, name))

    def are_in_url(self, words: Sequence[str]) -> bool:
        """Whether each of the words stands in the address of any page."""
        return all(map(self._in_url, words[:MAX_WORDS_IN_A_ROW]))

    def parts(self, way: str, word: str) -> tuple[str, ...]:
        """The parts of pages that are read in this way in which a word stands on any page."""
        return self._parts_of[way](word) or ()

    def places(self, text: str) -> tuple[Place, ...]:
        """Where the words of a text may stand in a row; ways in which they stand nowhere are left out."""
        return self._places(text)


def _idf(n_pages: int, n_with: int) -> float:
    """What BM25 makes of a word that so many pages have."""
    return math.log1p((max(n_pages, n_with) - n_with + 0.5) / (n_with + 0.5))


_PartsOf = Callable[[str], tuple[str, ...] | None]  # a word, in one way of reading; None or () where it stands nowhere


def _places(parts_of: Mapping[str, _PartsOf], text: str) -> tuple[Place, ...]:
    read = ((way, words_of(text, way)) for way in parts_of)
    return tuple(Place(way, words, parts) for way, words in read if words and (parts := _of_all(parts_of[way], words)))


def _of_all(parts_of: _PartsOf, words: Sequence[str]) -> tuple[str, ...]:
    """The parts of pages in which each of the words stands."""
    parts = parts_of(words[0]) or ()
    for word in words[1:MAX_WORDS_IN_A_ROW]:
        others = parts_of(word) or ()
        parts = tuple(part for part in parts if part in others)
    return parts


def _parts(searcher: tantivy.Searcher, way: str, word: str) -> tuple[str, ...]:
    return tuple(part for part in PARTS if searcher.doc_freq(field(part, way), word))


def _parts_by_word(searcher: tantivy.Searcher, way: str) -> dict[str, tuple[str, ...]]:
    parts: dict[str, tuple[str, ...]] = {}
    for part in PARTS:
        for word, _ in searcher.terms_with_prefix(field(part, way), ""):
            parts[word] = (*parts.get(word, ()), part)
    return parts
