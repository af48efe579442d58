"""The mass on unfetched pages, where the surfer leaves the known pages, and entry pages of walks drawn from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import BLOCKED, FETCHED, B, U
from orienteer.graph.push import D, R
from orienteer.kernel import kernel

_FREE, _BLOCKED, _HELD = range(3)


@dataclass(frozen=True)
class Edge:
    """The distribution of mass at one moment of a crawl.

    `free` is on unfetched pages that can be fetched, `blocked` on those that cannot, `hidden` on unknown trusted pages,
    `unknown` behind unknown links, `unsettled` on fetched pages, not pushed yet. `total` is 1 - d D.
    """

    damping: float
    free: float
    blocked: float
    hidden: float
    unknown: float
    unsettled: float
    total: float

    @classmethod
    def of(cls, coverage: Coverage) -> Edge:
        sums = np.zeros(3)
        _weigh(coverage.p, coverage.flags, sums)
        free, blocked, held = sums.tolist()
        total = float(1.0 - coverage.damping * coverage.mass[D])
        return cls(coverage.damping, free, blocked, coverage.hidden, float(coverage.mass[U]), held, total)

    @property
    def stuck(self) -> float:
        """The mass on blocked pages and behind unknown links, where the surfer's next step is unknown."""
        return self.blocked + self.unknown

    def upper(self, of_reachable: bool = False) -> float:
        """Return an upper bound of the coverage, valid if no unfetched page is another name of a fetched one."""
        share = 1.0 - self.damping
        if of_reachable:
            return 1.0 - share * (self.free + self.hidden) / (self.total - self.stuck)
        return 1.0 - share * (self.free + self.blocked + self.hidden) / self.total

    def allowed(self, until: float, of_reachable: bool = False) -> float:
        """Return the mass that lives may score outside if the coverage is `until`, with unknown mass at its worst."""
        if of_reachable:
            return (1.0 - until) * (self.total - self.stuck) - self.unsettled - self.hidden
        return (1.0 - until) * self.total - self.unsettled - self.hidden - self.stuck


def draw_entries(coverage: Coverage, free: float, levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a page for each level in [0, 1); uniform levels draw pages by their mass, whose sum is `free`."""
    order = np.argsort(levels, kind="stable")
    found, pages = np.zeros(len(levels), np.int64), np.zeros(len(levels), np.int64)
    _enter(coverage.p, coverage.flags, levels[order] * free, found)
    pages[order] = found
    return pages


def quick_upper(coverage: Coverage, of_reachable: bool) -> float:
    """Return `Edge.upper` from the running sums; it is larger while mass is not pushed."""
    total, share = 1.0 - coverage.damping * coverage.mass[D], 1.0 - coverage.damping
    if of_reachable:
        reachable = total - coverage.mass[B] - coverage.mass[U]
        return float(1.0 - share * (coverage.mass[R] - coverage.mass[B]) / reachable) if reachable > 0 else 0.0
    return float(1.0 - share * coverage.mass[R] / total)


def random_start(seed: str, life: int) -> int:
    """Return the initial state of the random numbers of a life, which is unpredictable from those of other lives."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {life}".encode(), digest_size=8).digest(), "little")


def random_level(seed: str, life: int) -> float:
    """Return the number in [0, 1) that determines the entry page of a life."""
    return (random_start(f"{seed} enters", life) >> 11) / (1 << 53)


@kernel
def _weigh(p: Any, flags: Any, sums: Any) -> None:
    for page in range(len(p)):
        if flags[page] & FETCHED:
            sums[_HELD] += p[page]
        elif flags[page] & BLOCKED:
            sums[_BLOCKED] += p[page]
        else:
            sums[_FREE] += p[page]


@kernel
def _enter(p: Any, flags: Any, levels: Any, found: Any) -> None:
    """Find the page at which the running sum exceeds each level; levels are increasing."""
    total, done, last = 0.0, 0, 0
    for page in range(len(p)):
        if flags[page] & (FETCHED | BLOCKED) or p[page] == 0.0:
            continue
        total += p[page]
        last = page
        while done < len(levels) and levels[done] < total:
            found[done] = page
            done += 1
        if done == len(levels):
            return
    for k in range(done, len(levels)):  # a level at the very end, due to rounding
        found[k] = last
