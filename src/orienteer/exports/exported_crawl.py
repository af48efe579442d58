"""A crawl folder, opened to be exported: which of its pages are wanted, and what is known of them.

Everything is as it was at one moment, and each page as it was seen last; a crawl may go on meanwhile. A *page* was
fetched and is there. A redirect is another name of the page that it leads to; what failed is no page.

    pages       those that the filters let through
    distinct    of these, one of each group of pages that repeat one another, exactly or nearly: the one that the
                others name as the canonical one, or else the first that was fetched; and none that asks not to be
                indexed. All of them, if that is asked for
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.hosts import host_ids
from orienteer.graph.url_table import UrlTable
from orienteer.inspect.archived_page import Archived
from orienteer.inspect.local_web import page_names
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.search.column_writing import CrawlRanks, crawl_ranks
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import canonical_url, host_of, site_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PageFilter:
    """Which pages are wanted: those on the topic of the crawl; those of these hosts or sites, if there are any.

    With `all_pages` also those that repeat another one, or ask not to be indexed.
    """

    on_topic: bool = False
    hosts: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    all_pages: bool = False


class ExportedCrawl:
    """The pages of a crawl as arrays over all its URLs, by their ids."""

    def __init__(
        self, crawl: FolderView, survey: DatabaseView, wanted: PageFilter, progress: Progress,
        n_processes: int | None = None,
    ) -> None:  # fmt: skip
        self.path = crawl.path
        self.archive = crawl.archive
        self.survey = survey
        self.n_processes = n_processes  # that read pages; None: a sensible number
        self.left_out: dict[str, int] = {}
        self._crawl = crawl
        self._wanted = wanted
        self._progress = progress
        self._n_urls = survey.n_urls()
        self._shown = survey.documents_shown()
        self._read_rows()
        self.pages = self._filtered()

    def _read_rows(self) -> None:
        """The fetched pages in order, and their properties by id."""
        n_urls = self._n_urls
        self.is_redirect, self.is_archived, self._noindex = np.zeros((3, n_urls), np.bool_)
        self._repeats = np.arange(n_urls)
        self.relevance = np.full(n_urls, np.nan)
        order = array("q")
        for row in self.survey.fetched_rows():
            page = row.id
            order.append(page)
            self.is_redirect[page] = row.outcome == Outcome.REDIRECT
            self.is_archived[page] = row.archived is not None
            self._noindex[page] = row.noindex
            self._repeats[page] = page if row.repeats is None else row.repeats
            self.relevance[page] = np.nan if row.relevance is None else row.relevance
        self.order = np.frombuffer(order, np.int64) if order else np.zeros(0, np.int64)

    # -- which pages --------------------------------------------------------------------------------------------

    def _filtered(self) -> Mask:
        is_page = np.zeros(self._n_urls, np.bool_)
        is_page[self.order] = True
        is_page &= ~self.is_redirect
        if not is_page.any():
            raise InputError(f"{self.path}: the crawl has fetched no page yet, so there is nothing to export")
        if self._wanted.on_topic:
            is_page = self._kept(is_page, self._is_on_topic(), "off topic")
        if self._wanted.hosts or self._wanted.sites:
            is_page = self._kept(is_page, self._is_there, "on other hosts")
        return is_page

    def _kept(self, pages: Mask, condition: Mask, what_else: str) -> Mask:
        kept = pages & condition
        self.left_out[what_else] = int(pages.sum() - kept.sum())
        if not kept.any():
            raise InputError(f"{self.path}: all {pages.sum():,} pages are {what_else}; there is nothing to export")
        return kept

    def _is_on_topic(self) -> Mask:
        if not self._crawl.topic_path.exists():
            raise InputError(f"{self.path}: --on-topic is for crawls with a topic, and this one has none")
        return np.asarray(np.nan_to_num(self.relevance) >= topic_threshold(self._crawl))

    def is_asked_for(self, page: int) -> bool:
        """Whether the filters let a URL through, be there a page, a redirect, or nothing any more."""
        if self._wanted.on_topic and not self.pages[page]:
            return False
        return not (self._wanted.hosts or self._wanted.sites) or bool(self._is_there[page])

    @cached_property
    def _is_there(self) -> Mask:
        """Whether a URL is on one of the hosts or sites asked for."""
        hosts = {host_in(name) for name in self._wanted.hosts}
        sites = {site_of(host_in(name)) for name in self._wanted.sites}
        is_there = np.zeros(self._n_urls, np.bool_)
        start = 0
        for block in self.survey.url_blocks():
            ids, names = host_ids(UrlTable.of(block.split(b"\n")))
            is_wanted = np.array([name in hosts or site_of(name) in sites for name in names])
            is_there[start : start + len(ids)] = is_wanted[ids]
            start += len(ids)
        return is_there

    def to_read(self, row: PageRow, url: str) -> Archived:
        """Where a page stands that is in the archive."""
        assert row.archived is not None
        return Archived(row.archived, row.content_type, url, self._shown.get(row.id))

    def distinct(self, archived: bool) -> Mask:
        """Of the pages, one of each group; if it must be `archived`, one that is."""
        candidates = self.pages & self.is_archived if archived else self.pages
        if archived and not candidates.any():
            raise InputError(f"{self.path}: the crawl kept no archive, so there are no texts to export")
        if self._wanted.all_pages:
            return candidates
        indexable = self._kept(candidates, ~self._noindex, "not to be indexed")
        in_order = self.order[indexable[self.order]]
        in_order = in_order[np.argsort(-self._n_canonical[in_order], kind="stable")]
        _, first = np.unique(self.groups[in_order], return_index=True)
        distinct = np.zeros(self._n_urls, np.bool_)
        distinct[in_order[first]] = True
        return self._kept(indexable, distinct, "repeated")

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """A number for each URL: pages that repeat one another, directly or by way of others, have the same."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        known = np.flatnonzero(self._repeats < self._n_urls)
        pairs = (known, self._repeats[known])
        links = coo_array((np.ones(len(known), np.int8), pairs), shape=(self._n_urls, self._n_urls))
        return np.asarray(connected_components(links, directed=False)[1], np.int64)

    @cached_property
    def _n_canonical(self) -> NDArray[np.int64]:
        """How many pages that it repeats name a URL as the canonical one; what others say of it counts for nothing."""
        n_canonical = np.zeros(self._n_urls, np.int64)
        for page, target in self.survey.canonicals():
            n_canonical[target] += bool(self.groups[page] == self.groups[target])
        return n_canonical

    # -- what is known of them ----------------------------------------------------------------------------------

    @cached_property
    def names(self) -> NDArray[np.int64]:
        """For each URL the page that it is a name of; -1 where there is none."""
        return page_names(self.survey)

    @cached_property
    def ranks(self) -> CrawlRanks:
        self._progress("ranking", 0, 0)
        return crawl_ranks(self.survey, self._crawl.read_ranks())

    @cached_property
    def has_global_rank(self) -> bool:
        return bool(self.ranks.outside.any())

    @cached_property
    def has_topic(self) -> bool:
        return bool((~np.isnan(self.relevance)).any())

    @cached_property
    def _other_names(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pages that redirects lead to, in increasing order, and those redirects."""
        others = np.flatnonzero(self.is_redirect & (self.names >= 0))
        named = self.names[others]
        order = np.argsort(named, kind="stable")
        return named[order], others[order]

    def other_names(self, page: int) -> list[str]:
        """The URLs that redirect to a page."""
        named, others = self._other_names
        first, last = np.searchsorted(named, (page, page + 1))
        return self.survey.urls(others[first:last].tolist())

    def local_rank(self, page: int) -> float | None:
        return float(self.ranks.local[page]) or None

    def global_rank(self, page: int) -> float | None:
        """None where it was not estimated."""
        return float(self.ranks.outside[page]) or None

    def url(self, page: int) -> str:
        return self.survey.url(page)

    def rows(self, wanted: Mask, stage: str) -> Iterator[tuple[PageRow, str]]:
        """All that is known of these pages or redirects, in the order they were fetched, with their URLs."""
        n_wanted, n_done = int(wanted.sum()), 0
        for row in self.survey.fetched_rows():
            if wanted[row.id]:
                self._progress(stage, n_done, n_wanted)
                yield row, self.survey.url(row.id)
                n_done += 1


def known(values: NDArray[np.float64]) -> list[Any]:
    """Numbers, with None in place of what is none."""
    return [None if value != value else value for value in values.tolist()]


def host_in(name: str) -> str:
    """The host that somebody names, be it by a URL of it."""
    url = canonical_url(name if "://" in name else f"http://{name}")
    if url is None:
        raise InputError(f"{name!r} is no name of a host")
    return host_of(url)


def checked_hosts(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
