"""Estimates of the depth-d weights of all pages by min-rank sketches (Cohen 1997), for graphs too large to be exact.

Each page draws 32 ranks, exponential with its value as the rate. The smallest rank within d links of a page is then
exponential with the page's depth-d weight W as the rate, and d passes over the links compute it for all pages. With S
the sum of a page's 32 smallest ranks, W S has the gamma distribution with shape 32, whatever the graph: 31 / S is an
unbiased estimate of W with a typical error of 1 / sqrt(30) = 18 %. Bound: with probability 1 - p, no page weighs more
than q / S, where q is the quantile of that distribution at 1 - p / n.

A rank is stored as one of 128 levels, 7 bits on a logarithmic scale with three levels per octave. 32 of them are four
64-bit words, and the smallest ranks of two pages are computed eight at a time. The bound includes the error of rounding
to levels. A level is a *nearness*: higher is a smaller rank, 0 is no rank.

The share of ranks that two pages have in common estimates how much the sets that they reach overlap. Thousands of pages
of one site reach nearly the same set, so a list of the highest estimates repeats one neighbourhood: the candidates for
the best page are the pages of high estimates that are not alike.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

N_RANKS = 32
TYPICAL_ERROR = 1 / math.sqrt(N_RANKS - 2)

_WORDS = N_RANKS // 8
_LEVELS = 128
_LEVELS_PER_OCTAVE = 3
_STEP = 2 ** (1 / _LEVELS_PER_OCTAVE)
_HIGHEST = 2.0**10  # the last level, as a multiple of the total value; higher ones would not change S noticeably
_MEAN_IN_LEVEL = (_STEP - 1) / math.log(_STEP)  # of ranks spread evenly on a logarithmic scale
_CELLS = 256
_PAGES_PER_TASK = 1 << 17
_POOL = 1 << 20  # pages considered as candidates
_ALIKE = 24  # ranks in common, of 32
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HIGH_BITS = np.uint64(0x8080808080808080)


@dataclass(frozen=True)
class EstimatedWeights:
    """`estimates[v]` of the weight of page v; `bound(p)` bounds all weights with probability 1 - p."""

    estimates: NDArray[np.float32]
    total: float
    sketches: NDArray[np.uint64]

    def bound(self, p: float) -> float:
        """Return an upper bound of all weights that holds with probability 1 - p."""
        n_pages = len(self.estimates)
        if n_pages == 0:
            return 0.0
        factor = gamma_quantile(p / n_pages) / (N_RANKS - 1) * _MEAN_IN_LEVEL
        # 1 % covers draws in cells, ranks beyond the last level and single precision: at most 0.2 % each.
        return min(1.01 * factor * float(self.estimates.max()), self.total)

    def dissimilar(self, scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
        """Return up to n pages of high scores, highest first, no two of which reach similar sets."""
        best_first = _best_first(scores, _POOL)
        return np.asarray(best_first[_dissimilar(self.sketches[best_first], n)])

    def similar(self, page: int, scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
        """Return the n pages of the highest scores that reach a similar set as this page, itself included."""
        alike = np.flatnonzero(_similar_to(self.sketches, page))
        return alike[_best_first(scores[alike], n)]


def gamma_quantile(p: float) -> float:
    """Return the x that a gamma variable of shape N_RANKS exceeds with probability p, rounded up.

    The probability is that of fewer than N_RANKS arrivals at rate 1 until the time x: sum over k of x^k e^-x / k!.
    """
    low, high = 0.0, 1.0 + N_RANKS
    while _exceeds(high) > p:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _exceeds(middle) > p else (low, middle)
    return high


def _exceeds(x: float) -> float:
    return math.fsum(math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in range(N_RANKS))


def estimated_weights(
    graph: LinkGraph, depth: int, values: NDArray[np.float64], rng: int, progress: Progress = silent
) -> EstimatedWeights:
    """Estimate the depth-d weights of all pages, for non-negative values."""
    total = float(values.sum())
    now = np.zeros((graph.n_pages, _WORDS), np.uint64)
    if total <= 0:
        return EstimatedWeights(np.zeros(graph.n_pages, np.float32), 0.0, now)
    lowest = total * _HIGHEST / _STEP**_LEVELS
    _draw(values, lowest, np.uint64(rng), _exponential_logarithms(), now)
    after = np.empty_like(now)
    for done in range(depth):
        progress("sketching what pages reach", done, depth)
        _pass_in_threads(graph, now, after)
        now, after = after, now
    # The smallest rank of each level.
    ranks = 1 / (lowest * _STEP ** np.arange(1, _LEVELS + 1))
    estimates = np.empty(graph.n_pages, np.float32)
    _estimate(now, ranks * (_MEAN_IN_LEVEL / (N_RANKS - 1)), estimates)
    return EstimatedWeights(estimates, total, now)


def _best_first(scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """Return the n pages of the highest scores, ties by the lowest id."""
    some = np.arange(len(scores)) if len(scores) <= n else np.sort(np.argpartition(-scores, n)[:n])
    return some[np.argsort(-scores[some], kind="stable")]


@allocating_kernel
def _mixed(x: Any) -> Any:
    """SplitMix64: 64 pseudorandom bits from a multiple of the golden ratio."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@allocating_kernel
