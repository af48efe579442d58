"""The link graph of a running crawl: pages are discovered, and fetched pages add their links.

Most pages that a crawl discovers are never fetched, so only fetched pages have a *row*: `rows[page]` is its number, 0
if there is none, and its links are `targets[offsets[row]:offsets[row + 1]]`; row 0 is empty. Kernels read links through
`push.LinkRows`, from frozen and growing graphs alike. A page that is fetched again gets a new row; the old row is
unused and dropped by `freeze`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph, page_ids
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel

# Indices into `counts`: rows (including the empty one), targets in use, links of current rows.
_ROWS, _USED, _LINKS = range(3)


class PageHosts:
    """Host ids by page, 0 until they are set: one growing array, shared by the graph and the crawl.

    `array` may be longer than the number of known pages.
    """

    def __init__(self) -> None:
        self.array: NDArray[np.int32] = np.zeros(1024, np.int32)

    def grow_to(self, n_pages: int) -> None:
        """Make room for `n_pages` pages."""
        self.array = grown(self.array, n_pages)

    def set(self, pages: Any, hosts: Any) -> None:
        """Set the hosts of these pages, which must be below the size of `array`."""
        self.array[pages] = hosts


class GrowingGraph:
    """Pages and links, added as a crawl discovers them.

    >>> web = GrowingGraph()
    >>> web.add(0, [2, 1, 1])
    >>> web.n_pages, web.n_links, web.links(0).tolist()
    (3, 2, [1, 2])
    """

    def __init__(self, hosts: PageHosts | None = None) -> None:
        """Create an empty graph; `hosts` may share the table of hosts of another component."""
        self.n_pages = 0
        self.page_hosts = hosts or PageHosts()
        self._rows: NDArray[np.uint32] = np.zeros(1024, np.uint32)
        self._offsets: NDArray[np.int64] = np.zeros(1024, np.int64)
        self._targets: NDArray[np.uint32] = np.zeros(4096, np.uint32)
        self._counts: NDArray[np.int64] = np.array([1, 0, 0])
        self.link_rows: Any = None  # `push.LinkRows` of this graph, until it grows
        self._source, self._row = np.zeros(1, np.uint32), np.zeros(2, np.int64)  # the arguments of `add`

    @property
    def n_links(self) -> int:
        return int(self._counts[_LINKS])

    @property
    def rows(self) -> NDArray[np.uint32]:
        return self._rows[: self.n_pages]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets by row, not by page."""
        return self._offsets[: self._counts[_ROWS] + 1]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the links of each page begin; a new array on each access."""
        return self._offsets[self.rows]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the links of each page end; a new array on each access."""
        return self._offsets[self.rows.astype(np.int64) + 1]

    @property
    def fetched(self) -> NDArray[np.bool_]:
        """A mask of the pages that have been fetched, with or without links; a new array on each access."""
        is_fetched: NDArray[np.bool_] = self.rows != 0
        return is_fetched

    def is_fetched(self, page: int) -> bool:
        return bool(self._rows[page])

    @property
    def hosts(self) -> NDArray[np.int32]:
        """The host of every page; 0 until `set_hosts` sets it."""
        return self.page_hosts.array[: self.n_pages]

    def set_hosts(self, pages: ArrayLike, hosts: ArrayLike) -> None:
        """Set the hosts of these known pages."""
        self.page_hosts.set(page_ids("pages", pages, self.n_pages), hosts)

    @property
    def targets(self) -> NDArray[np.uint32]:
        """All rows, one after the other; a view that is valid until the next `add`."""
        return self._targets[: self._counts[_USED]]

    def grow_to(self, n_pages: int) -> None:
        """Make all pages below `n_pages` known."""
        if n_pages >= csr.MAX_PAGES:
            raise InputError(f"{n_pages:,} pages: a graph has at most {csr.MAX_PAGES - 1:,}")
        if n_pages <= self.n_pages:
            return
        self._rows = grown(self._rows, n_pages)
        self.page_hosts.grow_to(n_pages)
        self.n_pages = n_pages
        self.link_rows = None

    def add(self, page: int, targets: ArrayLike) -> None:
        """Add a fetched page with its links; repeats and self-links are dropped, new pages become known."""
        if not 0 <= page < csr.MAX_PAGES - 1:
            page_ids("pages", [page], csr.MAX_PAGES - 1)
        if isinstance(targets, np.ndarray) and targets.dtype == np.uint32 and targets.ndim == 1:
            ids = targets  # checked by `grow_to`
        else:
            ids = page_ids("targets", targets, csr.MAX_PAGES - 1)
        self._source[0], self._row[1] = page, len(ids)
        self._append(self._source, self._row, ids, page)

    def add_batch(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> None:
        """Add several fetched pages: `targets[offsets[k]:offsets[k+1]]` are the links of `pages[k]`."""
        sources = page_ids("pages", pages, csr.MAX_PAGES - 1)
        ids = page_ids("targets", targets, csr.MAX_PAGES - 1)
        rows = np.asarray(offsets, np.int64)
        if len(rows) != len(sources) + 1 or rows[0] != 0 or rows[-1] != len(ids) or (np.diff(rows) < 0).any():
            raise InputError("offsets: expected one more than pages, from 0 up to the number of targets")
        if len(sources):
            self._append(sources, rows, ids, int(sources.max()))

    def _append(self, sources: NDArray[Any], rows: NDArray[np.int64], ids: NDArray[Any], highest: int) -> None:
        self._rows = grown(self._rows, highest + 1)
        self._targets = grown(self._targets, int(self._counts[_USED]) + len(ids))
        self._offsets = grown(self._offsets, int(self._counts[_ROWS]) + len(sources) + 1)
        linked = _append_rows(sources, rows, ids, self._rows, self._offsets, self._targets, self._counts)
        self.link_rows = None
        self.grow_to(max(highest, linked) + 1)

    def links(self, page: int) -> NDArray[np.uint32]:
        """Return the links of `page` in increasing order; empty if it was not fetched."""
        row = int(self._rows[page])
        return self._targets[self._offsets[row] : self._offsets[row + 1]]

    def batch(self, pages: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the links of these pages as one CSR batch: (offsets, targets)."""
        rows = self._rows[page_ids("pages", pages, self.n_pages)].astype(np.int64)
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(self._offsets[rows + 1] - self._offsets[rows], out=offsets[1:])
        return offsets, _gathered(rows, self._offsets, self._targets, offsets)

    def freeze(self, hosts: ArrayLike | None = None, urls: Iterable[str] | None = None) -> LinkGraph:
        """Return a LinkGraph of the current pages and links."""
        offsets, targets = self.batch(np.arange(self.n_pages))
        host_ids = None if hosts is None else np.asarray(hosts)
        return LinkGraph(offsets, targets, host_ids, None if urls is None else UrlTable.of(urls))

    def __repr__(self) -> str:
        return (
            f"<GrowingGraph: {self.n_pages:,} pages known, {int(self.fetched.sum()):,} fetched, {self.n_links:,} links>"
        )


@allocating_kernel
def _append_rows(
    pages: Any, given: Any, links: Any, rows: Any, offsets: Any, targets: Any, counts: Any
) -> Any:  # fmt: skip
    """Append each page's links as a proper row and return the highest page linked to, or -1."""
    used, highest = counts[_USED], np.int64(-1)
    for k in range(len(pages)):
        page = pages[k]
        row = np.sort(links[given[k] : given[k + 1]])
        if len(row):
            highest = max(highest, np.int64(row[-1]))
        start = used
        for target in row:
            if target != page and (used == start or targets[used - 1] != target):
                targets[used] = target
                used += 1
        old = np.int64(rows[page])
        counts[_LINKS] += used - start - (offsets[old + 1] - offsets[old])
        rows[page] = counts[_ROWS]
        counts[_ROWS] += 1
        offsets[counts[_ROWS]] = used
    counts[_USED] = used
    return highest


@allocating_kernel
def _gathered(rows: Any, offsets: Any, targets: Any, out_offsets: Any) -> Any:
    out = np.empty(out_offsets[-1], np.uint32)
    for k in range(len(rows)):
        out[out_offsets[k] : out_offsets[k + 1]] = targets[offsets[rows[k]] : offsets[rows[k] + 1]]
    return out


class Sources(NamedTuple):
    """For each of some pages: the number of pages that link to it, and the one that passes on the most, or -1."""

    counts: NDArray[np.int64]
    strongest: NDArray[np.int64]


def sources_of(web: GrowingGraph, pages: ArrayLike, rank: NDArray[np.float64]) -> Sources:
    """Find the pages that link to these distinct pages. A page with c links passes on 1/c of its rank. Reads all links.

    Ties go to the lowest page id.
    """
    ids = np.asarray(pages, np.int64)
    place = np.zeros(web.n_pages, np.int32)  # 1 + index into `ids`, 0 for other pages
    place[ids] = np.arange(1, len(ids) + 1)
    counts, strongest = np.zeros(len(ids), np.int64), np.full(len(ids), -1, np.int64)
    _find(web.starts, web.ends, web.targets, rank, place, counts, strongest, np.full(len(ids), -1.0))
    return Sources(counts, strongest)


@allocating_kernel
def _find(
    starts: Any, ends: Any, targets: Any, rank: Any, place: Any, counts: Any, strongest: Any, most: Any
) -> None:  # fmt: skip
    for source in range(len(starts)):
        n_links = ends[source] - starts[source]
        for k in range(starts[source], ends[source]):
            at = place[targets[k]] - 1
            if at >= 0:
                counts[at] += 1
                share = rank[source] / n_links
                if share > most[at]:
                    most[at] = share
                    strongest[at] = source
