"""What ranking needs of pages besides their words, as arrays in `columns.npz` of an index.

Ranks change with every page that is fetched, for all pages; so they stand beside the text index, and are replaced as a
whole when it is brought up to date.

    local     PageRank over the links between the pages of the crawl: what they are worth inside, summing to 1
    outside   the estimated rank in the whole web, if `orienteer estimate` has run; 0 for a page it does not know
    group     pages that repeat one another, exactly or nearly, have the same group: a result shows one of them
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import CrawlFolderError, InputError
from orienteer.files.plain import replaced_inside
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.reversal import reversed_graph
from orienteer.inspect.local_web import local_web
from orienteer.store.database import Database
from orienteer.store.failures import explained
from orienteer.store.page_texts import MAKE_ANEW

FILE = "columns.npz"


class Figures(NamedTuple):
    """For some pages, in the order asked for; unknown ranks are 0, an unknown relevance is not a number."""

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    relevance: NDArray[np.float64]
    group: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> Figures:
        """Those at some places."""
        return Figures(self.local[places], self.outside[places], self.relevance[places], self.group[places])


class LinkColumns(NamedTuple):
    """The links between the pages of the crawl, both ways round, as compressed rows over their places in `pages`."""

    pages: NDArray[np.int64]
    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    source_offsets: NDArray[np.int64]
    sources: NDArray[np.uint32]


class PageColumns:
    """The arrays of an index; those of the links are read when they are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise CrawlFolderError(f"{path.parent}: the search index was not finished; run `orienteer index` again")
        arrays = self._arrays()
        try:
            self.pages = arrays["pages"]
            self._columns = Figures(*(arrays[name] for name in Figures._fields))
            self.has_outside = bool(arrays["has_outside"])
            self.position = int(arrays["position"])
            self.n_by_way = dict(zip(map(str, arrays["ways"]), map(int, arrays["n_by_way"]), strict=True))
            self._largest = {name: float(getattr(self._columns, name).max(initial=0)) for name in ("local", "outside")}
            _expect_columns(self.pages, self._columns)
        except (KeyError, ValueError, TypeError) as error:
            raise _damaged(path, error) from None

    def __len__(self) -> int:
        return len(self.pages)

    def __contains__(self, page: int) -> bool:
        place = int(np.searchsorted(self.pages, page))
        return place < len(self.pages) and int(self.pages[place]) == page

    def of(self, pages: ArrayLike) -> Figures:
        """The figures of some pages; a page that came later has none yet."""
        wanted = np.asarray(pages, np.int64)
        if not len(self.pages):
            none = np.zeros(len(wanted))
            return Figures(none, none, np.full(len(wanted), np.nan), wanted)
        places = np.minimum(np.searchsorted(self.pages, wanted), len(self.pages) - 1)
        is_known = self.pages[places] == wanted
        local, outside, relevance, group = figures = self._columns.at(places)
        if is_known.all():
            return figures
        return Figures(
            np.where(is_known, local, 0.0),
            np.where(is_known, outside, 0.0),
            np.where(is_known, relevance, np.nan),
            np.where(is_known, group, wanted),
        )

    def largest(self, column: str) -> float:
        """The largest local or outside rank."""
        return self._largest[column]

    @cached_property
    def links(self) -> LinkColumns:
        arrays = self._arrays()
        try:
            links = LinkColumns(arrays["link_pages"], *(arrays[name] for name in LinkColumns._fields[1:]))
            _expect_rows(len(links.pages), links.offsets, links.targets)
            _expect_rows(len(links.pages), links.source_offsets, links.sources)
            return links
        except (KeyError, ValueError, TypeError) as error:
            raise _damaged(self.path, error) from None

    def _arrays(self) -> dict[str, NDArray[Any]]:
        try:
            with explained(self.path), self.path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                is_link = {"link_pages", *LinkColumns._fields[1:]}.__contains__
                wanted = [name for name in arrays.files if is_link(name) == hasattr(self, "pages")]
                return {name: arrays[name] for name in wanted}
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise _damaged(self.path, error) from None


