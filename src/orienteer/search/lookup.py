"""What is looked up for a query, and what a page is worth by its words.

Each word is worth what BM25 says, by where it stands: in the title it counts for most, aside from the main text for
least. The best place counts, and a share of the others. Besides:

    the title         has all of the words, or no others: the shorter the query, the likelier a title was meant
    words in a row    of the main text: whoever pastes a sentence is looking for it. Stretches of four words count, each
                      the same on pages of any length, so that neither long pages win nor short ones, and a word that
                      was changed spoils only its stretches. A query that is a title is no sentence
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import tantivy
from tantivy import FieldType, Occur, Query

from orienteer.extract.language import primary_language
from orienteer.search.added_terms import tag_term, value_term, word_terms
from orienteer.search.page_facts import date_number, type_term
from orienteer.search.query import FIELDS, FILTERS, Ask, Clause, place_of
from orienteer.search.scripts import has_signs, other_forms
from orienteer.search.text_index import ADDED, DATE, NAME, TAG, TOPIC, TYPE, VALUE, field, name_of, schema
from orienteer.search.vocabulary import MAX_WORDS_IN_A_ROW, Vocabulary
from orienteer.search.words import PLAIN, words_of
from orienteer.url import site_of

# What a word is worth by where it stands; other places add a share of theirs.
_BOOSTS = {"title": 5.0, "headings": 1.0, "text": 0.7, "aside": 0.3, "anchors": 2.0}
_URL_BOOST = 0.7
_OTHER_PLACES = 0.3
_OTHER_FORM = 0.7  # of a word, such as without its particle
_WHOLE_TITLE = 10.0  # for a title of one word or two, and for each word more
_ADDED_BOOST = 0.4
_N_TITLE_WORDS = 4  # with more words, they count for less in titles and links: it may be a sentence
_STRETCH_WORDS = 4
_STRETCH = 30.0
_LAST_DAY = 99_999_999


def may_be_relaxed(ask: Ask) -> bool:
    """Whether one could do with some of the words, or of the signs of a script without spaces."""
    words = [clause for clause in ask.clauses if clause.is_word]
    return len(words) > 1 or any(_has_parts(clause) for clause in words)


def built(ask: Ask, vocabulary: Vocabulary, relaxed: bool = False) -> Query:
    """What tantivy is to look for. Relaxed, some of the words are enough."""
    parts: list[tuple[Occur, Query]] = []
    optional: list[tuple[Occur, Query]] = []
    boosts = _boosts(len(ask.texts))
    for clause in ask.clauses:
        if relaxed and clause.is_word:
            pieces = _pieces(clause) if _has_parts(clause) else [clause]
            optional += [(Occur.Should, _query(piece, vocabulary, boosts)) for piece in pieces]
        else:
            occur = Occur.MustNot if clause.sign == "-" else Occur.Must
            parts.append((occur, _query(clause, vocabulary, boosts)))
    if optional:
        parts.append((Occur.Must, Query.boolean_query(optional)))
    if any(occur == Occur.Must for occur, _ in parts):
        parts += ((Occur.Should, bonus) for bonus in _bonuses(ask, vocabulary))
    else:
        everything = Query.all_query() if parts else Query.empty_query()
        parts.append((Occur.Must, Query.const_score_query(everything, 0.0)))
    return Query.boolean_query(parts)


def _boosts(n_words: int) -> dict[str, float]:
    """What a word is worth by where it stands, in a query of so many."""
    if n_words <= _N_TITLE_WORDS:
        return _BOOSTS
    share = _N_TITLE_WORDS / n_words
    text = _BOOSTS["text"]
    return {part: text + (boost - text) * share if boost > text else boost for part, boost in _BOOSTS.items()}


def _query(clause: Clause, vocabulary: Vocabulary, boosts: dict[str, float]) -> Query:
    if clause.field in FILTERS:
        return Query.const_score_query(_filter(clause), 0.0)
    if clause.field and clause.field not in FIELDS:  # one that a hook added, since it was told from words
        return Query.const_score_query(_of_field(clause), 0.0)
    if clause.field == "url":
        return _weighed("url", words_of(clause.text, PLAIN), vocabulary)
    used = {"title": 1.0} if clause.field == "title" else boosts
    found = _in_places(clause.text, vocabulary, used)
    if not clause.is_phrase:
        for form in other_forms(clause.text):
            found += [Query.boost_query(query, _OTHER_FORM) for query in _in_places(form, vocabulary, used)]
    if not clause.field:
        words = words_of(clause.text, PLAIN)
        found += [_weighed("url", words, vocabulary, _URL_BOOST)] if vocabulary.are_in_url(words) else []
        found += [_weighed(ADDED, words, vocabulary, _ADDED_BOOST)] if vocabulary.has_added else []
    return Query.disjunction_max_query(found, _OTHER_PLACES) if found else Query.empty_query()


def _in_places(text: str, vocabulary: Vocabulary, boosts: dict[str, float]) -> list[Query]:
    """The words of a text in a row, by the parts of pages and the ways of reading them."""
    return [
        _weighed(field(part, way), words, vocabulary, boosts[part])
        for way, words, parts in vocabulary.places(text)
        for part in parts
        if part in boosts
    ]


def _bonuses(ask: Ask, vocabulary: Vocabulary) -> Iterator[Query]:
    """What a title is worth besides that has all of the words, and one that has no others; words in a row."""
    texts = ask.texts
    if not texts:
        return
    name = name_of(" ".join(texts))
    is_title = vocabulary.is_title(name)
    if is_title:
        yield Query.const_score_query(_term(NAME, name), _WHOLE_TITLE * max(1, len(texts) - 1))
    titles = [{way: words for way, words, parts in vocabulary.places(text) if "title" in parts} for text in texts]
    is_long = not is_title and name.count(" ") >= _STRETCH_WORDS - 1
    for way in vocabulary.ways if is_long else titles[0]:
        if all(way in rows for rows in titles):
            yield Query.boolean_query(
                [(Occur.Must, _weighed(field("title", way), rows[way], vocabulary)) for rows in titles]
            )
        for stretch in _stretches([word for text in texts for word in words_of(text, way)]) if is_long else ():
            if all("text" in vocabulary.parts(way, word) for word in stretch):
                yield Query.const_score_query(_in_a_row(field("text", way), stretch), _STRETCH)


def _stretches(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Four words in a row, the next four beginning with the last of them, to the last word; none of fewer words."""
    last = len(words) - _STRETCH_WORDS
    for start in (*range(0, last, _STRETCH_WORDS - 1), last) if last >= 0 else ():
        yield words[start : start + _STRETCH_WORDS]


