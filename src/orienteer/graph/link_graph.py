"""The frozen link graph of a web, in two arrays.

Pages are dense ints. Links are distinct, directed, and never from a page to itself (a self-link only inflates its
page). The arrays may be memory-mapped: a graph of 100 million pages and 2 billion links is 9 GB on disk and needs
almost no memory until it is read.

Invariant: the rows are proper (see csr.py). The constructor checks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import GraphFileError, InputError, MissingExtraError
from orienteer.graph import csr
from orienteer.graph.url_table import UrlTable
from orienteer.notebook import data_frame, facts_html
from orienteer.progress import Progress, silent

if TYPE_CHECKING:
    import networkx
    import pandas
    import scipy.sparse

BLOCK_LINKS = 1 << 28  # one block of sources is 1 GiB
FROM_LINKS = 20_000_000  # reversing a smaller graph is as fast as opening the cached file


class LinkGraph:
    """A frozen directed graph of pages.

    >>> web = LinkGraph.from_links(3, [0, 0, 1, 1], [1, 2, 1, 2])
    >>> web.n_pages, web.n_links, web.links(0).tolist(), web.links(1).tolist()
    (3, 3, [1, 2], [2])
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        targets: NDArray[np.uint32],
        hosts: NDArray[np.int32] | None = None,
        urls: UrlTable | None = None,
        *,
        home: Path | None = None,
        resource: object = None,
    ) -> None:
        """Wrap arrays that are proper rows already; `from_links` takes anything else.

        `home` is the graph folder they are mapped from, if any. `resource` lives as long as the graph: for example the
        temporary folder that holds its arrays.
        """
        if len(offsets) == 0:
            raise GraphFileError("the graph is corrupt: no offsets (an empty graph has one)")
        self.offsets = offsets
        self.targets = targets
        self.hosts = _checked_hosts(hosts, self.n_pages)
        self.urls = _checked_urls(urls, self.n_pages)
        self.home = home
        self._resource = resource
        self._reverse: LinkGraph | None = None
        if int(offsets[-1]) != len(targets):
            raise GraphFileError(f"the graph is corrupt: {int(offsets[-1]):,} links expected, {len(targets):,} found")
        fault, page = csr.first_fault(offsets, targets, len(targets))
        if fault:
            raise GraphFileError(f"the graph is corrupt: {csr.FAULTS[fault]} (page {page})")

    @classmethod
    def from_links(
        cls,
        n_pages: int,
        sources: ArrayLike,
        targets: ArrayLike,
        hosts: ArrayLike | None = None,
        urls: Iterable[str] | None = None,
    ) -> LinkGraph:
        """Return the graph of `n_pages` pages with these links in any order; self-links and repeats are dropped."""
        if not 0 <= n_pages < csr.MAX_PAGES:
            raise InputError(f"n_pages is {n_pages}; it must be from 0 to {csr.MAX_PAGES - 1:,}")
        source_ids = page_ids("sources", sources, n_pages)
        target_ids = page_ids("targets", targets, n_pages)
        if len(source_ids) != len(target_ids):
            raise InputError(f"{len(source_ids):,} sources but {len(target_ids):,} targets: a link has one of each")
        offsets, rows = csr.proper_rows(n_pages, source_ids, target_ids)
        host_ids = None if hosts is None else np.asarray(hosts)
        return cls(offsets, rows, host_ids, None if urls is None else UrlTable.of(urls))

    @classmethod
    def load(cls, path: str | PathLike[str], format: str | None = None, *, progress: Progress = silent) -> LinkGraph:
        """Read a graph file or folder, or the graph of a crawl folder.

        The format follows from the name unless it is given (see graph/formats).
        """
        from orienteer.graph import formats

        return formats.load(path, format, progress=progress)

    def save(
        self, path: str | PathLike[str], format: str | None = None, *, progress: Progress = silent, **options: Any
    ) -> None:
        """Write the graph; a name without a known ending is a graph folder, which `load` memory-maps."""
        from orienteer.graph import formats

        formats.save(self, path, format, progress=progress, **options)

    @property
    def n_pages(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_links(self) -> int:
        return len(self.targets)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each page's links begin in `targets`; the same interface as GrowingGraph."""
        return self.offsets[:-1]

    @property
    def ends(self) -> NDArray[np.int64]:
        return self.offsets[1:]

    def only_links_of(self, pages: NDArray[np.bool_]) -> LinkGraph:
        """Return the same pages with only the links of these (a mask): the graph known after fetching them."""
        degrees = self.out_degrees()
        offsets = np.concatenate(([0], np.cumsum(np.where(pages, degrees, 0))))
        return LinkGraph(offsets, self.targets[np.repeat(pages, degrees)])

    def links(self, page: int) -> NDArray[np.uint32]:
        """Return the pages that `page` links to, in increasing order."""
        return self.targets[self.offsets[page] : self.offsets[page + 1]]

    def out_degrees(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def in_degrees(self) -> NDArray[np.int64]:
        degrees: NDArray[np.int64] = csr.in_degrees(self.n_pages, self.targets)
        return degrees

    def sources(self) -> NDArray[np.uint32]:
        """Return the source of every link, in the order of `targets`."""
        sources: NDArray[np.uint32] = csr.row_ids(self.offsets)
        return sources

    def reverse(self) -> LinkGraph:
        """Return the graph with every link reversed. Computed once and, if large, stored in the graph's folder."""
        if self._reverse is None:
            self._reverse = reversed_graph(self)
            self._reverse._reverse = self
        return self._reverse

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the adjacency matrix: row = source, column = target, value 1.0. It needs SciPy."""
        try:
            import scipy.sparse
        except ImportError:
            raise MissingExtraError("a sparse matrix", "SciPy", "topics") from None

        index = np.int32 if max(self.n_pages, self.n_links) < 2**31 else np.int64
        arrays = (np.ones(self.n_links), self.targets.astype(index), self.offsets.astype(index))
        return scipy.sparse.csr_array(arrays, shape=(self.n_pages, self.n_pages))

    @classmethod
    def from_scipy(cls, matrix: Any, hosts: ArrayLike | None = None, urls: Iterable[str] | None = None) -> LinkGraph:
        """Return the graph of a square sparse matrix: a link for every stored entry that is not zero."""
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"an adjacency matrix is square; this one is {matrix.shape[0]} x {matrix.shape[1]}")
        entries = matrix.tocoo()
        nonzero = entries.data != 0
        return cls.from_links(matrix.shape[0], entries.row[nonzero], entries.col[nonzero], hosts, urls)

    def to_networkx(self) -> networkx.DiGraph[int]:
        """Return a networkx.DiGraph with page ids as nodes, and the attributes `url` and `host` where known."""
        from orienteer.graph.formats import networkx as bridge

        return bridge.to_networkx(self)

    @classmethod
    def from_networkx(cls, graph: Any) -> LinkGraph:
        """Return the LinkGraph of a networkx graph; pages are numbered in node order, names become URLs."""
        from orienteer.graph.formats import networkx as bridge

        return bridge.from_networkx(graph)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table of the pages: `url` and `host` where known, `out_links` and `in_links`, indexed by page id."""
        known = {"url": None if self.urls is None else list(self.urls), "host": self.hosts}
        columns = {name: values for name, values in known.items() if values is not None}
        return data_frame(columns | {"out_links": self.out_degrees(), "in_links": self.in_degrees()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinkGraph):
            return NotImplemented
        if self.hosts is None or other.hosts is None:
            same_hosts = self.hosts is other.hosts
        else:
            same_hosts = np.array_equal(self.hosts, other.hosts)
        return (
            same_hosts
            and self.urls == other.urls
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.targets, other.targets)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        known = [name for name, value in (("hosts", self.hosts), ("urls", self.urls)) if value is not None]
        extra = f", with {' and '.join(known)}" if known else ""
        return f"<LinkGraph: {self.n_pages:,} pages, {self.n_links:,} links{extra}>"

    def _repr_html_(self) -> str:
        n_hosts = "" if self.hosts is None else int(self.hosts.max(initial=-1)) + 1
        first = "" if self.urls is None or not self.n_pages else self.urls[0]
        facts = [("pages", self.n_pages), ("links", self.n_links), ("hosts", n_hosts), ("first page", first)]
        return facts_html("LinkGraph", facts)


def expect_graph(graph: Any) -> None:
    """Raise an InputError if `graph` is not a graph, for example the name of a file."""
    if not hasattr(graph, "out_degrees"):
        hint = "; LinkGraph.load reads one from a file" if isinstance(graph, str | PathLike) else ""
        raise InputError(f"a graph is needed, not {graph!r:.60}{hint}")


def page_ids(name: str, values: ArrayLike, n_pages: int) -> NDArray[np.uint32]:
    """Return `values` as page ids of a graph of `n_pages` pages; an InputError names the first invalid one."""
    array = np.asarray(values)
    if array.dtype == np.uint32 and array.ndim == 1 and array.size and array.max() < n_pages:
        return array
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.ndim != 1:
        raise InputError(f"{name}: expected one row of page ids, got an array of {array.ndim} dimensions")
    if array.dtype.kind in "US":
        raise InputError(
            f"{name}: pages are named by their numbers in the graph, 0 to {n_pages - 1}, not {str(array[0])!r}"
        )
    if array.dtype.kind not in "iu":
        raise InputError(f"{name}: page ids are whole numbers, got {array.dtype}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n_pages:
        bad = low if low < 0 else high
        raise InputError(f"{name}: page {bad} is not in the graph (pages are 0 to {n_pages - 1})")
    return array.astype(np.uint32, copy=False)


def _checked_hosts(hosts: NDArray[Any] | None, n_pages: int) -> NDArray[np.int32] | None:
    if hosts is None:
        return None
    if hosts.shape != (n_pages,):
        raise InputError(f"hosts: {hosts.size:,} host ids for {n_pages:,} pages")
    if hosts.dtype.kind not in "iu" or (hosts.size and not 0 <= int(hosts.min()) <= int(hosts.max()) < 2**31):
        raise InputError("hosts: a host id is a whole number from 0 to 2,147,483,647")
    return hosts.astype(np.int32, copy=False)


def _checked_urls(urls: UrlTable | None, n_pages: int) -> UrlTable | None:
    if urls is not None and len(urls) != n_pages:
        raise InputError(f"urls: {len(urls):,} URLs for {n_pages:,} pages")
    return urls


def reversed_graph(graph: LinkGraph) -> LinkGraph:
    """Return the graph with every link reversed, with the same hosts and URLs.

    It is made in bounded memory, and cached on disk for large graphs in a graph folder. The sources are scattered one
    range of targets at a time, so that random writes stay within one block of memory regardless of the size of the
    graph. Each link is read once.
    """
    from orienteer.graph.formats import folder

    if graph.home is None or graph.n_links < FROM_LINKS:
        return _reversed(graph, np.empty(graph.n_links, np.uint32))
    return folder.read_reverse(graph) or folder.store_reverse(graph, lambda sources: _reversed(graph, sources))


def _reversed(graph: LinkGraph, sources: NDArray[np.uint32]) -> LinkGraph:
    """Return the reverse, with its links stored in `sources`."""
    offsets = np.zeros(graph.n_pages + 1, np.int64)
    np.cumsum(graph.in_degrees(), out=offsets[1:])
    fill_sources(graph, offsets, sources)
    return LinkGraph(offsets, sources, graph.hosts, graph.urls)


def fill_sources(
    graph: LinkGraph, offsets: NDArray[np.int64], out: NDArray[np.uint32], block_links: int = BLOCK_LINKS
) -> None:
    """Write the source of every link to `out`, grouped by target according to `offsets`."""
    position = graph.offsets[:-1].copy()
    cursor = offsets[:-1].copy()
    first = 0
    while first < graph.n_pages:
        last = int(np.searchsorted(offsets, offsets[first] + block_links, side="right")) - 1
        last = min(max(last, first + 1), graph.n_pages)
        base = int(offsets[first])
        csr.scatter_sources(graph.offsets, graph.targets, position, last, cursor, base, out[base : offsets[last]])
        first = last
