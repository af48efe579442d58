"""The crawled part of the web, growing from a local domain.

This is F in the paper: first the local pages alone, then with every page fetched from their neighborhood. Pages have
their ids in the GrowingGraph; `neighborhood` renumbers the crawled pages without gaps, so that all work on them is
linear in the crawled pages and their links, however many pages have ids.
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
from orienteer.graph.pagerank import push_all, subtract_applied
from orienteer.kernel import allocating_kernel

# States of a page: it can be fetched; it was chosen to be fetched; it can never be fetched; it is not a page, and links
# to it do not count; it is crawled.
OPEN, REQUESTED, BLOCKED, NO_PAGE, CRAWLED = range(5)


@dataclass(frozen=True)
class Neighborhood:
    """The crawled pages, local ones first, then in the order they were fetched; and the frontier they link to.

    `inside` holds the links between crawled pages as indices into `pages`, `outward` those to uncrawled pages as
    indices into `frontier`, which is in increasing order of page ids. `open` masks the frontier pages that can be
    fetched.
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
        """Return the number of links of each crawled page to crawled pages."""
        return np.diff(self.inside_offsets)

    def degrees(self) -> NDArray[np.int64]:
        """Return the number of links of each crawled page, including those to uncrawled pages."""
        return np.diff(self.inside_offsets) + np.diff(self.outward_offsets)

    def leaving(self, rank: NDArray[np.float64]) -> float:
        """Return the share of this rank on crawled pages that follows a link to an uncrawled page."""
        degrees = self.degrees()
        outward = np.diff(self.outward_offsets) / np.maximum(degrees, 1)
        return float((rank * outward).sum() / rank.sum())


class KnownWeb:
    """The states of all pages, local or not, and their links.

    Local pages count as crawled; a local page without links in `web` is dangling. Pages that are fetched in `web` count
    as crawled from the start, local or not.
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
        """Return OPEN, REQUESTED, BLOCKED, NO_PAGE or CRAWLED."""
        return int(self._state[page]) if page < len(self._state) else OPEN

    def crawl(self, pages: ArrayLike, offsets: ArrayLike, targets: ArrayLike) -> NDArray[np.uint32]:
        """Add fetched pages with their links; return those that had not been crawled before."""
        self.web.add_batch(pages, offsets, targets)
        return self.mark_fetched(pages)

    def mark_fetched(self, pages: ArrayLike) -> NDArray[np.uint32]:
        """Mark pages as fetched whose links are in `web`; return those that had not been crawled before."""
        self._grow_to()
        fresh: NDArray[np.uint32] = np.asarray(pages, np.uint32)
        fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        fresh = fresh[self._state[fresh] != CRAWLED]
        self._count_crawled(fresh)
        return fresh

    def mark(self, pages: ArrayLike, state: int) -> None:
        """Set the state of these pages; crawled ones stay crawled."""
        ids = page_ids("pages", pages, self.web.n_pages)
        self._grow_to()
        self._state[ids[self._state[ids] != CRAWLED]] = state

    def neighborhood(self) -> Neighborhood:
        """Return the crawled pages and their frontier, numbered without gaps."""
        self._grow_to()
        web, pages = self.web, self._crawled[: self.n_crawled]
        found, n_inside = _frontier(pages, web.starts, web.ends, web.targets, self._state, self._place)
        frontier = np.sort(found)
        self._place[frontier] = np.arange(len(frontier))
        rows = _rows(pages, web.starts, web.ends, web.targets, self._state, self._place, n_inside)
        is_open = self._state[frontier] == OPEN
        self._place[frontier] = -1
        return Neighborhood(len(self.local), pages, frontier, is_open, *rows)

    def _count_crawled(self, pages: NDArray[Any]) -> None:
        end = self.n_crawled + len(pages)
        self._crawled = grown(self._crawled, end)
        self._crawled[self.n_crawled : end] = pages
        self._place[pages] = np.arange(self.n_crawled, end)
        self._state[pages] = CRAWLED
        self.n_crawled = end

    def _grow_to(self) -> None:
        known = len(self._state)
        if self.web.n_pages > known:
            self._state = grown(self._state, self.web.n_pages)
            self._place = grown(self._place, self.web.n_pages)


def local_pages(local: ArrayLike, n_pages: int) -> NDArray[np.uint32]:
    """Return the ids of the local pages, as given or where the mask is true; an InputError if empty or repeated."""
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
    """Return the distinct uncrawled targets of crawled pages, in order of discovery, and the number of inside links.

    Discovered pages are marked with -2 in `place`.
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
    """Split the rows of the crawled pages into links to crawled pages and links to the frontier, as indices."""
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


def rank_within(
    neighborhood: Neighborhood, start: NDArray[np.float64] | None = None, tolerance: float = 1e-6, damping: float = 0.85
) -> NDArray[np.float64]:
    """Return the rank of every crawled page, summing to 1; `start` is an earlier rank of the first pages.

    Only the links between crawled pages count, and jumps are uniform. Warm starts make the rounds cheap: the rank of
    the last round is close to that of the next, and only the residual is pushed. Stopping rule: the tolerance bounds
    the true error in L1, as in pagerank.py.
    """
    n = neighborhood.n_crawled
    residual = np.full(n, 1.0 / n)
    x = np.zeros(n)
    if start is not None:
        x[: len(start)] = start * (len(start) / n)
        x[len(start) :] = 1.0 / n
        # Without the dangling term the solution is a multiple of the rank; see pagerank.py.
        x /= 1 - damping + damping * float(x[neighborhood.inside_degrees() == 0].sum())
        subtract_applied(neighborhood.inside_offsets, neighborhood.inside, x, residual, damping)
    while True:
        left, total = float(np.abs(residual).sum()), float(x.sum())
        if 2 * left <= tolerance * (1 - damping) * total:
            return x / total
        push_all(neighborhood.inside_offsets, neighborhood.inside, x, residual, damping)
