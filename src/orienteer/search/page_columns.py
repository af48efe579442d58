"""The ranking columns of pages, as arrays in `columns.npz` of an index.

A single fetched page changes the ranks of all pages, so ranks are stored outside the text index, and replaced as a
whole with each update.

    local     PageRank over the links between the pages of the crawl, summing to 1
    outside   the estimated rank in the whole web, if `orienteer estimate` has run; 0 for unknown pages
    group     pages that are duplicates or near duplicates have the same group: results list one of them
    times     the times of the first, the median and the last fetch
    named     how many pages of its group name a page as canonical: the most named one is listed
"""

from __future__ import annotations

import os
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import CrawlFolderError, InputError
from orienteer.files.plain import replaced_inside
from orienteer.graph.link_graph import LinkGraph, reversed_graph
from orienteer.graph.pagerank import pagerank
from orienteer.inspect.snapshot import local_web
from orienteer.store.database import Database
from orienteer.store.failures import map_disk_errors
from orienteer.store.page_texts import REBUILD_HINT

FILE = "columns.npz"


class ArrayFile:
    """An NPZ file that stays readable after its path is removed or replaced; closed when it is collected."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with map_disk_errors(path):
            self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, is_wanted: Callable[[str], bool] = lambda _: True) -> dict[str, NDArray[Any]]:
        """Return the arrays whose names are wanted."""
        try:
            with map_disk_errors(self._path), self._lock, open(self._descriptor, "rb", closefd=False) as file:
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    return {name: arrays[name] for name in arrays.files if is_wanted(name)}
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged_index(self._path, error) from None


def damaged_index(path: Path, error: Exception) -> CrawlFolderError:
    return CrawlFolderError(f"{path}: the search index is damaged ({error}); {REBUILD_HINT}")


class PageFigures(NamedTuple):
    """The columns of some pages, in the requested order; unknown ranks are 0, an unknown relevance is NaN."""

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    relevance: NDArray[np.float64]
    group: NDArray[np.int64]
    named: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> PageFigures:
        """Return the rows at these indices."""
        local, outside, relevance, group, named = self
        return PageFigures(local[places], outside[places], relevance[places], group[places], named[places])


class LinkColumns(NamedTuple):
    """The links between the pages of the crawl in both directions, as CSR arrays over indices into `pages`."""

    pages: NDArray[np.int64]
    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    source_offsets: NDArray[np.int64]
    sources: NDArray[np.uint32]


class PageColumns:
    """The arrays of an index; those of the links are loaded on first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise CrawlFolderError(f"{path.parent}: the search index was not finished; run `orienteer index` again")
        self._file = ArrayFile(path)
        arrays = self._arrays()
        try:
            self.pages = arrays["pages"]
            self._columns = PageFigures(*(arrays[name] for name in PageFigures._fields))
            first, middle, last = map(float, arrays["times"])
            self.times = (first, middle, last)
            self.has_outside = bool(arrays["has_outside"])
            self.position = int(arrays["position"])
            self.n_by_stemmer = dict(zip(map(str, arrays["ways"]), map(int, arrays["n_by_way"]), strict=True))
            self._largest = {name: float(getattr(self._columns, name).max(initial=0)) for name in ("local", "outside")}
            _check_columns(self.pages, self._columns)
        except (KeyError, ValueError, TypeError) as error:
            raise damaged_index(path, error) from None

    def __len__(self) -> int:
        return len(self.pages)

    def __contains__(self, page: int) -> bool:
        place = int(np.searchsorted(self.pages, page))
        return place < len(self.pages) and int(self.pages[place]) == page

    def of(self, pages: ArrayLike) -> PageFigures:
        """Return the columns of these pages; unknown values for pages that were fetched after indexing."""
        ids = np.asarray(pages, np.int64)
        if not len(self.pages):
            none = np.zeros(len(ids))
            return PageFigures(none, none, np.full(len(ids), np.nan), ids, np.zeros(len(ids), np.int64))
        places = np.minimum(np.searchsorted(self.pages, ids), len(self.pages) - 1)
        is_known = self.pages[places] == ids
        local, outside, relevance, group, named = figures = self._columns.at(places)
        if is_known.all():
            return figures
        return PageFigures(
            np.where(is_known, local, 0.0),
            np.where(is_known, outside, 0.0),
            np.where(is_known, relevance, np.nan),
            np.where(is_known, group, ids),
            np.where(is_known, named, 0),
        )

    def largest(self, column: str) -> float:
        """Return the largest rank in the column `local` or `outside`."""
        return self._largest[column]

    @cached_property
    def links(self) -> LinkColumns:
        arrays = self._arrays()
        try:
            links = LinkColumns(arrays["link_pages"], *(arrays[name] for name in LinkColumns._fields[1:]))
            _check_rows(len(links.pages), links.offsets, links.targets)
            _check_rows(len(links.pages), links.source_offsets, links.sources)
            return links
        except (KeyError, ValueError, TypeError) as error:
            raise damaged_index(self.path, error) from None

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Load the arrays of the pages on the first call, those of the links later."""
        is_link = {"link_pages", *LinkColumns._fields[1:]}.__contains__
        return self._file.read(lambda name: is_link(name) == hasattr(self, "pages"))


def _check_columns(pages: NDArray[Any], columns: PageFigures) -> None:
    """Raise ValueError for inconsistent columns; the file may be untrusted."""
    if any(column.shape != pages.shape or column.dtype.kind not in "fiu" for column in (pages, *columns)):
        raise ValueError("the columns are not of the same pages")
    if pages.ndim != 1 or pages.dtype.kind != "i" or (pages[1:] <= pages[:-1]).any():
        raise ValueError("the pages are not in order")


def _check_rows(n_pages: int, offsets: NDArray[Any], targets: NDArray[Any]) -> None:
    """Raise ValueError unless these are links between `n_pages` pages."""
    if offsets.shape != (n_pages + 1,) or offsets.dtype.kind not in "iu" or targets.dtype.kind not in "iu":
        raise ValueError("the links are not of these pages")
    if offsets[0] != 0 or offsets[-1] != len(targets) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the links of pages overlap")
    if targets.ndim != 1 or not 0 <= targets.min(initial=0) <= targets.max(initial=0) < max(n_pages, 1):
        raise ValueError("a link leads to no page")


def write_columns(
    folder: Path,
    database: Database,
    pages: NDArray[np.int64],
    relevance: NDArray[np.float64],
    repeats: NDArray[np.int64],
    times: NDArray[np.float64],
    ranks: CrawlRanks,
    n_by_stemmer: Mapping[str, int],
) -> None:
    """Compute the columns of `pages`, which must be in increasing order, and replace the old file.

    `repeats` has the page that each page duplicates, or its own id; `times` are fetch times. `n_by_stemmer` counts the
    pages by stemmer.
    """
    groups = repetition_groups(pages, repeats)
    arrays: dict[str, Any] = {
        "pages": pages,
        "relevance": relevance,
        "group": groups,
        "named": _named(database, pages, groups),
        "times": np.quantile(times, (0, 0.5, 1), method="lower") if len(times) else np.zeros(3),
        "position": np.array(database.history.next_position()),
        "has_outside": np.array(ranks.has_outside),
        "ways": np.array(sorted(n_by_stemmer)),
        "n_by_way": np.array([n_by_stemmer[stemmer] for stemmer in sorted(n_by_stemmer)]),
        "local": ranks.local[pages],
        "outside": ranks.outside[pages],
        **_link_arrays(ranks.graph, ranks.pages),
    }
    with map_disk_errors(folder / FILE), replaced_inside(folder / FILE) as new:
        np.savez(new, **arrays)


class CrawlRanks(NamedTuple):
    """The ranks of all URLs of a crawl, 0 where unknown, and the link graph of the local rank.

    `graph` has the local pages, that is, the fetched ones without redirects; `pages` are their ids in the crawl.
    """

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    graph: LinkGraph
    pages: NDArray[np.int64]
    has_outside: bool


def crawl_ranks(database: Database, estimated: dict[str, NDArray[Any]] | None) -> CrawlRanks:
    """Compute ranks by page. A redirect has the rank of its target. `estimated` is the content of ranks.npz."""
    n_urls = database.urls.count()
    inside, outside = np.zeros((2, n_urls))
    try:
        web = local_web(database)
    except InputError:  # nothing was fetched
        return CrawlRanks(
            inside, outside, LinkGraph.from_links(0, [], []), np.zeros(0, np.int64), estimated is not None
        )
    sources = np.repeat(np.arange(web.n_local), np.diff(web.offsets))
    is_inside = web.links < web.n_local
    graph = LinkGraph.from_links(web.n_local, sources[is_inside], web.links[is_inside])
    local = web.pages[: web.n_local]
    named = local[web.named]
    inside[local] = pagerank(graph)
    inside[web.others] = inside[named]
    if estimated is not None:
        known = estimated["pages"].astype(np.int64)
        outside[known[known < n_urls]] = estimated["global"][known < n_urls]
        outside[web.others] = outside[named]
    return CrawlRanks(inside, outside, graph, local, estimated is not None)


def _link_arrays(graph: LinkGraph, pages: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    back = reversed_graph(graph)
    return {
        "link_pages": pages,
        "offsets": graph.offsets,
        "targets": graph.targets,
        "source_offsets": back.offsets,
        "sources": back.targets,
    }


def _named(database: Database, pages: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the duplicates that name each page as canonical; pages of other groups do not count."""
    named = np.zeros(len(pages), np.int64)
    pairs = np.array(list(database.details.canonicals()), np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, pages).all(axis=1)]
    by, target = np.searchsorted(pages, pairs).T
    np.add.at(named, target[groups[by] == groups[target]], 1)
    return named


def repetition_groups(pages: NDArray[np.int64], repeats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the page at the end of each chain of duplicates, which is the one that was seen first."""
    n = int(max(pages.max(initial=-1), repeats.max(initial=-1))) + 1
    first = np.arange(n)
    first[pages] = repeats
    for _ in range(n.bit_length()):
        first = first[first]
    return np.asarray(np.minimum(first[pages], pages))