# -- scripts without spaces -------------------------------------------------------------------------------------


def _has_parts(clause: Clause) -> bool:
    """Whether it is a run of signs, which may be several words."""
    return not clause.is_phrase and has_signs(clause.text) and len(words_of(clause.text, PLAIN)) > 2


def _pieces(clause: Clause) -> list[Clause]:
    """Every two signs in a row, as they stand in the clause."""
    signs = words_of(clause.text, PLAIN)
    return [Clause(" ".join(pair), is_phrase=True) for pair in pairwise(signs)]


# -- filters ----------------------------------------------------------------------------------------------------


def _filter(clause: Clause) -> Query:
    if clause.field in ("site", "host"):
        return _of_place(clause)
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


def _of_place(clause: Clause) -> Query:
    """Pages of a site or a host, or of those with a path."""
    host, path = place_of(clause.text)
    names = [_term("host", host)]
    if clause.field == "site" and site_of(host) == host.partition(":")[0]:
        names.append(_term("site", site_of(host)))
    place = Query.boolean_query([(Occur.Should, name) for name in names])
    words = words_of(f"{host}/{path}", PLAIN) if words_of(path, PLAIN) else ()
    if not words:
        return place
    return Query.boolean_query([(Occur.Must, place), (Occur.Must, _in_a_row("url", words))])


def _of_field(clause: Clause) -> Query:
    """Pages with this value in a field, or with these words in it."""
    words = [(Occur.Must, _term(VALUE, term)) for term in word_terms(clause.field, clause.text)]
    value = _term(VALUE, value_term(clause.field, clause.text))
    return Query.boolean_query([(Occur.Should, value), (Occur.Should, Query.boolean_query(words))])


def _weighed(name: str, words: Sequence[str], vocabulary: Vocabulary, boost: float = 1.0) -> Query:
    """Words in a row, which are worth what the vocabulary says."""
    weight = boost * vocabulary.weight(name, words)
    query = _in_a_row(name, words)
    return query if weight == 1.0 else Query.boost_query(query, weight)


def _in_a_row(name: str, words: Sequence[str]) -> Query:
    if len(words) == 1:
        return _term(name, words[0])
    return Query.phrase_query(schema(), name, list(words[:MAX_WORDS_IN_A_ROW]))  # panics with fewer than two


def _term(name: str, word: str) -> Query:
    return Query.term_query(schema(), name, word)


def n_found(result: tantivy.SearchResult) -> int:
    """How many pages there are."""
    return int(result.count)  # type: ignore[attr-defined]  # tantivy's types have forgotten it
