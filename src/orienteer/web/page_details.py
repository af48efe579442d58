"""All that is known of one page: from the crawl, and from the search index where it has the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.explain import PageFacts, page_facts
from orienteer.inspect.page_in_words import page_in_words
from orienteer.search.index_files import TEXTS, index_folder
from orienteer.search.page_columns import FILE, PageColumns
from orienteer.search.search_index import RelatedPage
from orienteer.store.page_texts import PageTexts
from orienteer.web.served_crawl import ServedCrawl

_N_RELATED = 10


@dataclass(frozen=True)
class PageRank:
    """What a page is worth seen from `inside` or `outside`, and its position among the pages of the index."""

    seen_from: str
    rank: float
    position: int
    n_pages: int


@dataclass(frozen=True)
class PageDetails:
    """`in_words` are the facts as people read them; those in `pages` name another page. `why_no_ranks` says in one line
    why there are none; `link_texts` are what links to the page say, the most frequent first."""

    facts: PageFacts
    in_words: tuple[tuple[str, str], ...]
    pages: dict[str, str]
    ranks: tuple[PageRank, ...] = ()
    why_no_ranks: str = ""
    related: tuple[RelatedPage, ...] = ()
    link_texts: tuple[str, ...] = ()


class _Indexed(NamedTuple):
    ranks: tuple[PageRank, ...] = ()
    why_no_ranks: str = ""
    related: tuple[RelatedPage, ...] = ()
    link_texts: tuple[str, ...] = ()


def page_details(crawl: ServedCrawl, url: str) -> PageDetails:
    """What is known of a URL, which need not be written canonically."""
    facts = page_facts(crawl.path, url)
    pages = {
        "redirects to": facts.redirect_to,
        "same content as": facts.duplicate_of,
        "nearly the text of": facts.near_duplicate_of,
    }
    told = tuple((name, fact) for name, fact in page_in_words(facts) if fact)
    named = {name: page for name, page in pages.items() if page}
    try:
        indexed = _indexed(crawl, facts)
    except CrawlFolderError as error:
        indexed = _Indexed(why_no_ranks=str(error))
    return PageDetails(facts, told, named, **indexed._asdict())


def _indexed(crawl: ServedCrawl, facts: PageFacts) -> _Indexed:
    if facts.page is None:
        return _Indexed()
    index = index_folder(crawl.path)
    with crawl.searching() as searched:
        try:
            related = searched.related(facts.url, _N_RELATED)
        except InputError:
            return _Indexed(why_no_ranks="It is not in the search index.")
    with PageTexts(index / TEXTS, read_only=True) as texts:
        said = tuple(texts.link_texts([facts.page]))
    columns = PageColumns(index / FILE)
    how = f"orienteer estimate {crawl.path}, then orienteer index {crawl.path}"
    why = "" if columns.has_outside else f"What it is worth outside is not known; find out with {how}."
    return _Indexed(_ranks(columns, facts.page), why, related, said)


def _ranks(columns: PageColumns, page: int) -> tuple[PageRank, ...]:
    """Inside, and outside where something was estimated. Pages that repeat each other count each."""
    if page not in columns:
        return ()
    all_pages, of_page = columns.of(columns.pages), columns.of([page])
    seen = [("inside", all_pages.local, of_page.local)]
    if columns.has_outside:
        seen.append(("outside", all_pages.outside, of_page.outside))
    return tuple(
        PageRank(name, float(own[0]), 1 + int(np.count_nonzero(ranks > own[0])), len(columns))
        for name, ranks, own in seen
    )
