"""Selections: they score the pages of the frontier, and the highest scores are fetched next.

A selection is pure: arrays in, scores out. Ties go to the lowest page id.

The stochastic complement prefers the pages that would change the local ranks the most (SC-Select of Davis & Dhillon,
KDD 2006). The influence of a frontier page j is the L1 change of the local pages' rank when j is added. Its links are
unknown and assumed to be distributed like all links, s = in-links / all links, among the l crawled pages. One power
step on the stochastic complement of the web with j, from the rank f, gives for the local page k

    f_j[k] - f[k]  ~  y + g z[k] + x[k]

    g     flow through j: d (sum over i -> j with o[i] > 0 of f[i] / (o[i]+1)  +  A  +  B / (l+1))  +  (1-d) / (l+1)
    y     -((1-d) + d B) / (l (l+1))  -  d A / l                           (the same on every page)
    z[k]  (d s[k] + (1-d) / (l+1)) / (1 - (1-d) / (l+1))
    x[k]  -d * sum over i with i -> k and i -> j of  f[i] / (o[i] (o[i]+1))      (the loss of the siblings of j)

o[i] is the number of links of i to crawled pages. If it is 0, i is dangling and jumps uniformly, until j is added and i
links to it: A is the rank of the dangling pages that link to j, B that of the others.

    score  =  sum over local k of |y + g z[k] + x[k]|  =  U - 2 sum over k of min(h[k], |x[k]|),   h = max(y + g z, 0)
    U      =  sum over local k of |y + g z[k]|  +  sum over local k of |x[k]|

U is cheap: the first sum is piecewise linear in g, so sorted z with prefix sums give it exactly; the second is a sum
over the pages that link to j. The remaining term needs every sibling, and its cost is *not* linear: it took up to 143
times the number of links of F. But it is small, and has a bound that is a sum over the pages linking to j:

    U - 2 min(sum |x|, g * sum over i -> j of sum over i -> k of z[k])  <=  score  <=  U
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.estimation.known_web import Neighborhood
from orienteer.graph.spread import drawn
from orienteer.kernel import allocating_kernel
from orienteer.registry import ClassRegistry


class Selection(ABC):
    """Base of all selections; keyword arguments of `__init__` are the settings."""

    name: ClassVar[str]

    @abstractmethod
    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        """Return a score for each page of the frontier; only the k highest among the open ones matter.

        `rank` is the PageRank of the crawled pages, with the links between them alone.
        """


SELECTIONS: ClassRegistry[Selection] = ClassRegistry("selection", Selection, package="orienteer.graph.estimation")
selection = SELECTIONS.register  # the decorator that registers a selection under its name


def best_open(neighborhood: Neighborhood, scores: NDArray[np.float64], k: int) -> NDArray[np.uint32]:
    """Return the k open pages of the frontier with the highest scores, the best first; all, if there are fewer."""
    places = np.flatnonzero(neighborhood.open)
    order = np.argsort(-scores[places], kind="stable")[:k]
    return neighborhood.frontier[places[order]]


@selection
class OutlinkCount(Selection):
    """The number of crawled pages that link to a page; a baseline."""

    name: ClassVar[str] = "outlink-count"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return np.bincount(neighborhood.outward, minlength=len(neighborhood.frontier)).astype(np.float64)


@selection
class PageRankFlow(Selection):
    """The pages that much rank flows to (PF-Select of Davis & Dhillon, KDD 2006).

    The sum of f[i] / (o[i] + 1) over the crawled pages i that link to a page, o[i] their links to crawled ones.

    This is the inflow term of the influence (see above), without the loss of the siblings.
    """

    name: ClassVar[str] = "pagerank-flow"

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        share = rank / (neighborhood.inside_degrees() + 1)
        weights = np.repeat(share, np.diff(neighborhood.outward_offsets))
        return np.asarray(np.bincount(neighborhood.outward, weights, len(neighborhood.frontier)), np.float64)


@selection
class RandomSelection(Selection):
    """Each page has a random number that depends on its id and the rng; the greatest goes first. A baseline."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        return drawn(neighborhood.frontier.astype(np.uint64), np.uint64(self.rng))


