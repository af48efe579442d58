"""The links of a crawl that lead to trouble, and how often a surfer takes each.

A surfer on a page follows one of its links, each as likely: of all her clicks, the link from page p takes the share
rank(p) / (number of links on p), divided by the sum of this over all links. The chance that she follows a link at all,
and does not start anew elsewhere, is the same on all pages and does not matter. Links to one address on one page
count once, and a page's links to itself do not count.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from orienteer.progress import Progress
from orienteer.report.fates import Fate
from orienteer.report.finding import Clicks
from orienteer.report.page_table import PageTable
from orienteer.store.database_view import DatabaseView

_STAGE = "following the links"
_PAGES_AT_ONCE = 1000
_TROUBLE = (Fate.BROKEN, Fate.REFUSED, Fate.HOST_GONE)


class LinkTable:
    """Links of pages that are `wanted` to what is no page, or has moved: `sources`, `targets`, and their `shares` of
    all clicks on these pages, ordered by target, the largest share first.

    `is_linked` says which URLs any page links to, be it by a redirect.
    """

    def __init__(self, database: DatabaseView, table: PageTable, wanted: NDArray[np.bool_], progress: Progress) -> None:
        self.is_linked = np.zeros(table.n_urls, np.bool_)
        self.n_links = 0
        self._by_fate = np.zeros(len(Fate))
        self._n_by_fate = np.zeros(len(Fate), np.int64)
        self._redirected = 0.0
        self._is_fine = np.isin(table.fates, (Fate.FINE, Fate.NOT_CHECKED))
        self._is_trouble = np.isin(table.fates, _TROUBLE) | (table.hops > 0)
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        n_done, n_all = 0, int(table.is_page.sum())
        links_of_pages = (pair for pair in database.all_links() if table.is_page[pair[0]])
        while batch := list(islice(links_of_pages, _PAGES_AT_ONCE)):
            found.append(self._taken(table, wanted, batch))
            n_done += len(batch)
            progress(_STAGE, n_done, n_all)
        sources, targets, shares = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((sources, -shares, targets))
        self.sources, self.targets, self.shares = sources[order], targets[order], shares[order] / self.all_clicks

    def _taken(
        self, table: PageTable, wanted: NDArray[np.bool_], batch: list[tuple[int, NDArray[np.uint32]]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Count the links of some pages; those that lead to trouble, as sources, targets and shares."""
        pages = np.array([page for page, _ in batch], np.int64)
        places = np.repeat(np.arange(len(pages)), [len(links) for _, links in batch])
        targets = np.concatenate([links for _, links in batch]).astype(np.int64)
        is_other = targets != pages[places]
        places, targets = np.divmod(np.unique(places[is_other] * table.n_urls + targets[is_other]), table.n_urls)
        self.is_linked[targets] = True
        self.is_linked[table.ends[targets]] = True
        shares = (table.rank[pages] / np.maximum(np.bincount(places, minlength=len(pages)), 1))[places]
        is_here = wanted[pages[places]]
        sources, targets, shares = pages[places[is_here]], targets[is_here], shares[is_here]
        fates = table.fates[targets]
        self.n_links += len(targets)
        self._n_by_fate += np.bincount(fates, minlength=len(Fate))
        self._by_fate += np.bincount(fates, shares, len(Fate))
        self._redirected += float(shares[(table.hops[targets] > 0) & self._is_fine[targets]].sum())
        trouble = self._is_trouble[targets]
        return sources[trouble], targets[trouble], shares[trouble]

    @property
    def all_clicks(self) -> float:
        return float(self._by_fate.sum()) or 1.0

    @property
    def n_checked(self) -> int:
        """How many links are known to lead to a page, or not to."""
        return int(self._n_by_fate[[Fate.FINE, Fate.BROKEN]].sum())

    def clicks(self) -> Clicks:
        shares = self._by_fate / self.all_clicks
        return Clicks(
            broken=float(shares[Fate.BROKEN]),
            host_gone=float(shares[Fate.HOST_GONE]),
            redirected=self._redirected / self.all_clicks,
            refused=float(shares[Fate.REFUSED]),
            not_checked=float(shares[Fate.NOT_CHECKED]),
        )

    def to(self, targets: NDArray[np.bool_]) -> list[tuple[int, slice]]:
        """Those of these URLs that are linked to, each with where its links stand in the arrays."""
        if not len(self.targets):
            return []
        starts = np.flatnonzero(np.diff(self.targets, prepend=-1))
        ends = np.append(starts[1:], len(self.targets))
        return [
            (int(self.targets[start]), slice(int(start), int(end)))
            for start, end in zip(starts, ends, strict=True)
            if targets[self.targets[start]]
        ]
