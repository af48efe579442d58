"""MaxOut, MaxWeight, MaxSCC, RootSCC (Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009),
and the baselines that take pages from a list."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.components import condensation
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.reach import UNREACHED, distances
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent
from orienteer.seeds.greedy import Weighing
from orienteer.seeds.seed_method import Cover, SeedMethod, checked_depth, seed_method

_TOLERANCE = 1e-9


@seed_method
class MaxOut(SeedMethod):
    """Among the uncovered pages, the one with the most links to uncovered pages. Values are ignored."""

    name: ClassVar[str] = "max-out"

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        pass

    def best(self, cover: Cover) -> int | None:
        page = int(_with_most_links(cover.graph.offsets, cover.graph.targets, cover.is_covered))
        return page if page >= 0 else None


@allocating_kernel
def _with_most_links(offsets: Any, targets: Any, is_covered: Any) -> Any:
    best, most = np.int64(-1), np.int64(-1)
    for page in range(len(is_covered)):
        if is_covered[page] or offsets[page + 1] - offsets[page] <= most:
            continue
        n_links = np.int64(0)
        for k in range(offsets[page], offsets[page + 1]):
            n_links += not is_covered[targets[k]]
        if n_links > most:
            best, most = np.int64(page), n_links
    return best


@seed_method
class MaxWeight(SeedMethod):
    """The page with the most value left within `depth` links; with depth = hops this is the exact greedy.

    A depth above the hops would not change the cover, so it is limited to the hops.
    """

    name: ClassVar[str] = "max-weight"

    def __init__(self, depth: int = 2) -> None:
        self.depth = checked_depth(depth)

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._weighing = Weighing(cover, min(self.depth, cover.hops), progress)

    def best(self, cover: Cover) -> int | None:
        return self._weighing.best()

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        self._weighing.covered(pages, cover)


@seed_method
class MaxScc(MaxWeight):
    """In the strongly connected component with the most value left, the page with the most within `depth` links.

    Among components of the same weight it is the one with the lowest page id.
    """

    name: ClassVar[str] = "max-scc"

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._web_of_components, self._labels = condensation(cover.graph)
        super().begin(cover, k, progress)

    def best(self, cover: Cover) -> int | None:
        n_components = self._web_of_components.n_pages
        weights = np.bincount(self._labels, cover.remaining_values, n_components)
        weight_of_page = weights[self._labels]
        in_heaviest = int(weight_of_page.argmax())
        if weight_of_page[in_heaviest] <= 0:
            return None
        page = self._page_of_component(in_heaviest, weight_of_page)
        return self._weighing.best_of(self._labels == self._labels[page])

    def _page_of_component(self, in_heaviest: int, weight_of_page: NDArray[Any]) -> int:
        """Return a page of the component to choose from; `weight_of_page` is the value left in the page's component."""
        return in_heaviest


@seed_method
class RootScc(MaxScc):
    """Of the root components from which the heaviest component can be reached, the heaviest; in it as max-scc.

    A root is a component that no other links to; weights are of uncovered pages. If the root is more than the hops away
    from the heaviest component, the method ends when everything near the root is covered.
    """

    name: ClassVar[str] = "root-scc"

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        super().begin(cover, k, progress)
        self._is_root = self._web_of_components.in_degrees() == 0

    def _page_of_component(self, in_heaviest: int, weight_of_page: NDArray[Any]) -> int:
        back = distances(self._web_of_components.reverse(), [int(self._labels[in_heaviest])])
        is_candidate = (self._is_root & (back != UNREACHED))[self._labels]
        return int(np.where(is_candidate, weight_of_page, -np.inf).argmax())


class ListedSeeds(SeedMethod):
    """Base of the methods that take pages from a list."""

    uses_cover: ClassVar[bool] = False

    @abstractmethod
    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        """Return all pages, the best first."""

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._pages = iter(self.order(cover.graph, progress).tolist())

    def best(self, cover: Cover) -> int | None:
        return next(self._pages, None)


def best_first(scores: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pages by decreasing score, ties by the lowest id."""
    return np.argsort(-scores, kind="stable")


@seed_method
class OutDegree(ListedSeeds):
    """The k pages with the most links, though they may all link to the same pages."""

    name: ClassVar[str] = "out-degree"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(graph.out_degrees())


@seed_method
class PageRankSeeds(ListedSeeds):
    """The k pages of the highest uniform PageRank, even if they are close to each other."""

    name: ClassVar[str] = "pagerank"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(pagerank(graph, tolerance=_TOLERANCE, progress=progress))


@seed_method
class RandomSeeds(ListedSeeds):
    """Distinct pages with equal probability; fewer seeds with the same rng are a prefix of more."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return np.random.default_rng(self.rng).permutation(graph.n_pages)