@selection
class StochasticComplement(Selection):
    """The influence of each page, estimated by one step on the stochastic complement (see above).

    Every score has cheap bounds. The scores of the pages with the highest upper bounds are computed exactly, in batches
    of doubling size, until no other page can be among the k best, or until more siblings were read than `work` times
    the links of all crawled pages. Remaining candidates then get the middle of their bounds, and `error` bounds the
    relative error of such scores in the last round. It is 0 if the k best are exact, as in every round on every real
    domain.
    """

    name: ClassVar[str] = "stochastic-complement"

    def __init__(self, work: float = 16.0) -> None:
        if work < 0:
            raise InputError(f"work is {work}; it must be 0 or more")
        self.work = work
        self.error = 0.0

    def scores(
        self, neighborhood: Neighborhood, rank: NDArray[np.float64], k: int, damping: float
    ) -> NDArray[np.float64]:
        influence = Influence.of(neighborhood, rank, damping)
        lower, upper = influence.lower.copy(), influence.upper.copy()
        places = np.flatnonzero(neighborhood.open)
        waiting = places[np.argsort(-upper[places], kind="stable")]
        allowed, n_next = self.work * neighborhood.n_links, 2 * k
        while True:
            waiting = waiting[upper[waiting] >= _kth_best(lower[places], k)]
            affordable = np.cumsum(influence.work[waiting[:n_next]]) <= allowed
            first = waiting[:n_next][affordable]
            if len(first) == 0:
                break
            lower[first] = upper[first] = influence.exact(first)
            allowed -= influence.work[first].sum()
            waiting = waiting[len(first) :]
            n_next *= 2
        scores: NDArray[np.float64] = upper
        scores[waiting] = (lower[waiting] + upper[waiting]) / 2
        self.error = float((1 - lower[waiting] / scores[waiting]).max(initial=0.0))
        return scores


def _kth_best(values: NDArray[np.float64], k: int) -> float:
    return float(np.partition(values, len(values) - k)[len(values) - k]) if 0 < k < len(values) else -np.inf


