"""A consistent snapshot of an index: all of its files are replaced together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import tantivy

from orienteer.search.facets import Facet, counted, facets
from orienteer.search.lookup import Vocabulary
from orienteer.search.page_columns import PageColumns
from orienteer.search.query import ParsedQuery
from orienteer.search.text_index import TextIndex, tantivy_errors
from orienteer.store.page_texts import PageTexts
from orienteer.url import host_of

_N_TOP_PAGES = 8
_N_OF_A_HOST = 2


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

    def named(self, pages: Sequence[int]) -> tuple[RelatedPage, ...]:
        """Return these pages with their titles, except pages that were removed meanwhile."""
        texts = self.texts.pages(pages, lead_only=True)
        return tuple(RelatedPage(texts[page].url, texts[page].title) for page in pages if page in texts)

    @cached_property
    def overview(self) -> Overview:
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
