"""Depth-d weights of all pages, estimated: min-rank sketches (Cohen 1997), for graphs too large to weigh exactly.

Each page draws 32 ranks, exponential with its value as the rate. The smallest rank within d links of a page is then
exponential with the page's depth-d weight W as the rate, and the smallest ranks of all pages take d passes over the
links. With S the sum of a page's 32 smallest ranks, W S has the gamma distribution with 32 degrees whatever the graph:
31 / S estimates W without bias, with a typical error of 1 / sqrt(30) = 18 %. The same distribution bounds W: with
probability 1 - p no page at all has more than q / S, where q is its quantile at 1 - p / n.

A rank is kept as one of 128 levels, 7 bits on a logarithmic scale with three levels to the octave; 32 of them are
four 64-bit words, and the smallest ranks of two pages are found eight at a time. What rounding to a level may change is
in the bound. A level is counted as *nearness*: higher is a smaller rank, 0 is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent

N_RANKS = 32
TYPICAL_ERROR = 1 / math.sqrt(N_RANKS - 2)

_WORDS = N_RANKS // 8
_LEVELS = 128
_LEVELS_PER_OCTAVE = 3
_STEP = 2 ** (1 / _LEVELS_PER_OCTAVE)
_HIGHEST = 2.0**10  # the last level, as a multiple of the total value; beyond it nothing can be told from S
_MEAN_IN_LEVEL = (_STEP - 1) / math.log(_STEP)  # of ranks that are spread evenly on a logarithmic scale
_HIGH_BITS = np.uint64(0x8080808080808080)


@dataclass(frozen=True)
class EstimatedWeights:
    """`estimates[v]` of the weight of page v; `bound(p)` is above every weight with probability 1 - p."""

    estimates: NDArray[np.float32]
    total: float

    def bound(self, p: float) -> float:
        """No page weighs more than this, unless something of probability p happened."""
        from scipy.special import gammainccinv

        n_pages = len(self.estimates)
        if n_pages == 0:
            return 0.0
        quantile = float(gammainccinv(N_RANKS, p / n_pages))
        factor = quantile / (N_RANKS - 1) * _MEAN_IN_LEVEL
        # Ranks beyond the last level and single precision: each less than a thousandth.
        return min(1.002 * factor * float(self.estimates.max()), self.total)


def estimated_weights(
    graph: LinkGraph, depth: int, values: NDArray[np.float64], rng: int, progress: Progress = silent
) -> EstimatedWeights:
    """Estimates of the depth-d weights of all pages, for values that are not negative."""
    total = float(values.sum())
    if total <= 0:
        return EstimatedWeights(np.zeros(graph.n_pages, np.float32), 0.0)
    now = np.zeros((graph.n_pages, _WORDS), np.uint64)
    lowest = total * _HIGHEST / _STEP**_LEVELS
    _draw(values, lowest, np.uint64(rng), now)
    after = np.empty_like(now)
    for done in range(depth):
        progress("sketching what pages reach", done, depth)
        _pass(graph.offsets, graph.targets, now, after)
        now, after = after, now
    # The least rank of each level.
    ranks = 1 / (lowest * _STEP ** np.arange(1, _LEVELS + 1))
    estimates = np.empty(graph.n_pages, np.float32)
    _estimate(now, ranks * (_MEAN_IN_LEVEL / (N_RANKS - 1)), estimates)
    return EstimatedWeights(estimates, total)


@njit(cache=True, nogil=True)
def _mixed(x: Any) -> Any:
    """SplitMix64: 64 bits that look random, from a counter."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _draw(values: Any, lowest: float, rng: Any, levels: Any) -> None:
    """Nearness of the ranks that each page draws: the level of value / E in units of `lowest`, E exponential."""
    stream = _mixed(rng)
    for page in range(len(values)):
        if values[page] <= 0:
            continue
        relative = values[page] / lowest
        for word in range(_WORDS):
            packed = np.uint64(0)
            for place in range(8):
                count = np.uint64(page * N_RANKS + word * 8 + place)
                bits = _mixed(stream ^ _mixed(count))
                uniform = (np.float64(bits >> np.uint64(11)) + 0.5) * 2.0**-53
                level = math.floor(_LEVELS_PER_OCTAVE * math.log2(relative / -math.log(uniform)))
                level = min(max(level, 0), _LEVELS - 1)
                packed |= np.uint64(level) << np.uint64(8 * place)
            levels[page, word] = packed


@njit(cache=True, nogil=True)
def _nearer(a: Any, b: Any) -> Any:
    """The greater of the eight 7-bit numbers of a and b, each in a byte."""
    not_less = ((a | _HIGH_BITS) - b) & _HIGH_BITS  # the high bit of each byte where a >= b
    mask = not_less - (not_less >> np.uint64(7))  # all seven bits there
    return (a & mask) | (b & ~mask)


@njit(cache=True, nogil=True)
def _pass(offsets: Any, targets: Any, now: Any, after: Any) -> None:
    """One link further: the nearest among a page's own and those of the pages it links to."""
    for page in range(len(offsets) - 1):
        a, b, c, d = now[page, 0], now[page, 1], now[page, 2], now[page, 3]
        for k in range(offsets[page], offsets[page + 1]):
            target = targets[k]
            a = _nearer(a, now[target, 0])
            b = _nearer(b, now[target, 1])
            c = _nearer(c, now[target, 2])
            d = _nearer(d, now[target, 3])
        after[page, 0], after[page, 1], after[page, 2], after[page, 3] = a, b, c, d


@njit(cache=True, nogil=True)
def _estimate(levels: Any, ranks: Any, estimates: Any) -> None:
    for page in range(len(levels)):
        total = 0.0
        for word in range(_WORDS):
            packed = levels[page, word]
            for place in range(8):
                total += ranks[(packed >> np.uint64(8 * place)) & np.uint64(127)]
        estimates[page] = 1 / total