def _draw(values: Any, lowest: float, rng: Any, logarithms: Any, levels: Any) -> None:
    """Draw the ranks of each page as levels of value / E in units of `lowest`, with E exponential."""
    stream = _mixed((rng + np.uint64(1)) * _GOLDEN)
    for page in range(len(values)):
        if values[page] <= 0:
            continue
        height = _LEVELS_PER_OCTAVE * math.log2(values[page] / lowest)
        for word in range(_WORDS):
            packed = np.uint64(0)
            for place in range(8):
                count = np.uint64(page * N_RANKS + word * 8 + place)
                mantissa, exponent = math.frexp(np.float64(_mixed(stream + count * _GOLDEN) | np.uint64(1)))
                drawn = logarithms[min(exponent, 64), min(int((mantissa - 0.5) * 2 * _CELLS), _CELLS - 1)]
                level = min(max(math.floor(height - drawn), 0), _LEVELS - 1)
                packed |= np.uint64(level) << np.uint64(8 * place)
            levels[page, word] = packed


def _exponential_logarithms() -> NDArray[np.float64]:
    """Return a table [e, c] of the logarithm, in levels, of the exponential draw -log(1 - u) for 64 random bits 2^64 u.

    The draw is looked up by the exponent e of the random number and by 256 cells c of its mantissa, at the middle of
    the cell: at most 0.2 % off, except in the last cell, where draws above 7 count as 7, so that no weight is too low.
    """
    mantissas = 0.5 + (np.arange(_CELLS) + 0.5) / (2 * _CELLS)
    exponents = np.arange(65)
    shares = np.ldexp(mantissas[None, :], exponents[:, None] - 64)
    return _LEVELS_PER_OCTAVE * np.log2(-np.log1p(-shares))


@allocating_kernel
def _nearer(a: Any, b: Any) -> Any:
    """Return the bytewise maximum of eight 7-bit numbers."""
    not_less = ((a | _HIGH_BITS) - b) & _HIGH_BITS  # the high bit of each byte where a >= b
    mask = not_less - (not_less >> np.uint64(7))  # all seven low bits of those bytes
    return (a & mask) | (b & ~mask)


def _pass_in_threads(graph: LinkGraph, now: NDArray[np.uint64], after: NDArray[np.uint64]) -> None:
    """Run a pass over all links, with one thread per core on large graphs."""
    if graph.n_pages <= _PAGES_PER_TASK:
        _pass(graph.offsets, graph.targets, now, after, 0, graph.n_pages)
        return

    def some(first: int) -> None:
        last = min(first + _PAGES_PER_TASK, graph.n_pages)
        _pass(graph.offsets, graph.targets, now, after, first, last)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(some, range(0, graph.n_pages, _PAGES_PER_TASK)))


@allocating_kernel
def _pass(offsets: Any, targets: Any, now: Any, after: Any, first: int, last: int) -> None:
    """Extend the sketches of pages from `first` to before `last` by one link: the maximum with those of the targets."""
    for page in range(first, last):
        a, b, c, d = now[page, 0], now[page, 1], now[page, 2], now[page, 3]
        for k in range(offsets[page], offsets[page + 1]):
            target = targets[k]
            a = _nearer(a, now[target, 0])
            b = _nearer(b, now[target, 1])
            c = _nearer(c, now[target, 2])
            d = _nearer(d, now[target, 3])
        after[page, 0], after[page, 1], after[page, 2], after[page, 3] = a, b, c, d


@allocating_kernel
def _estimate(levels: Any, ranks: Any, estimates: Any) -> None:
    for page in range(len(levels)):
        total = 0.0
        for word in range(_WORDS):
            packed = levels[page, word]
            for place in range(8):
                total += ranks[(packed >> np.uint64(8 * place)) & np.uint64(127)]
        estimates[page] = 1 / total


@allocating_kernel
def _n_common(a: Any, b: Any) -> Any:
    """Return how many ranks two sketches have in common."""
    n_common = np.int64(N_RANKS)
    for word in range(_WORDS):
        # 1 in each byte that differs
        differs = ((a[word] ^ b[word]) + ~_HIGH_BITS & _HIGH_BITS) >> np.uint64(7)
        n_common -= np.int64((differs * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return n_common


@allocating_kernel
def _dissimilar(sketches: Any, n: int) -> Any:
    """Return the indices of the first n sketches that are not like any taken before."""
    taken = np.empty(n, np.int64)
    n_taken = 0
    for place in range(len(sketches)):
        is_new = True
        for k in range(n_taken):
            if _n_common(sketches[place], sketches[taken[k]]) >= _ALIKE:
                is_new = False
                break
        if is_new:
            taken[n_taken] = place
            n_taken += 1
            if n_taken == n:
                break
    return taken[:n_taken]


@allocating_kernel
def _similar_to(sketches: Any, page: int) -> Any:
    alike = np.empty(len(sketches), np.bool_)
    for other in range(len(sketches)):
        alike[other] = _n_common(sketches[other], sketches[page]) >= _ALIKE
    return alike
