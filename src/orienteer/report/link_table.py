"""The links of a crawl that lead to trouble, and how often a surfer takes each.

A surfer on a page follows one of its links, each as likely: of all her clicks, the link from page p takes the share
rank(p) / (number of links on p), divided by the sum of this over all links. The chance that she follows a link at all,
and does not start anew elsewhere, is the same on all pages and does not matter. Links to one address on one page
count once, and a page's links to itself do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.progress import Progress
from orienteer.report.fates import Fate
from orienteer.report.finding import Clicks
from orienteer.report.page_table import PageTable
from orienteer.store.database_view import DatabaseView

_STAGE = "following the links"
_TROUBLE = (Fate.BROKEN, Fate.REFUSED, Fate.HOST_GONE)


class LinkTable:
    """Links of pages that are `wanted` to what is no page, or has moved: `sources`, `targets`, and their `shares` of
    all clicks on these pages, ordered by target, the largest share first.

    `is_linked` says which URLs any page links to, be it by a redirect.
    """

    def __init__(self, database: DatabaseView, table: PageTable, wanted: NDArray[np.bool_], progress: Progress) -> None:
        is_trouble = np.isin(table.fates, _TROUBLE) | (table.hops > 0)
        self.is_linked = np.zeros(table.n_urls, np.bool_)
        self.n_links = 0
        self._by_fate = np.zeros(len(Fate))
        self._n_by_fate = np.zeros(len(Fate), np.int64)
        self._redirected = 0.0
        found: list[tuple[int, NDArray[np.int64], float]] = []
        n_done, n_all = 0, int(table.is_page.sum())
        for page, links in database.all_links():
            if not table.is_page[page]:
                continue
            n_done += 1
            progress(_STAGE, n_done, n_all)
            targets = np.unique(links.astype(np.int64))
            targets = targets[targets != page]
            self.is_linked[targets] = True
            self.is_linked[table.ends[targets]] = True
            if not wanted[page] or not len(targets):
                continue
            share = float(table.rank[page]) / len(targets)
            self._count(table, targets, share)
            targets = targets[is_trouble[targets]]
            if len(targets):
                found.append((page, targets, share))
        self._arrange(found)

    def _count(self, table: PageTable, targets: NDArray[np.int64], share: float) -> None:
        counts = np.bincount(table.fates[targets], minlength=len(Fate))
        self.n_links += len(targets)
        self._n_by_fate += counts
        self._by_fate += counts * share
        is_fine = np.isin(table.fates[targets], (Fate.FINE, Fate.NOT_CHECKED))
        self._redirected += share * int(((table.hops[targets] > 0) & is_fine).sum())

    def _arrange(self, found: list[tuple[int, NDArray[np.int64], float]]) -> None:
        lengths = [len(targets) for _, targets, _ in found]
        sources = np.repeat(np.array([page for page, _, _ in found], np.int64), lengths)
        targets = np.concatenate([targets for _, targets, _ in found]) if found else np.zeros(0, np.int64)
        shares = np.repeat(np.array([share for _, _, share in found]), lengths) / self.all_clicks
        order = np.lexsort((sources, -shares, targets))
        self.sources, self.targets, self.shares = sources[order], targets[order], shares[order]

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
