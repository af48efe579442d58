"""Where the surfer leaves the known pages: the mass that is on unfetched pages, and pages drawn from it."""

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
    """The edge of the known pages at one moment: how much mass is where.

    `free` is on unfetched pages that can be fetched, `blocked` on those that cannot, `hidden` on trusted pages that are
    not known, `unknown` behind links that nobody knows, `unsettled` on fetched pages, left to push. `total` is 1 - d D.
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
        """Where nobody knows what becomes of the surfer, though she came there by links that are known."""
        return self.blocked + self.unknown

    def upper(self, of_reachable: bool = False) -> float:
        """No coverage above this is possible, if no unfetched page is another name of a fetched one."""
        share = 1.0 - self.damping
        if of_reachable:
            return 1.0 - share * (self.free + self.hidden) / (self.total - self.stuck)
        return 1.0 - share * (self.free + self.blocked + self.hidden) / self.total

    def allowed(self, until: float, of_reachable: bool = False) -> float:
        """What lives from here may spend outside if the coverage is `until`; at worst for what nobody knows."""
        if of_reachable:
            return (1.0 - until) * (self.total - self.stuck) - self.unsettled - self.hidden
        return (1.0 - until) * self.total - self.unsettled - self.hidden - self.stuck


def drawn(coverage: Coverage, free: float, levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each number in [0, 1) a page; uniform numbers give pages by their mass, which is `free` in all."""
    order = np.argsort(levels, kind="stable")
    found, pages = np.zeros(len(levels), np.int64), np.zeros(len(levels), np.int64)
    _enter(coverage.p, coverage.flags, levels[order] * free, found)
    pages[order] = found
    return pages


def quick_upper(coverage: Coverage, of_reachable: bool) -> float:
    """`Edge.upper`, or more where not all is pushed, by the running sums alone."""
    total, share = 1.0 - coverage.damping * coverage.mass[D], 1.0 - coverage.damping
    if of_reachable:
        reachable = total - coverage.mass[B] - coverage.mass[U]
        return float(1.0 - share * (coverage.mass[R] - coverage.mass[B]) / reachable) if reachable > 0 else 0.0
    return float(1.0 - share * coverage.mass[R] / total)


def random_start(seed: str, life: int) -> int:
    """Where the random numbers of a life begin: nobody can tell it from those of other lives."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {life}".encode(), digest_size=8).digest(), "little")


def random_level(seed: str, life: int) -> float:
    """The number in [0, 1) that says where a life enters."""
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
    """The page at which the running sum exceeds each level; levels increase."""
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
    for k in range(done, len(levels)):  # a level at the very end, by rounding
        found[k] = last
