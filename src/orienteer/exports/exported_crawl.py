"""A crawl folder opened for an export: the selection of its pages, and their properties.

It is a snapshot with the latest version of each page; the crawl may continue. A *page* was fetched successfully. A
redirect is an alias of its target; failed URLs are no pages.

    pages       the pages that pass the filters
    distinct    of these, one of each group of duplicates and near-duplicates: the one that the others declare as
                canonical, or else the one fetched first; without pages with noindex. With `all_pages` all of them
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
from orienteer.graph.components import connected_by
from orienteer.graph.hosts import host_ids
from orienteer.graph.url_table import UrlTable
from orienteer.inspect.archived_page import ArchivedPosition
from orienteer.inspect.snapshot import page_names
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.search.page_columns import CrawlRanks, crawl_ranks
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import canonical_url, host_of, site_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PageFilter:
    """A selection of pages: those on the topic of the crawl; those of these hosts or sites, if there are any.

    With `all_pages` duplicates and pages with noindex are included.
    """

    on_topic: bool = False
    hosts: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    all_pages: bool = False


class ExportedCrawl:
    """The pages of a crawl as arrays, indexed by the ids of its URLs."""

    def __init__(
        self, crawl: FolderView, selected: PageFilter, progress: Progress, n_processes: int | None = None
    ) -> None:
        self.path = crawl.path
        self.archive = crawl.archive
        self.database = crawl.database
        self.n_processes = n_processes  # that parse pages; None: a suitable number
        self.left_out: dict[str, int] = {}
        self._crawl = crawl
        self._filter = selected
        self._progress = progress
        self._n_urls = self.database.urls.count()
        self._documents = self.database.rendered.documents()
        self._read_rows()
        self.pages = self._filtered()

    def _read_rows(self) -> None:
        """Read the fetched pages in order, and their properties by id."""
        n_urls = self._n_urls
        self.is_redirect, self.is_archived, self._noindex = np.zeros((3, n_urls), np.bool_)
        self._repeats = np.arange(n_urls)
        self.relevance = np.full(n_urls, np.nan)
        order = array("q")
        for row in self.database.pages.fetched():
            page = row.id
            order.append(page)
            self.is_redirect[page] = row.outcome == Outcome.REDIRECT
            self.is_archived[page] = row.archived is not None
            self._noindex[page] = row.noindex
            self._repeats[page] = page if row.repeats is None else row.repeats
            self.relevance[page] = np.nan if row.relevance is None else row.relevance
        self.order = np.frombuffer(order, np.int64) if order else np.zeros(0, np.int64)

    # -- selection of pages -------------------------------------------------------------------------------------

    def _filtered(self) -> Mask:
        is_page = np.zeros(self._n_urls, np.bool_)
        is_page[self.order] = True
        is_page &= ~self.is_redirect
        if not is_page.any():
            raise InputError(f"{self.path}: the crawl has not fetched any page yet; there is nothing to export")
        if self._filter.on_topic:
            is_page = self._restricted(is_page, self._is_on_topic(), "off topic")
        if self._filter.hosts or self._filter.sites:
            is_page = self._restricted(is_page, self._is_on_hosts, "on other hosts")
        return is_page

    def _restricted(self, pages: Mask, condition: Mask, reason: str) -> Mask:
        remaining = pages & condition
        self.left_out[reason] = int(pages.sum() - remaining.sum())
        if not remaining.any():
            raise InputError(f"{self.path}: all {pages.sum():,} pages are {reason}; there is nothing to export")
        return remaining

    def _is_on_topic(self) -> Mask:
        if not self._crawl.topic_path.exists():
            raise InputError(f"{self.path}: --on-topic is for crawls with a topic, and this one has none")
        return np.asarray(np.nan_to_num(self.relevance) >= topic_threshold(self._crawl))

    def is_selected(self, page: int) -> bool:
        """Return whether a URL passes the filters, no matter whether it is a page now."""
        if self._filter.on_topic and not self.pages[page]:
            return False
        return not (self._filter.hosts or self._filter.sites) or bool(self._is_on_hosts[page])

    @cached_property
    def _is_on_hosts(self) -> Mask:
        """The mask of URLs on one of the selected hosts or sites."""
        hosts = {parse_host(name) for name in self._filter.hosts}
        sites = {site_of(parse_host(name)) for name in self._filter.sites}
        is_on_hosts = np.zeros(self._n_urls, np.bool_)
        start = 0
        for block in self.database.urls.blocks():
            ids, names = host_ids(UrlTable.of(block.split(b"\n")))
            is_included = np.array([name in hosts or site_of(name) in sites for name in names])
            is_on_hosts[start : start + len(ids)] = is_included[ids]
            start += len(ids)
        return is_on_hosts

    def archived_position(self, row: PageRow, url: str) -> ArchivedPosition:
        """Return the position of an archived page, for a page reader."""
        assert row.archived is not None
        return ArchivedPosition(row.archived, row.content_type, url, self._documents.get(row.id))

    def distinct(self, archived: bool) -> Mask:
        """Return the mask of one page of each group; with `archived` only of archived pages."""
        candidates = self.pages & self.is_archived if archived else self.pages
        if archived and not candidates.any():
            raise InputError(f"{self.path}: the crawl has no archive, so there are no texts to export")
        if self._filter.all_pages:
            return candidates
        indexable = self._restricted(candidates, ~self._noindex, "not to be indexed")
        in_order = self.order[indexable[self.order]]
        in_order = in_order[np.argsort(-self._n_canonical[in_order], kind="stable")]
        _, first = np.unique(self.groups[in_order], return_index=True)
        distinct = np.zeros(self._n_urls, np.bool_)
        distinct[in_order[first]] = True
        return self._restricted(indexable, distinct, "repeated")

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The number of the group of duplicates of each URL: the connected components of `repeats`."""
        return connected_by(np.where(self._repeats < self._n_urls, self._repeats, np.arange(self._n_urls)))

    @cached_property
    def _n_canonical(self) -> NDArray[np.int64]:
        """How many pages of the same group declare each URL as canonical; other declarations do not count."""
        n_canonical = np.zeros(self._n_urls, np.int64)
        for page, target in self.database.details.canonicals():
            n_canonical[target] += bool(self.groups[page] == self.groups[target])
        return n_canonical

    # -- properties of pages ------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> NDArray[np.int64]:
        """For each URL the page of which it is an alias; -1 if there is none."""
        return page_names(self.database)

    @cached_property
    def ranks(self) -> CrawlRanks:
        self._progress("ranking", 0, 0)
        return crawl_ranks(self.database, self._crawl.read_ranks())

    @cached_property
    def has_global_rank(self) -> bool:
        return bool(self.ranks.outside.any())

    @cached_property
    def has_topic(self) -> bool:
        return bool((~np.isnan(self.relevance)).any())

    @cached_property
    def _other_names(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The targets of redirects, in increasing order, and those redirects."""
        others = np.flatnonzero(self.is_redirect & (self.names >= 0))
        named = self.names[others]
        order = np.argsort(named, kind="stable")
        return named[order], others[order]

    def other_names(self, page: int) -> list[str]:
        """Return the URLs that redirect to a page."""
        named, others = self._other_names
        first, last = np.searchsorted(named, (page, page + 1))
        return self.database.urls.of_all(others[first:last].tolist())

    def local_rank(self, page: int) -> float | None:
        return float(self.ranks.local[page]) or None

    def global_rank(self, page: int) -> float | None:
        """Return the estimated global rank; None if there is none."""
        return float(self.ranks.outside[page]) or None

    def url(self, page: int) -> str:
        return self.database.urls.of(page)

    def rows(self, selected: Mask, stage: str) -> Iterator[tuple[PageRow, str]]:
        """Yield the rows and URLs of these pages or redirects, in the order they were fetched."""
        n_selected, n_done = int(selected.sum()), 0
        for row in self.database.pages.fetched():
            if selected[row.id]:
                self._progress(stage, n_done, n_selected)
                yield row, self.database.urls.of(row.id)
                n_done += 1


def none_for_nan(values: NDArray[np.float64]) -> list[Any]:
    """Return the values with None in place of NaN."""
    return [None if value != value else value for value in values.tolist()]


def parse_host(name: str) -> str:
    """Return the host in a host name or a URL."""
    url = canonical_url(name if "://" in name else f"http://{name}")
    if url is None:
        raise InputError(f"{name!r} is no name of a host")
    return host_of(url)


def checked_hosts(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
