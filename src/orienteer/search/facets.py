"""What results can be narrowed by: how many of them are of each host, language, type, year, tag, on the topic or not.

Each value is a filter of the query language (see `query`), and comes with the query that has it too; a value that is in
the query already, with the one that has it no more. Pages are counted over all that were found, repetitions among them,
as `total` counts them: who chooses a value finds so many.

    exact       the text index counts in every one of its parts, and adds up what it counted. A part names the values
                that most pages have, up to 10,000 of them; beyond that, counts are what was found at least
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import tantivy

from orienteer.search.page_facts import type_name
from orienteer.search.query import FILTERS, MAX_QUERY_CHARS, Ask, Clause, parse
from orienteer.search.text_index import DATE, HOST, LANGUAGE, TAG, TOPIC, TYPE
from orienteer.search.vocabulary import Vocabulary

N_VALUES = 30
_N_COUNTED = 10_000  # values, in each part of the index
_YEAR = 10_000  # see `date_number`
_YEARS = range(1000, 9999)  # that can be asked for
_FIELDS = {"host": HOST, "language": LANGUAGE, "type": TYPE, "topic": TOPIC, "tag": TAG}
NAMES = ("host", "language", "type", "year", "topic", "tag")


@dataclass(frozen=True)
class FacetValue:
    """A value that `n_pages` of the results have. `query` is what to ask for to have no others, or, where the value
    `is_chosen` already, to have the others again; "" where the query would be too long."""

    value: str
    n_pages: int
    is_chosen: bool
    query: str


@dataclass(frozen=True)
class Facet:
    """Values that most results have, first; years, the latest first. `has_more`: there are others.

    `is_exact`: there are so many pages; otherwise there are at least so many."""

    name: str
    values: tuple[FacetValue, ...]
    has_more: bool = False
    is_exact: bool = True


@dataclass(frozen=True)
class Filter:
    """A filter of the query, and the query without it."""

    text: str
    query: str


class Counts(NamedTuple):
    """Pages by value, the most frequent values first; whether there are more values, and whether counts are exact."""

    pages: dict[str, int]
    has_more: bool = False
    is_exact: bool = True


def counted(
    searcher: tantivy.Searcher, query: tantivy.Query, vocabulary: Vocabulary, n_values: int = N_VALUES
) -> dict[str, Counts]:
    """How many of the pages that are found have each value, facet by facet."""
    asked: dict[str, Any] = {
        name: {"terms": {"field": field, "size": 2 * n_values, "segment_size": _N_COUNTED}}
        for name, field in _FIELDS.items()
        if vocabulary.has_values(field)
    }
    asked["year"] = {"histogram": {"field": DATE, "interval": _YEAR, "min_doc_count": 1}}
    found = searcher.aggregate(query, asked)
    return {name: _counts(name, found[name], n_values) for name in NAMES if name in found}


def in_order(name: str, pages: Mapping[str, int]) -> list[str]:
    """The values of a facet as they are listed."""
    return sorted(pages, reverse=True) if name == "year" else sorted(pages, key=lambda value: (-pages[value], value))


def _counts(name: str, found: dict[str, Any], n_values: int) -> Counts:
    pages = {_value(name, entry["key"]): int(entry["doc_count"]) for entry in found["buckets"]}
    values = list(islice((value for value in in_order(name, pages) if _can_be_asked_for(name, value)), n_values + 1))
    has_more = len(values) > n_values or bool(found.get("sum_other_doc_count"))
    is_exact = not found.get("doc_count_error_upper_bound")
    return Counts({value: pages[value] for value in values[:n_values]}, has_more, is_exact)


def facets(counts: dict[str, Counts], ask: Ask) -> tuple[Facet, ...]:
    """The same with the queries that they lead to; what has no values is left out."""
    return tuple(_facet(name, counts[name], ask) for name in NAMES if name in counts and counts[name].pages)


def filters(ask: Ask) -> tuple[Filter, ...]:
    """All filters of a query."""
    return tuple(
        Filter(str(clause), str(without(ask, (clause,)))) for clause in ask.clauses if clause.field in FILTERS
    )  # fmt: skip


def without(ask: Ask, clauses: tuple[Clause, ...]) -> Ask:
    """A query without these filters, however they are written."""
    gone = set(map(_filter_of, clauses))
    return ask._replace(clauses=tuple(clause for clause in ask.clauses if _filter_of(clause) not in gone))


def _facet(name: str, counts: Counts, ask: Ask) -> Facet:
    asked, text = {_filter_of(clause) for clause in ask.clauses}, str(ask)
    values = []
    for value, n_pages in counts.pages.items():
        clauses = _clauses(name, value)
        is_chosen = all(_filter_of(clause) in asked for clause in clauses)
        query = str(without(ask, clauses)) if is_chosen else " ".join((text, *map(str, clauses))).lstrip()
        values.append(FacetValue(value, n_pages, is_chosen, query if len(query) <= MAX_QUERY_CHARS else ""))
    return Facet(name, tuple(values), counts.has_more, counts.is_exact)


@lru_cache(maxsize=1 << 14)
def _clauses(name: str, value: str) -> tuple[Clause, ...]:
    """The filters that stand for a value."""
    if name == "year":
        return Clause(value, field="after"), Clause(str(int(value) + 1), field="before")
    return (Clause(value, field={"language": "lang"}.get(name, name), is_phrase=" " in value),)


def _value(name: str, key: Any) -> str:
    return str(int(key) // _YEAR) if name == "year" else str(key)


@lru_cache(maxsize=1 << 14)
def _can_be_asked_for(name: str, value: str) -> bool:
    """Whether there is a filter for it. A type goes by the name that people give it, if they do."""
    if not value or (name == "year" and int(value) not in _YEARS) or (name == "type" and type_name(value)):
        return False
    return parse(" ".join(map(str, _clauses(name, value)))).clauses == _clauses(name, value)


def _filter_of(clause: Clause) -> tuple[str, str, bool]:
    """What tells a filter from others: `+lang:de` is the same as `lang:DE`, but not `-lang:de`."""
    return clause.field, clause.text.casefold(), clause.sign == "-"
