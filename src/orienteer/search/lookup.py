"""Translate a parsed query to a tantivy query, with its scoring.

Each word is scored by BM25 in each zone of a page, weighted by zone: the title counts most, boilerplate least. The best
zone counts in full, the others by a share (a disjunction with a tie breaker). Bonuses:

    title       it has all of the words, or no others: the shorter the query, the likelier it names a title
    shingles    runs of four words of the query in the main text, for pasted sentences. Each adds a constant, so page
                length does not matter, and a changed word affects only the shingles that contain it. A query that is
                the title of a page does not count as a sentence

A word is searched in a field for each zone and stemmer. Crawls with many languages have many of these fields, and most
words occur in few of them; so `Vocabulary` knows the fields of a word, and the others are skipped. A look-up in the
text index costs about as much as the search itself, so the words of languages with few pages are held in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import tantivy
from tantivy import FieldType, Occur, Query

from orienteer.extract.language import primary_language
from orienteer.search.page_facts import date_number, tag_term, type_term, value_term, word_terms
from orienteer.search.query import FIELDS, FILTERS, Clause, ParsedQuery, host_and_path
from orienteer.search.text_index import (
    ADDED,
    COUNTED,
    DATE,
    FIELD_NAME,
    NAME,
    TAG,
    TOPIC,
    TYPE,
    VALUE,
    ZONES,
    field,
    name_of,
    schema,
)
from orienteer.search.words import PLAIN, has_unspaced_script, other_forms, words_of
from orienteer.url import site_of

_MAX_PRELOADED_PAGES = 200  # of a stemmer whose words are held in memory
_CACHE_SIZE = 1 << 16
_TEXT_CACHE_SIZE = 1 << 12
MAX_PHRASE_WORDS = 32  # further words of a phrase are ignored
_MAX_FIELD_NAMES = 1_000  # that a query can name


_ZonesOf = Callable[[str], tuple[str, ...] | None]  # for a word and a fixed stemmer; None or () if none
# The weight of a word by zone; zones other than the best add _TIE_BREAKER of their scores.
_BOOSTS = {"title": 5.0, "headings": 1.0, "text": 0.7, "aside": 0.3, "anchors": 2.0}
_URL_BOOST = 0.7
_TIE_BREAKER = 0.3
_OTHER_FORM = 0.7  # the weight of another form of a word, such as without its particle
_WHOLE_TITLE = 10.0  # the bonus of a page whose title is the query: for the first two words, and for each further one
_ADDED_BOOST = 0.4
_N_TITLE_WORDS = 4  # longer queries may be sentences: their words count less in titles and links
_SHINGLE_WORDS = 4
_SHINGLE_BOOST = 30.0
_LAST_DAY = 99_999_999


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


def may_be_relaxed(parsed: ParsedQuery) -> bool:
    """Whether the query can match by some of its words, or of the characters of a script without spaces."""
    words = [clause for clause in parsed.clauses if clause.is_word]
    return len(words) > 1 or any(_is_splittable(clause) for clause in words)


def tantivy_query(parsed: ParsedQuery, vocabulary: Vocabulary, relaxed: bool = False) -> Query:
    """Build the query for tantivy. If relaxed, pages need only some of the words."""
    subqueries: list[tuple[Occur, Query]] = []
    optional: list[tuple[Occur, Query]] = []
    boosts = _boosts(len(parsed.texts))
    for clause in parsed.clauses:
        if relaxed and clause.is_word:
            pieces = _bigrams(clause) if _is_splittable(clause) else [clause]
            optional += [(Occur.Should, _query(piece, vocabulary, boosts)) for piece in pieces]
        else:
            occur = Occur.MustNot if clause.sign == "-" else Occur.Must
            subqueries.append((occur, _query(clause, vocabulary, boosts)))
    if optional:
        subqueries.append((Occur.Must, Query.boolean_query(optional)))
    if any(occur == Occur.Must for occur, _ in subqueries):
        subqueries += ((Occur.Should, bonus) for bonus in _bonuses(parsed, vocabulary))
    else:
        everything = Query.all_query() if subqueries else Query.empty_query()
        subqueries.append((Occur.Must, Query.const_score_query(everything, 0.0)))
    return Query.boolean_query(subqueries)


def _boosts(n_words: int) -> dict[str, float]:
    """Return the weights of zones for a query of `n_words` words."""
    if n_words <= _N_TITLE_WORDS:
        return _BOOSTS
    share = _N_TITLE_WORDS / n_words
    text = _BOOSTS["text"]
    return {zone: text + (boost - text) * share if boost > text else boost for zone, boost in _BOOSTS.items()}


def _query(clause: Clause, vocabulary: Vocabulary, boosts: dict[str, float]) -> Query:
    if clause.field in FILTERS:
        return Query.const_score_query(_filter(clause), 0.0)
    if clause.field and clause.field not in FIELDS:  # a field that a hook added: `parse` knows their names
        return Query.const_score_query(_field_value_query(clause), 0.0)
    if clause.field == "url":
        return _weighted("url", words_of(clause.text, PLAIN), vocabulary)
    used = {"title": 1.0} if clause.field == "title" else boosts
    found = _zone_queries(clause.text, vocabulary, used)
    if not clause.is_phrase:
        for form in other_forms(clause.text):
            found += [Query.boost_query(query, _OTHER_FORM) for query in _zone_queries(form, vocabulary, used)]
    if not clause.field:
        words = words_of(clause.text, PLAIN)
        found += [_weighted("url", words, vocabulary, _URL_BOOST)] if vocabulary.are_in_url(words) else []
        found += [_weighted(ADDED, words, vocabulary, _ADDED_BOOST)] if vocabulary.has_added else []
    return Query.disjunction_max_query(found, _TIE_BREAKER) if found else Query.empty_query()


def _zone_queries(text: str, vocabulary: Vocabulary, boosts: dict[str, float]) -> list[Query]:
    """Return phrase queries for the words of a text, one for each zone and stemmer."""
    return [
        _weighted(field(zone, stemmer), words, vocabulary, boosts[zone])
        for stemmer, words, zones in vocabulary.term_fields(text)
        for zone in zones
        if zone in boosts
    ]


def _bonuses(parsed: ParsedQuery, vocabulary: Vocabulary) -> Iterator[Query]:
    """Yield the bonus queries: titles with all of the words, titles with no others, and shingles."""
    texts = parsed.texts
    if not texts:
        return
    name = name_of(" ".join(texts))
    is_title = vocabulary.is_title(name)
    if is_title:
        yield Query.const_score_query(_term(NAME, name), _WHOLE_TITLE * max(1, len(texts) - 1))
    titles = [
        {stemmer: words for stemmer, words, zones in vocabulary.term_fields(text) if "title" in zones} for text in texts
    ]
    is_long = not is_title and name.count(" ") >= _SHINGLE_WORDS - 1
    for stemmer in vocabulary.stemmers if is_long else titles[0]:
        if all(stemmer in rows for rows in titles):
            yield Query.boolean_query(
                [(Occur.Must, _weighted(field("title", stemmer), rows[stemmer], vocabulary)) for rows in titles]
            )
        for shingle in _shingles([word for text in texts for word in words_of(text, stemmer)]) if is_long else ():
            if all("text" in vocabulary.zones(stemmer, word) for word in shingle):
                yield Query.const_score_query(_phrase(field("text", stemmer), shingle), _SHINGLE_BOOST)


def _shingles(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield shingles of four words, each beginning with the last word of the one before, up to the last word."""
    last = len(words) - _SHINGLE_WORDS
    for start in (*range(0, last, _SHINGLE_WORDS - 1), last) if last >= 0 else ():
        yield words[start : start + _SHINGLE_WORDS]


