"""Fractional PageRank, OPIC and in-link count: a fetched page passes its priority on to its links once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import priority_queue as queues
from orienteer.graph import spread
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.spread import SpreadRule
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages, checked_damping, policy

_NO_HOSTS = np.empty(0, np.int32)
_NO_STARTS = np.empty(0, np.int64)


class SpreadingPolicy(Policy):
    """`rule` gives the shares passed on; a trusted page starts with `per_trust` times its trust (0: a tiny value)."""

    rule: spread.SpreadRule
    per_trust: float

    def _entries(self, trusted: TrustedPages) -> NDArray[np.float64]:
        if self.per_trust == 0.0:
            return np.full(len(trusted.pages), spread.TINY)
        return self.per_trust * trusted.trust

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._priority = np.zeros(max(web.n_pages, 1024))
        self._priority[trusted.pages] = self._entries(trusted)
        return Priorities(trusted.pages, self._priority[trusted.pages])

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        priority = self.priorities(web.n_pages)
        links = web.links(page)
        touched = np.empty(len(links), np.uint32)
        hosts = web.hosts if self.rule.inter_host_weight != 1.0 else _NO_HOSTS
        n = spread.spread_row(page, links, hosts, _NO_STARTS, self.rule, priority, touched)
        return Priorities(touched[:n], priority[touched[:n]])

    def priorities(self, n_pages: int) -> NDArray[np.float64]:
        self._priority = grown(self._priority, n_pages)
        return self._priority

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        self._priority = grown(self._priority, web.n_pages)
        self._priority[page] = spread.FETCHED
        return super().lost(page, web)

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        if self.rule.inter_host_weight != 1.0 and graph.hosts is None:
            raise InputError(f"{self.name}: inter_host_weight needs hosts, and this graph has none")
        return _SpreadingRun(graph, trusted, self._entries(trusted), self.rule)


class _SpreadingRun(Run):
    def __init__(
        self, graph: LinkGraph, trusted: TrustedPages, entries: NDArray[np.float64], rule: spread.SpreadRule
    ) -> None:
        super().__init__(graph)
        weighs_hosts = rule.inter_host_weight != 1.0 and graph.hosts is not None
        self._hosts = graph.hosts if weighs_hosts else _NO_HOSTS
        self._host_starts = spread.contiguous_host_starts(graph.hosts) if weighs_hosts else _NO_STARTS
        self._links = graph.starts, graph.ends, graph.targets
        self._rule = rule
        self._priority = np.zeros(graph.n_pages)
        self._queue = queues.with_room(queues.new_queue(graph.n_pages), len(trusted.pages))
        spread.enter(trusted.pages, entries, *self._queue, self._priority, self._priority.view(np.int64))

    def advance(self, limit: int, until: float) -> None:
        while True:
            self.n_fetched, why = spread.spread_best_first(
                *self._links, self._hosts, self._host_starts, self._priority, self._priority.view(np.int64),
                *self._queue, self._rule, self.order, self.n_fetched, limit,
            )  # fmt: skip
            if why != queues.LACKS_ROOM:
                self.is_empty = why == queues.NONE
                return
            self._queue = queues.with_room(self._queue, len(self.order) // 50 + 100_000)


@policy
class Fractional(SpreadingPolicy):
    """Fractional PageRank: an approximation of RankMass's order at a fraction of its cost.

    Fetch the page with the largest fraction of PageRank received so far; it passes its fraction on once.

    `inter_host_weight` is the paper's M: a link to another host gets M times the share of a link inside the host.
    The default 1 is plain FPR, best by personalized rank on every graph we measured; M = 20 to 100 can be better by
    uniform rank. Each link is read once; the policy has no guarantee of its own.
    """

    name: ClassVar[str] = "fractional"

    def __init__(self, inter_host_weight: float = 1.0, damping: float = 0.85) -> None:
        if not 0 < inter_host_weight < 1e12:
            raise InputError(f"inter_host_weight is {inter_host_weight}; it must be above 0 (the paper's M, 1 to 100)")
        self.damping = checked_damping(damping)
        self.rule = SpreadRule(self.damping, float(inter_host_weight), 0.0)
        self.per_trust = 1.0 - self.damping


@policy
class Opic(SpreadingPolicy):
    """Adaptive On-line Page Importance Computation (Abiteboul, Preda & Cobena, WWW 2003), for a first crawl.

    Fetch the page with the most cash; it distributes all of it evenly over its links.

    Pages are fetched once here, so cash for a fetched page is lost. It is Fractional PageRank without damping.
    """

    name: ClassVar[str] = "opic"
    rule = SpreadRule(1.0, 1.0, 0.0)
    per_trust = 1.0


@policy
class InLinks(SpreadingPolicy):
    """Fetch the page that the most fetched pages link to (Cho, Garcia-Molina & Page, WWW 1998)."""

    name: ClassVar[str] = "in-links"
    rule = SpreadRule(1.0, 1.0, 1.0)
    per_trust = 0.0
