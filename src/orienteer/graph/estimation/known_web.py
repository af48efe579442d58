"""The web as far as it has been crawled, growing around a local domain.

In the paper's words this is F: first the local pages alone, then with every page that was fetched around them. Pages
keep the ids they have in the GrowingGraph; `surroundings` puts the crawled pages into rows without gaps, so that all
work on them is linear in the crawled pages and their links, however many pages have ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import page_ids
from orienteer.kernel import allocating_kernel

# What a page is. An uncrawled one may be fetched, was handed out to be fetched, can never be fetched, or is none: links
# to it do not count.
OPEN, ASKED, BLOCKED, NO_PAGE, CRAWLED = range(5)


@dataclass(frozen=True)
class Surroundings:
    """The crawled pages, local ones first, then in the order they were fetched; and the frontier they link to.

    `inside` holds the links between crawled pages as places in `pages`, `outward` those to uncrawled pages as places in
    `frontier`, which is in increasing order of page ids. `open` says which pages of the frontier may be fetched.
    """

    n_local: int
    pages: NDArray[np.uint32]
    frontier: NDArray[np.uint32]
    open: NDArray[np.bool_]
    inside_offsets: NDArray[np.int64]
    inside: NDArray[np.uint32]
    outward_offsets: NDArray[np.int64]
    outward: NDArray[np.uint32]

    @property
    def n_crawled(self) -> int:
        return len(self.pages)

    @property
    def n_links(self) -> int:
        return len(self.inside) + len(self.outward)

    def inside_degrees(self) -> NDArray[np.int64]:
        """Links of each crawled page to crawled pages."""
        return np.diff(self.inside_offsets)

    def degrees(self) -> NDArray[np.int64]:
        """Links of each crawled page, those to uncrawled pages too."""
        return np.diff(self.inside_offsets) + np.diff(self.outward_offsets)

    def leaving(self, rank: NDArray[np.float64]) -> float:
        """The share of this rank on crawled pages that follows a link to a page nobody has looked at."""
        degrees = self.degrees()
        outward = np.diff(self.outward_offsets) / np.maximum(degrees, 1)
        return float((rank * outward).sum() / rank.sum())


class KnownWeb:
    """Which pages are local, crawled, or known not to be worth asking for; and what they link to.

    Local pages count as crawled; one that `web` has no links of is dangling. Pages that `web` has fetched already are
    crawled from the start, be they local or not.
    """

    def __init__(self, web: GrowingGraph, local: ArrayLike) -> None:
        self.web = web
        self.local = local_pages(local, web.n_pages)
        self.n_crawled = 0
        self._crawled = np.zeros(1024, np.uint32)
        self._state = np.zeros(web.n_pages, np.int8)
        self._place = np.zeros(web.n_pages, np.int32)
        is_local = np.zeros(web.n_pages, np.bool_)
        is_local[self.local] = True
        self._count_crawled(self.local)
        self._count_crawled(np.flatnonzero(web.fetched & ~is_local))

    def state(self, page: int) -> int:
        """OPEN, ASKED, BLOCKED, NO_PAGE or CRAWLED."""
        return int(self._state[page]) if page < len(self._state) else OPEN

    def crawl(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> NDArray[np.uint32]:
        """These pages were fetched, with these links; those of them that had not been crawled before."""
        self.web.add_batch(pages, offsets, targets)
        return self.took_in(pages)

    def took_in(self, pages: ArrayLike) -> NDArray[np.uint32]:
        """These pages were fetched, and their links are in the web; those that had not been crawled before."""
        self._know()
        fresh: NDArray[np.uint32] = np.asarray(pages, np.uint32)
        fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        fresh = fresh[self._state[fresh] != CRAWLED]
        self._count_crawled(fresh)
        return fresh

    def mark(self, pages: ArrayLike, state: int) -> None:
        """Say what these pages are; crawled ones stay crawled."""
        ids = page_ids("pages", pages, self.web.n_pages)
        self._know()
        self._state[ids[self._state[ids] != CRAWLED]] = state

    def surroundings(self) -> Surroundings:
        """What is known now, in rows without gaps."""
        self._know()
        web, pages = self.web, self._crawled[: self.n_crawled]
        found, n_inside = _frontier(pages, web.starts, web.ends, web.targets, self._state, self._place)
        frontier = np.sort(found)
        self._place[frontier] = np.arange(len(frontier))
        rows = _rows(pages, web.starts, web.ends, web.targets, self._state, self._place, n_inside)
        is_open = self._state[frontier] == OPEN
        self._place[frontier] = -1
        return Surroundings(len(self.local), pages, frontier, is_open, *rows)

    def _count_crawled(self, pages: NDArray[Any]) -> None:
        end = self.n_crawled + len(pages)
        self._crawled = grown(self._crawled, end)
        self._crawled[self.n_crawled : end] = pages
        self._place[pages] = np.arange(self.n_crawled, end)
        self._state[pages] = CRAWLED
        self.n_crawled = end

    def _know(self) -> None:
        known = len(self._state)
        if self.web.n_pages > known:
            self._state = grown(self._state, self.web.n_pages)
            self._place = grown(self._place, self.web.n_pages)


def local_pages(local: ArrayLike, n_pages: int) -> NDArray[np.uint32]:
    """The ids of the local pages, as given or where the mask is true; each once, and at least one."""
    array = np.asarray(local)
    if array.dtype == np.bool_:
        if array.shape != (n_pages,):
            raise InputError(f"local: a mask of {array.size:,} values for {n_pages:,} pages")
        array = np.flatnonzero(array)
    pages = page_ids("local", array, n_pages)
    if len(pages) == 0:
        raise InputError("local: no pages; a domain has at least one")
    values, counts = np.unique(pages, return_counts=True)
    if len(values) < len(pages):
        raise InputError(f"local: page {int(values[counts > 1][0])} is named more than once")
    return pages


@allocating_kernel
def _frontier(pages: Any, starts: Any, ends: Any, targets: Any, state: Any, place: Any) -> tuple[Any, int]:
    """The uncrawled pages that crawled ones link to, each once, as they are met; and how many links are inside.

    A page that was met has -2 for its place.
    """
    n_inside, n_found = 0, 0
    found = np.empty(1024, np.uint32)
    for page in pages:
        for k in range(starts[page], ends[page]):
            target = targets[k]
            if state[target] == CRAWLED:
                n_inside += 1
            elif state[target] != NO_PAGE and place[target] != -2:
                place[target] = -2
                if n_found == len(found):
                    larger = np.empty(2 * n_found, np.uint32)
                    larger[:n_found] = found
                    found = larger
                found[n_found] = target
                n_found += 1
    return found[:n_found], n_inside


@allocating_kernel
def _rows(
    pages: Any, starts: Any, ends: Any, targets: Any, state: Any, place: Any, n_inside: int
) -> tuple[Any, Any, Any, Any]:
    """The rows of the crawled pages, parted: links to crawled pages, links to the frontier; as places."""
    n_links = 0
    for page in pages:
        n_links += ends[page] - starts[page]
    inside_offsets, outward_offsets = np.zeros(len(pages) + 1, np.int64), np.zeros(len(pages) + 1, np.int64)
    inside, outward = np.empty(n_inside, np.uint32), np.empty(n_links - n_inside, np.uint32)
    a, b = 0, 0
    for i in range(len(pages)):
        for k in range(starts[pages[i]], ends[pages[i]]):
            target = targets[k]
            if state[target] == CRAWLED:
                inside[a] = place[target]
                a += 1
            elif state[target] != NO_PAGE:
                outward[b] = place[target]
                b += 1
        inside_offsets[i + 1] = a
        outward_offsets[i + 1] = b
    return inside_offsets, inside, outward_offsets, outward[:b]
