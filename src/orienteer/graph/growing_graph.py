"""The graph of a crawl while it grows: pages become known, are fetched, and bring their links.

A page's links stand in one run of `targets`, from `starts[page]` to `ends[page]`; a page not fetched yet has an empty
run. Kernels that take (starts, ends, targets) therefore work on a frozen graph and on a growing one alike. A page that
is fetched again gets a new run; the old one stays behind unused until `freeze`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph, page_ids
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel


class GrowingGraph:
    """Pages and links, added as a crawl discovers them.

    >>> web = GrowingGraph()
    >>> web.add(0, [2, 1, 1])
    >>> web.n_pages, web.n_links, web.links(0).tolist()
    (3, 2, [1, 2])
    """

    def __init__(self) -> None:
        self.n_pages = 0
        self.n_links = 0
        self._starts: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._ends: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._fetched: NDArray[np.bool_] = np.zeros(1024, np.bool_)
        self._hosts: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._targets: NDArray[np.uint32] = np.empty(4096, np.uint32)
        self._used = 0

    @property
    def starts(self) -> NDArray[np.int64]:
        return self._starts[: self.n_pages]

    @property
    def ends(self) -> NDArray[np.int64]:
        return self._ends[: self.n_pages]

    @property
    def fetched(self) -> NDArray[np.bool_]:
        """Which pages have been fetched (their links are known, if only as none)."""
        return self._fetched[: self.n_pages]

    @property
    def hosts(self) -> NDArray[np.int32]:
        """The host of every page; 0 until `set_hosts` says otherwise."""
        return self._hosts[: self.n_pages]

    def set_hosts(self, pages: ArrayLike, hosts: ArrayLike) -> None:
        """Say on which hosts these known pages are."""
        self._hosts[page_ids("pages", pages, self.n_pages)] = hosts

    @property
    def targets(self) -> NDArray[np.uint32]:
        """All runs, one after the other; a view that is good until the next `add`."""
        return self._targets[: self._used]

    def know(self, n_pages: int) -> None:
        """Make the pages below `n_pages` known."""
        if n_pages >= csr.MAX_PAGES:
            raise InputError(f"{n_pages:,} pages: a graph has at most {csr.MAX_PAGES - 1:,}")
        if n_pages <= self.n_pages:
            return
        self._starts, self._ends = grown(self._starts, n_pages), grown(self._ends, n_pages)
        self._fetched, self._hosts = grown(self._fetched, n_pages), grown(self._hosts, n_pages)
        self.n_pages = n_pages

    def add(self, page: int, targets: ArrayLike) -> None:
        """`page` was fetched and links to `targets`; repeats and self-links are dropped, new pages become known."""
        ids = page_ids("targets", targets, csr.MAX_PAGES - 1)
        self._append(page_ids("pages", [page], csr.MAX_PAGES - 1), np.array([0, len(ids)]), ids)

    def add_batch(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> None:
        """Several fetched pages at once: `targets[offsets[k]:offsets[k+1]]` are the links of `pages[k]`."""
        sources = page_ids("pages", pages, csr.MAX_PAGES - 1)
        ids = page_ids("targets", targets, csr.MAX_PAGES - 1)
        rows = np.asarray(offsets, np.int64)
        if len(rows) != len(sources) + 1 or rows[0] != 0 or rows[-1] != len(ids) or (np.diff(rows) < 0).any():
            raise InputError("offsets: expected one more than pages, from 0 up to the number of targets")
        self._append(sources, rows, ids)

    def _append(self, sources: NDArray[Any], rows: NDArray[np.int64], ids: NDArray[Any]) -> None:
        if len(sources):
            self.know(max(int(sources.max()), int(ids.max(initial=0))) + 1)
        self._targets = grown(self._targets, self._used + len(ids))
        added, self._used = _append_rows(sources, rows, ids, self._targets, self._used, self._starts, self._ends)
        self.n_links += added
        self._fetched[sources] = True

    def links(self, page: int) -> NDArray[np.uint32]:
        """The links of `page`, in increasing order; none for a page that was not fetched."""
        return self._targets[self._starts[page] : self._ends[page]]

    def batch(self, pages: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The links of these pages as one CSR batch: (offsets, targets)."""
        ids = page_ids("pages", pages, self.n_pages)
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(self._ends[ids] - self._starts[ids], out=offsets[1:])
        return offsets, _gathered(ids, self._starts, self._ends, self._targets, offsets)

    def freeze(self, hosts: ArrayLike | None = None, urls: Iterable[str] | None = None) -> LinkGraph:
        """The graph as it is now."""
        offsets, targets = self.batch(np.arange(self.n_pages))
        host_ids = None if hosts is None else np.asarray(hosts)
        return LinkGraph(offsets, targets, host_ids, None if urls is None else UrlTable.of(urls))

    def __repr__(self) -> str:
        return (
            f"<GrowingGraph: {self.n_pages:,} pages known, {int(self.fetched.sum()):,} fetched, {self.n_links:,} links>"
        )


@allocating_kernel
def _append_rows(
    pages: Any, offsets: Any, targets: Any, out: Any, used: int, starts: Any, ends: Any
) -> tuple[int, int]:
    """Append each page's row to `out`, sorted, without repeats and self-links; (links gained, where `out` ends now)."""
    gained = 0
    for k in range(len(pages)):
        page = pages[k]
        row = np.sort(targets[offsets[k] : offsets[k + 1]])
        gained -= ends[page] - starts[page]
        starts[page] = used
        for target in row:
            if target != page and (used == starts[page] or out[used - 1] != target):
                out[used] = target
                used += 1
        ends[page] = used
        gained += used - starts[page]
    return gained, used


@allocating_kernel
def _gathered(pages: Any, starts: Any, ends: Any, targets: Any, offsets: Any) -> Any:
    out = np.empty(offsets[-1], np.uint32)
    for k in range(len(pages)):
        page = pages[k]
        out[offsets[k] : offsets[k + 1]] = targets[starts[page] : ends[page]]
    return out
