"""Estimators: compute the global rank of pages from the crawled pages and their links.

Frontier return: rank that flows to uncrawled pages returns through the links of similar crawled pages (ours).

The paper's estimator ignores links to uncrawled pages, so a page with many of them seems to give all its rank to the
few targets that have been crawled. Here every link counts: rank flows out to the frontier, and uncrawled pages, like
all others, get their share of jumps. Their links are unknown, but pages resemble the other targets of the pages that
link to them. So an uncrawled page passes its rank to *substitutes*, crawled pages whose links are used instead:

- with p crawled non-local pages linking to it (and to some crawled page), a share p / (p + CAUTION) goes evenly to
  these p, and from each on to the crawled pages it links to, where a local page counts LOCAL: an uncrawled page is not
  local, and may resemble them less;
- the remainder goes to all crawled non-local pages in proportion to their rank, and a little to the local pages
  (AT_HOME for all of them together, where a non-local page counts 1 on average): the default substitutes.

Links from local pages to the frontier do not determine substitutes: a domain's pages link to the web as a whole.

    x = 1 + d P' (x + rank passed to substitutes),    P the links of crawled pages, including those to the frontier

Stopping rule: the map is linear in the links and contracts L1 distances by d, so after a step that changes x by e in
L1, x is within e d / (1-d) of the solution.

The method was selected from some 200 variants on real domains. On 55 domains that were held out, after 2n fetches
(benchmarks/RESULTS.md, global_rank): L1 0.161 -> 0.141, in the geometric mean 0.82 of the paper's (0.75 where the two
differ: smaller on 26 of 38), but Kendall's tau 0.737 -> 0.726. Hosts gain in both (ratio 0.27, tau 0.964 -> 0.983);
small subjects and stretches of ids gain little and lose in order. So the values are better; the order is better only if
the domain is a site. The bound covers the arithmetic, not the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.kernel import allocating_kernel
from orienteer.registry import ClassRegistry

CAUTION = 0.1
LOCAL = 0.3
AT_HOME = 0.1


class Estimator(ABC):
    """Base of all estimators. Each estimation has its own object, so a round can start from the result of the last one.

    Keyword arguments of `__init__` are the settings.
    """

    name: ClassVar[str]

    @abstractmethod
    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        """Return the global rank of each crawled page, up to a constant factor, in the order of `neighborhood.pages`.

        Bound: divided by their sum, the values of the local pages are within `tolerance` of the method's exact result
        in L1, provided that `rank`, the PageRank of the crawled pages, is as exact.
        """


ESTIMATORS: ClassRegistry[Estimator] = ClassRegistry(
    "estimation method", Estimator, package="orienteer.graph.estimation"
)
estimator = ESTIMATORS.register  # the decorator that registers an estimator under its name


@estimator
class Paper(Estimator):
    """The PageRank of the crawled pages (FindGlobalPR of Davis & Dhillon, KDD 2006).

    Only links between crawled pages count; links to uncrawled pages are ignored.
    """

    name: ClassVar[str] = "paper"

    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        return rank


@estimator
class FrontierReturn(Estimator):
    """Uncrawled pages pass rank on as similar crawled pages do."""

    name: ClassVar[str] = "frontier-return"

    def __init__(self) -> None:
        self._last = np.zeros(0)  # by page id: the values of the last round

    def worth(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], tolerance: float, damping: float
    ) -> NDArray[np.float64]:
        size, n = neighborhood.n_crawled, neighborhood.n_local
        x = self._start(neighborhood)
        new, substitute = np.empty_like(x), np.empty(size)
        children = _children(neighborhood.inside_offsets, neighborhood.inside, n)
        certain = _certain(neighborhood.outward_offsets, neighborhood.outward, children, n, len(neighborhood.frontier))
        default = _default_substitutes(neighborhood, rank)
        degrees = neighborhood.degrees()
        while True:
            change = _step(
                neighborhood.inside_offsets, neighborhood.inside, neighborhood.outward_offsets, neighborhood.outward,
                degrees, children, certain, default, n, damping, x, substitute, new,
            )  # fmt: skip
            x, new = new, x
            if 2 * change * damping <= tolerance * (1 - damping) * float(x[:n].sum()):
                break
        self._store(neighborhood, x)
        return x[:size]

    def _start(self, neighborhood: Neighborhood) -> NDArray[np.float64]:
        n_known = int(max(neighborhood.pages.max(), neighborhood.frontier.max(initial=0))) + 1
        self._last = grown(self._last, n_known)
        return np.maximum(np.concatenate((self._last[neighborhood.pages], self._last[neighborhood.frontier])), 1.0)

    def _store(self, neighborhood: Neighborhood, x: NDArray[np.float64]) -> None:
        self._last[neighborhood.pages] = x[: neighborhood.n_crawled]
        self._last[neighborhood.frontier] = x[neighborhood.n_crawled :]


def _default_substitutes(neighborhood: Neighborhood, rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the substitutes of a page of which nothing is known; they sum to 1."""
    n = neighborhood.n_local
    weights = np.full(neighborhood.n_crawled, AT_HOME / n)
    if neighborhood.n_crawled > n:
        weights[n:] = rank[n:] / rank[n:].mean()
    weights /= weights.sum()
    return weights