def write_columns(
    folder: Path,
    database: Database,
    pages: NDArray[np.int64],
    relevance: NDArray[np.float64],
    repeats: NDArray[np.int64],
    estimated: dict[str, NDArray[Any]] | None,
    n_by_way: Mapping[str, int],
) -> None:
    """Compute the columns of these pages, which are in increasing order, and put them in the place of the old ones.

    `repeats` are the pages they repeat, themselves where they repeat none. `estimated` is what ranks.npz holds;
    `n_by_way` are the pages that are read in each way.
    """
    arrays: dict[str, Any] = {
        "pages": pages,
        "relevance": relevance,
        "group": _groups(pages, repeats),
        "position": np.array(database.next_position()),
        "has_outside": np.array(estimated is not None),
        "ways": np.array(sorted(n_by_way)),
        "n_by_way": np.array([n_by_way[way] for way in sorted(n_by_way)]),
        **_ranks(database, pages, estimated),
    }
    with explained(folder / FILE), replaced_inside(folder / FILE) as new:
        np.savez(new, **arrays)


class CrawlRanks(NamedTuple):
    """What each URL of a crawl is worth, 0 where that is unknown, and the links that the local rank follows from.

    `graph` is that of the local pages, the fetched ones without redirects; `pages` are their ids in the crawl.
    """

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    graph: LinkGraph
    pages: NDArray[np.int64]


def _ranks(
    database: Database, pages: NDArray[np.int64], estimated: dict[str, NDArray[Any]] | None
) -> dict[str, NDArray[Any]]:
    """The ranks of these pages, and the links that they follow from."""
    ranks = crawl_ranks(database, estimated)
    return {"local": ranks.local[pages], "outside": ranks.outside[pages]} | _link_arrays(ranks.graph, ranks.pages)


def crawl_ranks(database: Database, estimated: dict[str, NDArray[Any]] | None) -> CrawlRanks:
    """Ranks by page. A name of a page is worth what the page is. `estimated` is what ranks.npz holds."""
    n_urls = database.n_urls()
    inside, outside = np.zeros((2, n_urls))
    try:
        web = local_web(database)
    except InputError:  # nothing was fetched
        return CrawlRanks(inside, outside, LinkGraph.from_links(0, [], []), np.zeros(0, np.int64))
    sources = np.repeat(np.arange(web.n_local), np.diff(web.offsets))
    is_inside = web.links < web.n_local
    graph = LinkGraph.from_links(web.n_local, sources[is_inside], web.links[is_inside])
    local = web.pages[: web.n_local]
    named = local[web.named]
    inside[local] = pagerank(graph)
    inside[web.others] = inside[named]
    if estimated is not None:
        known = estimated["pages"].astype(np.int64)
        is_page = (known >= 0) & (known < n_urls)
        outside[known[is_page]] = estimated["global"][is_page]
        outside[web.others] = outside[named]
    return CrawlRanks(inside, outside, graph, local)


def _link_arrays(graph: LinkGraph, pages: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    back = reversed_graph(graph)
    return {
        "link_pages": pages,
        "offsets": graph.offsets,
        "targets": graph.targets,
        "source_offsets": back.offsets,
        "sources": back.targets,
    }


def _groups(pages: NDArray[np.int64], repeats: NDArray[np.int64]) -> NDArray[np.int64]:
    """The page at the end of each chain of repetitions: the first one that was seen."""
    n = int(max(pages.max(initial=-1), repeats.max(initial=-1))) + 1
    first = np.arange(n)
    first[pages] = repeats
    for _ in range(n.bit_length()):
        first = first[first]
    return np.asarray(np.minimum(first[pages], pages))


def _expect_columns(pages: NDArray[Any], columns: Figures) -> None:
    """ValueError where the columns are not those of these pages; the file may be anybody's."""
    if any(column.shape != pages.shape or column.dtype.kind not in "fiu" for column in (pages, *columns)):
        raise ValueError("the columns are not of the same pages")
    if pages.ndim != 1 or pages.dtype.kind != "i" or (pages[1:] <= pages[:-1]).any():
        raise ValueError("the pages are not in order")


def _expect_rows(n_pages: int, offsets: NDArray[Any], targets: NDArray[Any]) -> None:
    """ValueError where these are not the links between so many pages."""
    if offsets.shape != (n_pages + 1,) or offsets.dtype.kind not in "iu" or targets.dtype.kind not in "iu":
        raise ValueError("the links are not of these pages")
    if offsets[0] != 0 or offsets[-1] != len(targets) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the links of pages overlap")
    if targets.ndim != 1 or not 0 <= targets.min(initial=0) <= targets.max(initial=0) < max(n_pages, 1):
        raise ValueError("a link leads to no page")


def _damaged(path: Path, error: Exception) -> CrawlFolderError:
    return CrawlFolderError(f"{path}: the search index is damaged ({error}); {MAKE_ANEW}")
