"""What ranking needs of pages besides their words, as arrays in `columns.npz` of an index.

Ranks change with every page that is fetched, for all pages; so they stand beside the text index, and are replaced as a
whole when it is brought up to date.

    local     PageRank over the links between the pages of the crawl: what they are worth inside, summing to 1
    outside   the estimated rank in the whole web, if `orienteer estimate` has run; 0 for a page it does not know
    group     pages that repeat one another, exactly or nearly, have the same group: a result shows one of them
    times     when the pages were fetched: the first, the one in the middle, the last
    named     how many pages of its group name a page as the canonical one: that one is shown
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import CrawlFolderError
from orienteer.search.array_file import ArrayFile, damaged_index

FILE = "columns.npz"


class Figures(NamedTuple):
    """For some pages, in the order asked for; unknown ranks are 0, an unknown relevance is not a number."""

    local: NDArray[np.float64]
    outside: NDArray[np.float64]
    relevance: NDArray[np.float64]
    group: NDArray[np.int64]
    named: NDArray[np.int64]

    def at(self, places: NDArray[np.int64]) -> Figures:
        """Those at some places."""
        local, outside, relevance, group, named = self
        return Figures(local[places], outside[places], relevance[places], group[places], named[places])


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
        self._file = ArrayFile(path)
        arrays = self._arrays()
        try:
            self.pages = arrays["pages"]
            self._columns = Figures(*(arrays[name] for name in Figures._fields))
            first, middle, last = map(float, arrays["times"])
            self.times = (first, middle, last)
            self.has_outside = bool(arrays["has_outside"])
            self.position = int(arrays["position"])
            self.n_by_way = dict(zip(map(str, arrays["ways"]), map(int, arrays["n_by_way"]), strict=True))
            self._largest = {name: float(getattr(self._columns, name).max(initial=0)) for name in ("local", "outside")}
            _expect_columns(self.pages, self._columns)
        except (KeyError, ValueError, TypeError) as error:
            raise damaged_index(path, error) from None

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
            return Figures(none, none, np.full(len(wanted), np.nan), wanted, np.zeros(len(wanted), np.int64))
        places = np.minimum(np.searchsorted(self.pages, wanted), len(self.pages) - 1)
        is_known = self.pages[places] == wanted
        local, outside, relevance, group, named = figures = self._columns.at(places)
        if is_known.all():
            return figures
        return Figures(
            np.where(is_known, local, 0.0),
            np.where(is_known, outside, 0.0),
            np.where(is_known, relevance, np.nan),
            np.where(is_known, group, wanted),
            np.where(is_known, named, 0),
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
            raise damaged_index(self.path, error) from None

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Those of the pages at first, and those of the links from then on."""
        is_link = {"link_pages", *LinkColumns._fields[1:]}.__contains__
        return self._file.read(lambda name: is_link(name) == hasattr(self, "pages"))


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