# -- scripts without spaces -------------------------------------------------------------------------------------


def _is_splittable(clause: Clause) -> bool:
    """Whether the clause is a run of characters of a script without spaces, which may be several words."""
    return not clause.is_phrase and has_unspaced_script(clause.text) and len(words_of(clause.text, PLAIN)) > 2


def _bigrams(clause: Clause) -> list[Clause]:
    """Return each pair of adjacent characters as a phrase."""
    characters = words_of(clause.text, PLAIN)
    return [Clause(" ".join(pair), is_phrase=True) for pair in pairwise(characters)]


# -- filters ----------------------------------------------------------------------------------------------------


def _filter(clause: Clause) -> Query:
    if clause.field in ("site", "host"):
        return _site_query(clause)
    if clause.field == "lang":
        return _term("language", primary_language(clause.text))
    if clause.field == "type":
        return _term(TYPE, type_term(clause.text))
    if clause.field == "tag":
        return _term(TAG, tag_term(clause.text))
    if clause.field == "topic":
        return _term(TOPIC, clause.text.lower())
    day = date_number(clause.text) or 0
    first, end = (0, day) if clause.field == "before" else (day, _LAST_DAY)
    return Query.range_query(schema(), DATE, FieldType.Integer, first, end, include_upper=False)


def _site_query(clause: Clause) -> Query:
    """Match the pages of a site or a host, optionally below a path."""
    host, path = host_and_path(clause.text)
    names = [_term("host", host)]
    if clause.field == "site" and site_of(host) == host.partition(":")[0]:
        names.append(_term("site", site_of(host)))
    pages = Query.boolean_query([(Occur.Should, name) for name in names])
    words = words_of(f"{host}/{path}", PLAIN) if words_of(path, PLAIN) else ()
    if not words:
        return pages
    return Query.boolean_query([(Occur.Must, pages), (Occur.Must, _phrase("url", words))])


def _field_value_query(clause: Clause) -> Query:
    """Match pages with this value in a field, or with all of these words in it."""
    words = [(Occur.Must, _term(VALUE, term)) for term in word_terms(clause.field, clause.text)]
    value = _term(VALUE, value_term(clause.field, clause.text))
    return Query.boolean_query([(Occur.Should, value), (Occur.Should, Query.boolean_query(words))])


def _weighted(name: str, words: Sequence[str], vocabulary: Vocabulary, boost: float = 1.0) -> Query:
    """Return a phrase query with the weight that the vocabulary gives these words."""
    weight = boost * vocabulary.weight(name, words)
    query = _phrase(name, words)
    return query if weight == 1.0 else Query.boost_query(query, weight)


def _phrase(name: str, words: Sequence[str]) -> Query:
    if len(words) == 1:
        return _term(name, words[0])
    return Query.phrase_query(schema(), name, list(words[:MAX_PHRASE_WORDS]))  # panics with fewer than two


def _term(name: str, word: str) -> Query:
    return Query.term_query(schema(), name, word)


def n_matches(result: tantivy.SearchResult) -> int:
    """Return the number of matching pages."""
    return int(result.count)  # type: ignore[attr-defined]  # missing from tantivy's type stubs
