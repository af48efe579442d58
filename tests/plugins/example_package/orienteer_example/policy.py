"""Last found: what was found last is fetched first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies.policy import Policy, Priorities, TrustedPages


class LastFound(Policy):
    """Fetch the page that was found last; a link that was seen later counts as `bias` pages, which may be negative."""

    name: ClassVar[str] = "last-found"

    def __init__(self, bias: float = 0.0) -> None:
        self.bias = bias

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._priority = np.zeros(max(web.n_pages, 1024))  # 0: not found yet
        self._n_found = 0
        return self._found(trusted.pages)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        self._priority = grown(self._priority, web.n_pages)
        return self._found(web.links(page))

    def _found(self, pages: NDArray[np.uint32]) -> Priorities:
        is_new = self._priority[pages] == 0
        new = pages[is_new]
        self._priority[new] = np.arange(self._n_found + 1, self._n_found + 1 + len(new))
        self._n_found += len(new)
        self._priority[pages[~is_new]] += self.bias
        return Priorities(pages, self._priority[pages])
