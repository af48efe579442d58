"""L-Neighbor (Cho & Schonfeld, VLDB 2007): level by level, with the simplest guarantee."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import UNREACHED, distances
from orienteer.policies.planned import PlannedRun
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, Run, TrustedPages, checked_damping, policy


@policy
class LNeighbor(Policy):
    """Fetch the trusted pages, then what they link to, and so on; within a level the lowest id first.

    Once level L is complete, coverage is at least 1 - d^(L+1): a surfer who jumps with chance 1 - d at every step is
    seldom further away. (The paper's pseudo-code stops one level earlier than its Theorem 2 allows.)
    """

    name: ClassVar[str] = "l-neighbor"
    proves: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._level = dict.fromkeys(trusted.pages.tolist(), 0)
        self._unfetched = [len(trusted.pages)]  # by level
        self.guarantee = 0.0
        return Priorities(trusted.pages, np.zeros(len(trusted.pages)))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        level = self._level[page]
        new = [target for target in web.links(page).tolist() if target not in self._level]
        self._level.update(dict.fromkeys(new, level + 1))
        while len(self._unfetched) < level + 2:
            self._unfetched.append(0)
        self._unfetched[level + 1] += len(new)
        self._unfetched[level] -= 1
        n_complete = next((k for k, left in enumerate(self._unfetched) if left), None)
        # With nothing unfetched anywhere the surfer has nowhere else to be.
        self.guarantee = 1.0 if n_complete is None else 1 - self.damping**n_complete
        if not new:
            return NO_CHANGE
        return Priorities(np.array(new, np.uint32), np.full(len(new), -(level + 1.0)))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        level = distances(graph, trusted.pages)
        reached = np.flatnonzero(level != UNREACHED)
        order = reached[np.argsort(level[reached], kind="stable")].astype(np.uint32)
        levels = level[order]
        # With k + 1 pages the levels below that of the next page are complete.
        complete = np.append(levels[1:], 0).astype(np.float64)
        guarantees = 1 - self.damping**complete
        guarantees[-1:] = 1.0
        return PlannedRun(graph, order, guarantees)
