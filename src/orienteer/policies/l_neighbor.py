"""L-Neighbor (Cho & Schonfeld, VLDB 2007): level by level, with the simplest guarantee."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import UNREACHED, distances
from orienteer.policies.policy import (
    NO_CHANGE,
    PlannedRun,
    Policy,
    Priorities,
    Run,
    TrustedPages,
    checked_damping,
    policy,
)


@policy
class LNeighbor(Policy):
    """Fetch the trusted pages, then their targets, and so on; within a level the lowest id first.

    Bound: once level L is complete, coverage is at least 1 - d^(L+1), because a surfer who jumps with probability 1 - d
    at every step is rarely further away. (The paper's pseudo-code stops one level earlier than its Theorem 2 allows.)
    """

    name: ClassVar[str] = "l-neighbor"
    proves: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._levels = np.zeros(max(web.n_pages, 1024), np.int32)  # 1 + the level; 0 if unknown
        self._levels[trusted.pages] = 1
        self._unfetched = np.zeros(64, np.int64)  # by level
        self._unfetched[0] = len(trusted.pages)
        self.guarantee = 0.0
        return Priorities(trusted.pages, np.zeros(len(trusted.pages)))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._levels = grown(self._levels, web.n_pages)
        level = int(self._levels[page]) - 1
        if level < 0:  # no fetched page links here: it has no level and does not affect the guarantee
            return NO_CHANGE
        links = web.links(page)
        new = links[self._levels[links] == 0]
        self._levels[new] = level + 2
        self._unfetched = grown(self._unfetched, level + 2)
        self._unfetched[level + 1] += len(new)
        self._unfetched[level] -= 1
        incomplete = np.flatnonzero(self._unfetched)
        # Without unfetched pages, the surfer is always on fetched pages.
        self.guarantee = 1 - self.damping ** int(incomplete[0]) if len(incomplete) else 1.0
        return Priorities(new, np.full(len(new), -(level + 1.0)))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        level = distances(graph, trusted.pages)
        reached = np.flatnonzero(level != UNREACHED)
        order = reached[np.argsort(level[reached], kind="stable")].astype(np.uint32)
        levels = level[order]
        # After k + 1 pages the levels below that of the next page are complete.
        complete = np.append(levels[1:], 0).astype(np.float64)
        guarantees = 1 - self.damping**complete
        guarantees[-1:] = 1.0
        return PlannedRun(graph, order, guarantees)
