"""The words of an index by field, so that queries skip fields without a match.

A word is searched in a field for each zone and stemmer. Crawls with many languages have many of these fields, and most
words occur in few of them. A look-up in the text index costs about as much as the search itself, so the words of
languages with few pages are held in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import NamedTuple

import tantivy

from orienteer.search.text_index import ADDED, COUNTED, FIELD_NAME, NAME, ZONES, field
from orienteer.search.words import words_of

_MAX_PRELOADED_PAGES = 200  # of a stemmer whose words are held in memory
_CACHE_SIZE = 1 << 16
_TEXT_CACHE_SIZE = 1 << 12
MAX_PHRASE_WORDS = 32  # further words of a phrase are ignored
_MAX_FIELD_NAMES = 1_000  # that a query can name


class TermFields(NamedTuple):
    """A stemmer, the words of a text after stemming, and the zones in which each of the words occurs."""

    stemmer: str
    words: tuple[str, ...]
    zones: tuple[str, ...]


class Vocabulary:
    """The words of a snapshot of an index. `n_by_stemmer` counts the pages by stemmer.

    `main_stemmer` is that of most pages; `field_names` are the names of fields that page hooks added; `has_added`: the
    hooks added words.
    """

    def __init__(self, searcher: tantivy.Searcher, n_by_stemmer: Mapping[str, int]) -> None:
        self._searcher = searcher
        self._all_searchers: tuple[tantivy.Searcher, ...] = (searcher,)
        self.stemmers = tuple(n_by_stemmer)
        self.main_stemmer = max(self.stemmers, key=lambda stemmer: n_by_stemmer[stemmer])
        self.has_added = bool(searcher.terms_with_prefix(ADDED, "", limit=1))
        self._with_values = {field for field in COUNTED if searcher.terms_with_prefix(field, "", limit=1)}
        names = searcher.terms_with_prefix(FIELD_NAME, "", limit=_MAX_FIELD_NAMES)
        self.field_names = frozenset(name for name, _ in names)
        cached = lru_cache(_CACHE_SIZE)(partial(_zones, searcher))
        self._zones_of: dict[str, _ZonesOf] = {
            stemmer: _zones_by_word(searcher, stemmer).get
            if n_pages <= _MAX_PRELOADED_PAGES
            else partial(cached, stemmer)
            for stemmer, n_pages in n_by_stemmer.items()
        }
        self._term_fields = lru_cache(_TEXT_CACHE_SIZE)(partial(_term_fields, self._zones_of))
        self._in_url = lru_cache(_CACHE_SIZE)(lambda word: bool(searcher.doc_freq("url", word)))

    def with_shared_idf(self, searchers: Iterable[tantivy.Searcher]) -> Vocabulary:
        """Return a copy with the word weights of one index of all the documents of `searchers`."""
        same = copy(self)
        same._all_searchers = tuple(searchers)
        return same

    def weight(self, name: str, words: Sequence[str]) -> float:
        """Return the IDF of a phrase in all indexes together, divided by that in this index, which is the IDF that
        tantivy uses."""
        if len(self._all_searchers) == 1:
            return 1.0
        counts = [[searcher.doc_freq(name, word) for searcher in self._all_searchers] for word in words]
        n_pages = sum(searcher.num_docs for searcher in self._all_searchers)
        together = sum(_idf(n_pages, sum(of_word)) for of_word in counts)
        return together / sum(_idf(self._searcher.num_docs, self._searcher.doc_freq(name, word)) for word in words)

    def has_values(self, field: str) -> bool:
        """Whether any page has a value in this field, which must be a facet."""
        return field in self._with_values

    def is_title(self, name: str) -> bool:
        """Whether any page has this title (see `name_of`)."""
        return bool(self._searcher.doc_freq(NAME, name))

    def are_in_url(self, words: Sequence[str]) -> bool:
        """Whether each of the words occurs in the URL of any page."""
        return all(map(self._in_url, words[:MAX_PHRASE_WORDS]))

    def zones(self, stemmer: str, word: str) -> tuple[str, ...]:
        """Return the zones in which a word occurs on any page with this stemmer."""
        return self._zones_of[stemmer](word) or ()

    def term_fields(self, text: str) -> tuple[TermFields, ...]:
        """Return the fields that may have the words of a text as a phrase; stemmers without any are omitted."""
        return self._term_fields(text)


def _idf(n_pages: int, n_with: int) -> float:
    """Return the inverse document frequency of BM25 for a word on `n_with` of `n_pages` pages."""
    return math.log1p((max(n_pages, n_with) - n_with + 0.5) / (n_with + 0.5))


_ZonesOf = Callable[[str], tuple[str, ...] | None]  # for a word and a fixed stemmer; None or () if none


def _term_fields(zones_of: Mapping[str, _ZonesOf], text: str) -> tuple[TermFields, ...]:
    read = ((stemmer, words_of(text, stemmer)) for stemmer in zones_of)
    return tuple(
        TermFields(stemmer, words, zones)
        for stemmer, words in read
        if words and (zones := _of_all(zones_of[stemmer], words))
    )


def _of_all(zones_of: _ZonesOf, words: Sequence[str]) -> tuple[str, ...]:
    """Return the zones in which each of the words occurs."""
    zones = zones_of(words[0]) or ()
    for word in words[1:MAX_PHRASE_WORDS]:
        others = zones_of(word) or ()
        zones = tuple(zone for zone in zones if zone in others)
    return zones


def _zones(searcher: tantivy.Searcher, stemmer: str, word: str) -> tuple[str, ...]:
    return tuple(zone for zone in ZONES if searcher.doc_freq(field(zone, stemmer), word))


def _zones_by_word(searcher: tantivy.Searcher, stemmer: str) -> dict[str, tuple[str, ...]]:
    zones: dict[str, tuple[str, ...]] = {}
    for zone in ZONES:
        for word, _ in searcher.terms_with_prefix(field(zone, stemmer), ""):
            zones[word] = (*zones.get(word, ()), zone)
    return zones