@allocating_kernel
def _children(inside_offsets: Any, inside: Any, n_local: int) -> Any:
    """Return how many crawled pages each crawled non-local page links to, where local ones count LOCAL."""
    children = np.zeros(len(inside_offsets) - 1)
    for i in range(n_local, len(children)):
        for k in range(inside_offsets[i], inside_offsets[i + 1]):
            children[i] += LOCAL if inside[k] < n_local else 1.0
    return children


@allocating_kernel
def _certain(outward_offsets: Any, outward: Any, children: Any, n_local: int, n_frontier: int) -> Any:
    """Return for each frontier page the share that *each* non-local page linking to it gets: 1 / (p + CAUTION)."""
    parents = np.zeros(n_frontier)
    for i in range(n_local, len(children)):
        if children[i] > 0:
            for k in range(outward_offsets[i], outward_offsets[i + 1]):
                parents[outward[k]] += 1
    for j in range(n_frontier):
        parents[j] = 1.0 / (parents[j] + CAUTION)
    return parents


@allocating_kernel
def _step(
    inside_offsets: Any, inside: Any, outward_offsets: Any, outward: Any, degrees: Any, children: Any, certain: Any,
    default: Any, n_local: int, damping: float, x: Any, substitute: Any, new: Any,
) -> float:  # fmt: skip
    """Compute `new` from x and return the L1 change."""
    size = len(children)
    unknown = 0.0
    for j in range(len(certain)):
        unknown += x[size + j]
    for i in range(len(substitute)):
        substitute[i] = 0.0
    for i in range(n_local, size):
        if children[i] > 0:
            passed = 0.0
            for k in range(outward_offsets[i], outward_offsets[i + 1]):
                passed += x[size + outward[k]] * certain[outward[k]]
            unknown -= passed
            if passed > 0:
                for k in range(inside_offsets[i], inside_offsets[i + 1]):
                    substitute[inside[k]] += passed * (LOCAL if inside[k] < n_local else 1.0) / children[i]
    for i in range(len(new)):
        new[i] = 1.0
    for i in range(size):
        if degrees[i] > 0:
            share = damping * (x[i] + substitute[i] + unknown * default[i]) / degrees[i]
            for k in range(inside_offsets[i], inside_offsets[i + 1]):
                new[inside[k]] += share
            for k in range(outward_offsets[i], outward_offsets[i + 1]):
                new[size + outward[k]] += share
    change = 0.0
    for k in range(len(x)):
        change += abs(new[k] - x[k])
    return change