@dataclass(frozen=True)
class Influence:
    """Bounds on the scores of all frontier pages, and the arrays to compute some of them exactly.

    `work` is the number of siblings that an exact score has to read, counted with multiplicity.
    """

    neighborhood: Neighborhood
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    work: NDArray[np.int64]
    flow: NDArray[np.float64]
    shift: NDArray[np.float64]
    _shape: NDArray[np.float64]
    _leak: NDArray[np.float64]

    @classmethod
    def of(cls, neighborhood: Neighborhood, rank: NDArray[np.float64], damping: float = 0.85) -> Influence:
        """Compute everything but the siblings, in time linear in the crawled links, plus a sort of the local pages."""
        n, size = neighborhood.n_local, neighborhood.n_crawled
        shape = _shape(neighborhood, damping)
        degrees = neighborhood.inside_degrees()
        dangling = float(rank[degrees == 0].sum())
        leak = np.where(degrees > 0, damping * rank / np.maximum(degrees * (degrees + 1.0), 1.0), 0.0)
        inflow, sunk, lost, shaped, work = _gathered(
            neighborhood.inside_offsets, neighborhood.inside, neighborhood.outward_offsets, neighborhood.outward, rank,
            leak, shape, n, len(neighborhood.frontier),
        )  # fmt: skip
        others = dangling - sunk
        flow = damping * (inflow + sunk + others / (size + 1)) + (1 - damping) / (size + 1)
        shift = -((1 - damping) + damping * others) / (size * (size + 1.0)) - damping * sunk / size
        upper = _norms(shape, flow, shift) + lost
        lower = upper - 2 * np.minimum(lost, flow * shaped)
        return cls(neighborhood, lower, upper, work, flow, shift, shape, leak)

    def exact(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact scores of frontier pages (indices into it); pages with equal in-links are computed once."""
        if len(places) == 0:
            return np.empty(0)
        neighborhood = self.neighborhood
        offsets, sources = _in_links(
            neighborhood.outward_offsets, neighborhood.outward, places, len(neighborhood.frontier)
        )
        first, group = _groups(offsets, sources)
        missing = _missing(
            neighborhood.inside_offsets, neighborhood.inside, offsets, sources, first, self.flow[places],
            self.shift[places], self._shape, self._leak,
        )  # fmt: skip
        scores: NDArray[np.float64] = self.upper[places] - 2 * missing[group]
        return scores


def _shape(neighborhood: Neighborhood, damping: float) -> NDArray[np.float64]:
    """Return z of the local pages: how a new page's flow is distributed over them."""
    size = neighborhood.n_crawled
    in_links = np.bincount(neighborhood.inside, minlength=size)[: neighborhood.n_local]
    spread = (
        in_links / len(neighborhood.inside) if len(neighborhood.inside) else np.full(neighborhood.n_local, 1.0 / size)
    )
    jump = (1 - damping) / (size + 1)
    shape: NDArray[np.float64] = (damping * spread + jump) / (1 - jump)
    return shape


def _norms(shape: NDArray[np.float64], flow: NDArray[np.float64], shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exact sum over local pages of |shift + flow * shape|, for every frontier page."""
    ordered = np.sort(shape)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    below = np.searchsorted(ordered, -shift / flow)
    norms: NDArray[np.float64] = flow * (sums[-1] - 2 * sums[below]) + shift * (len(shape) - 2.0 * below)
    return norms


@allocating_kernel
def _gathered(
    inside_offsets: Any, inside: Any, outward_offsets: Any, outward: Any, rank: Any, leak: Any, shape: Any,
    n_local: int, n_frontier: int,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """Return the sums over the pages that link to each frontier page: flow, sunk rank, leaks, shapes, siblings."""
    inflow, sunk = np.zeros(n_frontier), np.zeros(n_frontier)
    lost, shaped, work = np.zeros(n_frontier), np.zeros(n_frontier), np.zeros(n_frontier, np.int64)
    for i in range(len(rank)):
        if outward_offsets[i] == outward_offsets[i + 1]:
            continue
        degree = inside_offsets[i + 1] - inside_offsets[i]
        if degree == 0:
            for k in range(outward_offsets[i], outward_offsets[i + 1]):
                sunk[outward[k]] += rank[i]
            continue
        n_siblings, sibling_shape = 0, 0.0
        for k in range(inside_offsets[i], inside_offsets[i + 1]):
            if inside[k] < n_local:
                n_siblings += 1
                sibling_shape += shape[inside[k]]
        share = rank[i] / (degree + 1)
        for k in range(outward_offsets[i], outward_offsets[i + 1]):
            inflow[outward[k]] += share
            lost[outward[k]] += leak[i] * n_siblings
            shaped[outward[k]] += sibling_shape
            work[outward[k]] += n_siblings
    return inflow, sunk, lost, shaped, work


@allocating_kernel
def _in_links(outward_offsets: Any, outward: Any, places: Any, n_frontier: int) -> tuple[Any, Any]:
    """Return the in-links of these frontier pages as (offsets, sources), sources in increasing order."""
    number = np.full(n_frontier, -1, np.int64)
    number[places] = np.arange(len(places))
    offsets = np.zeros(len(places) + 1, np.int64)
    for target in outward:
        if number[target] >= 0:
            offsets[number[target] + 1] += 1
    for j in range(len(places)):
        offsets[j + 1] += offsets[j]
    cursor, sources = offsets[:-1].copy(), np.empty(offsets[-1], np.uint32)
    for i in range(len(outward_offsets) - 1):
        for k in range(outward_offsets[i], outward_offsets[i + 1]):
            j = number[outward[k]]
            if j >= 0:
                sources[cursor[j]] = i
                cursor[j] += 1
    return offsets, sources


def _groups(offsets: NDArray[np.int64], sources: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group equal rows; return the first row of each group and the group of each row."""
    order = np.argsort(_fingerprints(offsets, sources), kind="stable")
    first, group = _grouped_rows(offsets, sources, order)
    return first, group


@allocating_kernel
def _fingerprints(offsets: Any, sources: Any) -> Any:
    prints = np.zeros(len(offsets) - 1, np.uint64)
    for j in range(len(prints)):
        for k in range(offsets[j], offsets[j + 1]):
            x = (np.uint64(sources[k]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            prints[j] += x ^ (x >> np.uint64(27))
    return prints


@allocating_kernel
def _grouped_rows(offsets: Any, sources: Any, order: Any) -> tuple[Any, Any]:
    """Group equal rows, which are adjacent in `order`; adjacent rows are compared, so fingerprints may collide."""
    first, group = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    n_groups = 0
    for row in order:
        same = n_groups > 0
        if same:
            head = first[n_groups - 1]
            same = offsets[row + 1] - offsets[row] == offsets[head + 1] - offsets[head]
            for k in range(offsets[row + 1] - offsets[row] if same else 0):
                same = same and sources[offsets[row] + k] == sources[offsets[head] + k]
        if not same:
            first[n_groups] = row
            n_groups += 1
        group[row] = n_groups - 1
    return first[:n_groups].copy(), group


@allocating_kernel
def _missing(
    inside_offsets: Any, inside: Any, offsets: Any, sources: Any, rows: Any, flow: Any, shift: Any, shape: Any,
    leak: Any,
) -> Any:  # fmt: skip
    """Return the sum of min(max(y + g z[k], 0), |x[k]|) over the local siblings k of the pages of these rows."""
    missing = np.zeros(len(rows))
    lost = np.zeros(len(shape))
    touched = np.empty(len(shape), np.int64)
    for group in range(len(rows)):
        row = rows[group]
        n_touched = 0
        for e in range(offsets[row], offsets[row + 1]):
            i = sources[e]
            for k in range(inside_offsets[i], inside_offsets[i + 1]):
                page = inside[k]
                if page < len(shape):
                    if lost[page] == 0.0:
                        touched[n_touched] = page
                        n_touched += 1
                    lost[page] += leak[i]
        for t in range(n_touched):
            page = touched[t]
            missing[group] += min(max(shift[row] + flow[row] * shape[page], 0.0), lost[page])
            lost[page] = 0.0
    return missing
