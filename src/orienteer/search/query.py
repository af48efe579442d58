"""What a person types, and what is looked up.

    words                 all of them stand on the page, in any form and place (if no page has all: some of them)
    "two words"           in a row
    +word  -word          must stand there; must not
    title:word url:word   in the title, in the address; with "..." several in a row
    site:example.org      pages of a site; site:example.org/docs of a part of it
    host:www.example.org  pages of one host
    lang:de               pages in a language
    tag:shop              pages that a page hook gave this tag
    price:12              pages with this value, or this word, in a field of this name that a page hook added

Anything may be typed: what makes no sense as a rule is looked for as words, and what holds no word is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import tantivy
from tantivy import Occur, Query

from orienteer.extract.language import primary_language
from orienteer.search.added_terms import tag_term, value_term, word_terms
from orienteer.search.text_index import ADDED, NAME, TAG, VALUE, field, name_of, schema
from orienteer.search.vocabulary import Vocabulary
from orienteer.search.words import PLAIN, words_of
from orienteer.url import host_of, site_of

MAX_QUERY_CHARS = 1000  # what follows is not looked at
_MAX_CLAUSES = 32
_MAX_WORDS_IN_A_ROW = 32

# What a word is worth by where it stands; other places add a share of theirs.
_BOOSTS = {"title": 5.0, "headings": 1.0, "text": 0.7, "anchors": 2.0}
_URL_BOOST = 0.7
_OTHER_PLACES = 0.3
_WHOLE_TITLE = 10.0

_ADDED_BOOST = 0.4
_FIELDS = ("site", "host", "lang", "title", "url", "tag")
_FIELD_LIKE = re.compile(r"(?<!\S)[+-]?([^\W\d]\w{0,40}):(?=[^\s:/])")


class Clause(NamedTuple):
    """One thing that was typed; `field` is "" where the words may stand anywhere."""

    text: str
    sign: str = ""
    field: str = ""
    is_phrase: bool = False

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.is_phrase else self.text
        return f"{self.sign}{self.field}{':' if self.field else ''}{text}"


class Ask(NamedTuple):
    """A query, taken apart."""

    clauses: tuple[Clause, ...]

    @property
    def sought(self) -> list[Clause]:
        """What the page is to say."""
        return [clause for clause in self.clauses if clause.sign != "-" and clause.field in ("", "title", "url")]

    @property
    def may_be_relaxed(self) -> bool:
        """Whether one could do with some of the words."""
        return sum(clause.sign == "" and clause.field == "" for clause in self.clauses) > 1

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))


def parse(text: str, field_names: frozenset[str] = frozenset()) -> Ask:
    """What was typed; `field_names` are those of fields that hooks added.

    >>> [str(clause) for clause in parse('big "red apple" -site:A.org +title:pie foo:bar "" -').clauses]
    ['big', '"red apple"', '-site:A.org', '+title:pie', 'foo:bar']
    >>> [clause.field for clause in parse("price:12 foo:bar", frozenset(["price"])).clauses]
    ['price', '']
    """
    clauses = []
    for sign, name, phrase, word in _clause(field_names).findall(text[:MAX_QUERY_CHARS]):
        clause = Clause(phrase or word, sign, name.lower(), bool(phrase))
        if _holds_something(clause):
            clauses.append(clause)
    return Ask(tuple(clauses[:_MAX_CLAUSES]))


def hints(text: str, field_names: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """What may be wrong with a query that finds nothing, a sentence each.

    >>> hints('price:12 "red apple')
    ('The quote before “red apple” is not closed.', 'There is no field “price”: it is looked for as a word.')
    """
    typed = text[:MAX_QUERY_CHARS]
    found = []
    if not parse(typed, field_names).clauses:
        found.append("There is no word to look for." if typed.strip() else "The query is empty: type some words.")
    if typed.count('"') % 2:
        found.append(f"The quote before “{typed.rpartition(chr(34))[2].strip()[:60]}” is not closed.")
    known = {*_FIELDS, *field_names}
    unknown = [name for name in _FIELD_LIKE.findall(typed) if name.lower() not in known]
    found += [f"There is no field “{name}”: it is looked for as a word." for name in dict.fromkeys(unknown)]
    return tuple(found)


@lru_cache(maxsize=8)
def _clause(field_names: frozenset[str]) -> re.Pattern[str]:
    names = "|".join((*_FIELDS, *map(re.escape, sorted(field_names))))
    return re.compile(rf'([+-]?)(?:({names}):)?(?:"([^"]*)"?|([^\s"]+))', re.IGNORECASE)


def _holds_something(clause: Clause) -> bool:
    if clause.field in ("site", "host"):
        return bool(_place(clause.text)[0])
    if clause.field == "lang":
        return bool(primary_language(clause.text))
    if clause.field == "tag":
        return bool(tag_term(clause.text))
    return bool(words_of(clause.text, PLAIN))


def built(ask: Ask, vocabulary: Vocabulary, relaxed: bool = False) -> Query:
    """What tantivy is to look for. Relaxed, some of the words are enough."""
    parts: list[tuple[Occur, Query]] = []
    optional: list[tuple[Occur, Query]] = []
    for clause in ask.clauses:
        query = _query(clause, vocabulary)
        if clause.sign == "-":
            parts.append((Occur.MustNot, query))
        elif relaxed and clause.sign == "" and clause.field == "":
            optional.append((Occur.Should, query))
        else:
            parts.append((Occur.Must, query))
    if optional:
        parts.append((Occur.Must, Query.boolean_query(optional)))
    if any(occur == Occur.Must for occur, _ in parts):
        parts += ((Occur.Should, bonus) for bonus in _bonuses(ask, vocabulary))
    else:
        everything = Query.all_query() if parts else Query.empty_query()
        parts.append((Occur.Must, Query.const_score_query(everything, 0.0)))
    return Query.boolean_query(parts)


def _query(clause: Clause, vocabulary: Vocabulary) -> Query:
    if clause.field in ("site", "host"):
        return _filter(_of_place(clause))
    if clause.field == "lang":
        return _filter(_term("language", primary_language(clause.text)))
    if clause.field == "tag":
        return _filter(_term(TAG, tag_term(clause.text)) if vocabulary.knows_added else Query.empty_query())
    if clause.field and clause.field not in _FIELDS:  # one that a hook added, since it was told from words
        return _filter(_of_field(clause))
    if clause.field == "url":
        return _in_a_row("url", words_of(clause.text, PLAIN))
    boosts = {"title": 1.0} if clause.field == "title" else _BOOSTS
    places = [
        (field(part, way), words, boosts[part])
        for way in vocabulary.ways
        if (words := words_of(clause.text, way))
        for part in vocabulary.parts(way, words[0])
        if part in boosts
    ]
    if not clause.field:
        places.append(("url", words_of(clause.text, PLAIN), _URL_BOOST))
        if vocabulary.knows_added:
            places.append((ADDED, words_of(clause.text, PLAIN), _ADDED_BOOST))
    found = [Query.boost_query(_in_a_row(name, words), boost) for name, words, boost in places]
    return Query.disjunction_max_query(found, _OTHER_PLACES) if found else Query.empty_query()


def _bonuses(ask: Ask, vocabulary: Vocabulary) -> Iterator[Query]:
    """What a title is worth besides that has all of the words, and one that has no others."""
    texts = [clause.text for clause in ask.clauses if clause.sign != "-" and clause.field == ""]
    for way in vocabulary.ways if texts else ():
        rows = [words_of(text, way) for text in texts]
        if all(words and "title" in vocabulary.parts(way, words[0]) for words in rows):
            yield Query.boolean_query([(Occur.Must, _in_a_row(field("title", way), words)) for words in rows])
    if texts:
        yield Query.const_score_query(_term(NAME, name_of(" ".join(texts))), _WHOLE_TITLE)


def _of_place(clause: Clause) -> Query:
    """Pages of a site or a host, or of those with a path."""
    host, path = _place(clause.text)
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


def _place(text: str) -> tuple[str, str]:
    """The host that a text names, as URLs have it, and what follows."""
    name, _, path = text.rpartition("://")[2].partition("/")
    return host_of(f"http://{name}/"), path


def _in_a_row(name: str, words: Sequence[str]) -> Query:
    if len(words) == 1:
        return _term(name, words[0])
    return Query.phrase_query(schema(), name, list(words[:_MAX_WORDS_IN_A_ROW]))  # panics with fewer than two


def _term(name: str, word: str) -> Query:
    return Query.term_query(schema(), name, word)


def _filter(query: Query) -> Query:
    """It decides which pages, not how good they are."""
    return Query.const_score_query(query, 0.0)


def n_found(result: tantivy.SearchResult) -> int:
    """How many pages there are."""
    return int(result.count)  # type: ignore[attr-defined]  # tantivy's types have forgotten it
