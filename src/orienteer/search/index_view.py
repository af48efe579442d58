"""A consistent snapshot of an index: all of its files are replaced together; and the completion of partial queries.

The last word of a query is completed from the words of the index, and the whole of it from titles. Of the forms of a
word (index, indexes), which match the same pages, only the most frequent is offered. A word after others is offered
only if it occurs on a page together with them, the most frequent first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Occur, Query

from orienteer.search.completion import MAX_TYPED_CHARS, Completions, Suggestion
from orienteer.search.facets import Facet, counted, facets
from orienteer.search.lookup import Vocabulary, n_matches, tantivy_query
from orienteer.search.page_columns import PageColumns
from orienteer.search.query import FIELDS, ParsedQuery, parse
from orienteer.search.text_index import WRITTEN, TextIndex, schema, tantivy_errors, written_words
from orienteer.search.words import words_of
from orienteer.store.page_texts import PageTexts
from orienteer.url import host_of

_N_TOP_PAGES = 8
_N_OF_A_HOST = 2
_N_TRIED = 12  # candidates for a word after others: each costs a query
_LAST = re.compile(r"(?:^|(?<=\s))[^\s\"]+$")  # the word that is being typed
_RULE = re.compile(r"[+-]|(?:" + "|".join(FIELDS) + "):", re.IGNORECASE)


@dataclass(frozen=True)
class RelatedPage:
    url: str
    title: str


@dataclass(frozen=True)
class Overview:
    """A summary of an index. `top_pages` have the highest local rank, one for each group of duplicates, and at most two
    of a host if there are others; `facets` count all pages. `times` are the Unix times of the first, the median and the
    last fetch."""

    n_pages: int
    top_pages: tuple[RelatedPage, ...]
    facets: tuple[Facet, ...]
    times: tuple[float, float, float]


@dataclass(frozen=True)
class IndexView:
    """All that a search reads. `index` is the folder; `text_index` is held because it may own files of the searcher."""

    index: Path
    columns: PageColumns
    searcher: tantivy.Searcher
    vocabulary: Vocabulary
    texts: PageTexts
    text_index: TextIndex

    @cached_property
    def completions(self) -> Completions:
        return Completions(self.index)

    def named(self, pages: Sequence[int]) -> tuple[RelatedPage, ...]:
        """Return these pages with their titles, except pages that were removed meanwhile."""
        texts = self.texts.pages(pages, lead_only=True)
        return tuple(RelatedPage(texts[page].url, texts[page].title) for page in pages if page in texts)

    def overview(self) -> Overview:
        return self._overview

    @cached_property
    def _overview(self) -> Overview:
        figures = self.columns.of(self.columns.pages)
        best = np.lexsort((-figures.named, -figures.local))[: 20 * _N_TOP_PAGES]
        _, first = np.unique(figures.group[best], return_index=True)
        top = self.columns.pages[best[np.sort(first)]].tolist()
        with tantivy_errors(self.index):
            counts = counted(self.searcher, tantivy.Query.all_query(), self.vocabulary)
        top_pages = _of_several_hosts(self.named(top))
        return Overview(len(self.columns), top_pages, facets(counts, ParsedQuery(())), self.columns.times)


def _of_several_hosts(pages: tuple[RelatedPage, ...]) -> tuple[RelatedPage, ...]:
    """Return the first pages, at most two of each host unless there are no others."""
    n_of_host: Counter[str] = Counter()
    first: list[RelatedPage] = []
    others: list[RelatedPage] = []
    for page in pages:
        n_of_host[host_of(page.url)] += 1
        (first if n_of_host[host_of(page.url)] <= _N_OF_A_HOST else others).append(page)
    return tuple((first + others)[:_N_TOP_PAGES])


def completed(view: IndexView, typed: str, n: int) -> tuple[Suggestion, ...]:
    """Return the n best completions: words first, which are at most half of them, then titles."""
    text = typed.lstrip()
    if not text.strip() or len(text) > MAX_TYPED_CHARS or n < 1:
        return ()
    words = _words(view, text, (n + 1) // 2)
    typed_so_far = " ".join(text.split()).casefold()
    titles = [title for title in view.completions.titles(text, n + 1) if title.casefold() != typed_so_far]
    titles = [title for title in titles if title.casefold() not in {word.casefold() for word in words}]
    chosen = [Suggestion(word, "word") for word in words]
    return (*chosen, *(Suggestion(title, "title") for title in titles[: n - len(chosen)]))


def _words(view: IndexView, text: str, n: int) -> list[str]:
    """Return the text with its last word completed."""
    last = _LAST.search(text)
    if last is None or _RULE.match(last[0]) or text.count('"') % 2:
        return []
    head = text[: last.start()]
    found = _distinct_forms(view, last[0].lower(), view.completions.words(last[0], 2 * max(n + 1, _N_TRIED)))[:_N_TRIED]
    if not head.strip():
        return found[:n]
    n_pages = _n_pages_with(view, head, found)
    best = sorted(n_pages, key=lambda word: -n_pages[word])
    return [head + word for word in best if n_pages[word]][:n]


def _n_pages_with(view: IndexView, head: str, words: list[str]) -> dict[str, int]:
    """Count the pages with each word and all words of `head`, as they are written.

    The words of `head` are not stemmed either: to match all of their forms would take ten times as long.
    """
    before = []
    for clause in parse(head, view.vocabulary.field_names).clauses:
        if clause.field or clause.sign == "-":
            before.append(tantivy_query(ParsedQuery((clause,)), view.vocabulary))
        else:
            known = [word for word in written_words(clause.text) if view.searcher.doc_freq(WRITTEN, word)]
            before += [Query.term_query(schema(), WRITTEN, word) for word in known]
    return {word: _n_pages(view, (*before, Query.term_query(schema(), WRITTEN, word))) for word in words}


def _n_pages(view: IndexView, queries: Sequence[Query]) -> int:
    """Count the pages that match all of these queries, without scoring."""
    all_of_them = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in queries]
    return n_matches(view.searcher.search(Query.boolean_query(all_of_them), 1))


def _distinct_forms(view: IndexView, typed: str, words: list[str]) -> list[str]:
    """Drop forms of an earlier word (by the stemmer of most pages), and the typed word itself."""
    stemmer = view.vocabulary.main_stemmer
    forms = {words_of(word, stemmer): word for word in reversed(words) if word != typed}
    return [word for word in words if forms.get(words_of(word, stemmer)) == word]
