"""A policy wrapper that multiplies priorities by the boost of each page."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages

_TIMES_PER_POINT = 10.0
_MAX_POINTS = 100  # more would exceed the range of floats


class Boosts:
    """A factor for every page: ten to the power of its priority, by default 1."""

    def __init__(self) -> None:
        self._exponents: NDArray[np.int32] = np.zeros(1024, np.int32)
        self.any = False  # whether any factor differs from 1

    def set(self, page: int, points: int) -> None:
        self._exponents = grown(self._exponents, page + 1)
        self._exponents[page] = max(-_MAX_POINTS, min(points, _MAX_POINTS))
        self.any = self.any or points != 0

    def of(self, pages: NDArray[np.uint32]) -> NDArray[np.float64]:
        self._exponents = grown(self._exponents, int(pages.max(initial=0)) + 1)
        return np.power(_TIMES_PER_POINT, self._exponents[pages])

    def applied(self, changed: Priorities) -> Priorities:
        """Return boosted priorities; negative ones are boosted towards 0, so that a boost always means sooner."""
        if not self.any or len(changed.pages) == 0:
            return changed
        factors, values = self.of(changed.pages), changed.values
        return Priorities(changed.pages, np.where(values > 0, values * factors, values / factors))


class Boosted(Policy):
    """Another policy with boosts. It has no guarantee of its own; the certificate is independent of it."""

    name: ClassVar[str] = "boosted"

    def __init__(self, policy: Policy, boosts: Boosts) -> None:
        self._policy = policy
        self._boosts = boosts
        self.damping = policy.damping

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return self._boosts.applied(self._policy.begin(web, trusted))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.fetched(page, web))

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.failed(page, web))

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.lost(page, web))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        raise NotImplementedError("boosts are for real requests, not for simulations")
