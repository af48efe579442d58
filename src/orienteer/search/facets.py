"""Facets of search results: counts by host, language, type, year, tag, and on or off topic.

Each value is a filter of the query language (see `query`), and has the query with that filter added, or, if the query
has the filter already, removed. Counts are over all matching pages including duplicates, like `total`: choosing a value
yields exactly that many pages.

    exact       the text index counts in each segment and adds up. A segment reports its 10,000 most frequent values;
                with more, counts are lower bounds
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import tantivy

from orienteer.search.lookup import Vocabulary
from orienteer.search.page_facts import type_name
from orienteer.search.query import FILTERS, MAX_QUERY_CHARS, Clause, ParsedQuery, parse
from orienteer.search.text_index import DATE, HOST, LANGUAGE, TAG, TOPIC, TYPE

N_VALUES = 30
_N_COUNTED = 10_000  # values, in each segment of the index
_YEAR = 10_000  # see `date_number`
_YEARS = range(1000, 9999)  # that a filter can name
_FIELDS = {"host": HOST, "language": LANGUAGE, "type": TYPE, "topic": TOPIC, "tag": TAG}
NAMES = ("host", "language", "type", "year", "topic", "tag")


@dataclass(frozen=True)
class FacetValue:
    """A value that `n_pages` of the results have. `query` restricts the results to it, or, if the value `is_chosen`
    already, lifts the restriction; "" if that query would be too long."""

    value: str
    n_pages: int
    is_chosen: bool
    query: str


@dataclass(frozen=True)
class Facet:
    """Values, the most frequent first, or years, the latest first. `has_more`: some values are not listed.

    `is_exact`: the counts are exact; otherwise they are lower bounds."""

    name: str
    values: tuple[FacetValue, ...]
    has_more: bool = False
    is_exact: bool = True


@dataclass(frozen=True)
class Filter:
    """A filter of the query, and the query without it."""

    text: str
    query: str


class FacetCounts(NamedTuple):
    """Counts of pages by value, the most frequent first; flags as in `Facet`."""

    pages: dict[str, int]
    has_more: bool = False
    is_exact: bool = True


def counted(
    searcher: tantivy.Searcher, query: tantivy.Query, vocabulary: Vocabulary, n_values: int = N_VALUES
) -> dict[str, FacetCounts]:
    """Count the matching pages by value, for each facet."""
    aggregations: dict[str, Any] = {
        name: {"terms": {"field": field, "size": 2 * n_values, "segment_size": _N_COUNTED}}
        for name, field in _FIELDS.items()
        if vocabulary.has_values(field)
    }
    aggregations["year"] = {"histogram": {"field": DATE, "interval": _YEAR, "min_doc_count": 1}}
    found = searcher.aggregate(query, aggregations)
    return {name: _counts(name, found[name], n_values) for name in NAMES if name in found}


def in_order(name: str, pages: Mapping[str, int]) -> list[str]:
    """Return the values of a facet in the order of display."""
    return sorted(pages, reverse=True) if name == "year" else sorted(pages, key=lambda value: (-pages[value], value))


def _counts(name: str, found: dict[str, Any], n_values: int) -> FacetCounts:
    pages = {_value(name, entry["key"]): int(entry["doc_count"]) for entry in found["buckets"]}
    values = list(islice((value for value in in_order(name, pages) if _is_filterable(name, value)), n_values + 1))
    has_more = len(values) > n_values or bool(found.get("sum_other_doc_count"))
    is_exact = not found.get("doc_count_error_upper_bound")
    return FacetCounts({value: pages[value] for value in values[:n_values]}, has_more, is_exact)


def facets(counts: dict[str, FacetCounts], parsed: ParsedQuery) -> tuple[Facet, ...]:
    """Return the counts with the query of each value; facets without values are omitted."""
    return tuple(_facet(name, counts[name], parsed) for name in NAMES if name in counts and counts[name].pages)


def filters(parsed: ParsedQuery) -> tuple[Filter, ...]:
    """Return all filters of a query."""
    return tuple(
        Filter(str(clause), str(without(parsed, (clause,)))) for clause in parsed.clauses if clause.field in FILTERS
    )  # fmt: skip


def without(parsed: ParsedQuery, clauses: tuple[Clause, ...]) -> ParsedQuery:
    """Return a query without these filters, in any spelling."""
    removed = set(map(_filter_of, clauses))
    return parsed._replace(clauses=tuple(clause for clause in parsed.clauses if _filter_of(clause) not in removed))


def _facet(name: str, counts: FacetCounts, parsed: ParsedQuery) -> Facet:
    active, text = {_filter_of(clause) for clause in parsed.clauses}, str(parsed)
    values = []
    for value, n_pages in counts.pages.items():
        clauses = _clauses(name, value)
        is_chosen = all(_filter_of(clause) in active for clause in clauses)
        query = str(without(parsed, clauses)) if is_chosen else " ".join((text, *map(str, clauses))).lstrip()
        values.append(FacetValue(value, n_pages, is_chosen, query if len(query) <= MAX_QUERY_CHARS else ""))
    return Facet(name, tuple(values), counts.has_more, counts.is_exact)


@lru_cache(maxsize=1 << 14)
def _clauses(name: str, value: str) -> tuple[Clause, ...]:
    """Return the filters that select a value."""
    if name == "year":
        return Clause(value, field="after"), Clause(str(int(value) + 1), field="before")
    return (Clause(value, field={"language": "lang"}.get(name, name), is_phrase=" " in value),)


def _value(name: str, key: Any) -> str:
    return str(int(key) // _YEAR) if name == "year" else str(key)


@lru_cache(maxsize=1 << 14)
def _is_filterable(name: str, value: str) -> bool:
    """Whether a filter can express the value. Types with a short name are filtered by that name only."""
    if not value or (name == "year" and int(value) not in _YEARS) or (name == "type" and type_name(value)):
        return False
    return parse(" ".join(map(str, _clauses(name, value)))).clauses == _clauses(name, value)


def _filter_of(clause: Clause) -> tuple[str, str, bool]:
    """Return the identity of a filter: `+lang:de` equals `lang:DE`, but not `-lang:de`."""
    return clause.field, clause.text.casefold(), clause.sign == "-"
