"""The interface of policies.

A policy orders the pages that are known and not fetched. It is pure: arrays in, changed priorities out; it does no I/O,
reads no clock, and reads no links of unfetched pages. Higher priority is sooner, ties go to the lowest page id. It has
two modes with the same order:

- *Step by step*, for a live crawl: `begin` with the trusted pages, then `fetched` (or `failed`, `lost`) for each page;
  each returns the priorities that changed.
- *As one run* on a whole graph, for simulation: `run` returns a Run that fetches in bulk; by default it runs the steps
  one after the other.

The *state* of a policy is its attributes. A live crawl may be killed at any moment. On resume, all events are replayed
to a new policy, or it gets the state from a checkpoint and only later events are replayed. Both must give the same
order. Invariants:

- The attributes are ordinary Python and NumPy objects that can be pickled: numbers, texts, arrays, lists, dicts, sets,
  dataclasses, enums, random generators; no lambdas, generators or open files, and no two arrays that share memory
  (`policy_state.py`). This is checked after `begin`, before the first fetch. If a policy violates it later, its crawl
  continues without checkpoints, and a resume replays all events.
- There is no state elsewhere: neither in global variables nor in class attributes.
- The same events give the same priorities, also in another process, independently of the order of a set, of `hash` of a
  text, and of the time. Random numbers come from a generator among its attributes with a fixed seed.
"""

from __future__ import annotations

import copy
import heapq
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.defaults import DAMPING
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.registry import ClassRegistry


class Priorities(NamedTuple):
    """New priorities of some pages; of repeated pages the last one counts."""

    pages: NDArray[np.uint32]
    values: NDArray[np.float64]


NO_CHANGE = Priorities(np.empty(0, np.uint32), np.empty(0))


class TrustedPages(NamedTuple):
    """The start of the crawl: pages in increasing order, and their trust, above 0, summing to 1."""

    pages: NDArray[np.uint32]
    trust: NDArray[np.float64]

    @classmethod
    def of(cls, trust: NDArray[np.float64]) -> TrustedPages:
        pages = np.flatnonzero(trust).astype(np.uint32)
        return cls(pages, trust[pages])

    def vector(self, n_pages: int) -> NDArray[np.float64]:
        """Return the trust of every page."""
        trust = np.zeros(n_pages)
        trust[self.pages] = self.trust
        return trust


class Run(ABC):
    """A simulated crawl of a whole graph. `order[:n_fetched]` are the pages fetched, in this order.

    `guarantees[k]` is the coverage that the policy itself has proved with k + 1 pages, if it proves any.
    """

    def __init__(self, graph: LinkGraph) -> None:
        self.order: NDArray[np.uint32] = np.empty(graph.n_pages, np.uint32)
        self.n_fetched = 0
        self.is_empty = False  # nothing is left to fetch
        self.guarantees: NDArray[np.float64] | None = None

    @abstractmethod
    def advance(self, limit: int, until: float) -> None:
        """Continue until `limit` pages are fetched, nothing is left, or the policy itself has proved `until`."""

    @property
    def guarantee(self) -> float:
        """The coverage that the policy itself has proved so far."""
        if self.guarantees is None or self.n_fetched == 0:
            return 0.0
        return float(self.guarantees[self.n_fetched - 1])


class Policy(ABC):
    """Base of all policies; keyword arguments of `__init__` are the settings."""

    name: ClassVar[str]
    proves: ClassVar[bool] = False  # computes a guarantee itself, apart from the certificate
    knows_truth: ClassVar[bool] = False  # needs the true rank: for simulation only
    follows_links: ClassVar[bool] = True  # pages that are linked to are queued, with or without a priority

    damping: float = DAMPING
    guarantee: float = 0.0  # coverage proved so far, in a step by step crawl

    @abstractmethod
    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        """Start a crawl from the trusted pages and return their priorities."""

    @abstractmethod
    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        """Receive a fetched page, whose links are in `web`, and return the changed priorities."""

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        """Receive a page that does not exist; by default it counts as a page without links."""
        return self.fetched(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        """Receive a page that will never be fetched."""
        return NO_CHANGE

    def priorities(self, n_pages: int) -> NDArray[np.float64] | None:
        """Return the array with the priority of every queued page, with room for `n_pages` pages; or None.

        The frontier then reads this array instead of storing priorities. Such a policy only raises the priorities of
        queued pages and returns all pages whose priority changed. The priority of an unknown page is 0.
        """
        return None

    def conclude(self, web: GrowingGraph, until: float) -> None:  # noqa: B027 (most have nothing to do here)
        """Improve the guarantee up to `until`, if possible, after the last fetch."""

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        """Return the simulated crawl of a known graph, driven by `advance`; by default step by step."""
        return SteppedRun(graph, trusted, copy.copy(self))


class SteppedRun(Run):
    """A simulated crawl that calls the policy page by page, as a live crawl does."""

    def __init__(self, graph: LinkGraph, trusted: TrustedPages, policy: Policy) -> None:
        super().__init__(graph)
        self._graph = graph
        self._policy = policy
        self._web = GrowingGraph()
        self._web.grow_to(int(trusted.pages.max()) + 1)
        self._priority: dict[int, float] = {}  # of the queued pages
        self._queue: list[tuple[float, int]] = []  # a heap, which may contain stale entries
        self._set_hosts(trusted.pages)
        self._apply(policy.begin(self._web, trusted))

    def advance(self, limit: int, until: float) -> None:
        while self.n_fetched < limit:
            page = self._best()
            if page is None:
                self.is_empty = True
                return
            links = self._graph.links(page)
            self._web.add(page, links)
            self._set_hosts(links)
            self.order[self.n_fetched] = page
            self.n_fetched += 1
            if self._policy.follows_links:
                self._apply(Priorities(links, np.zeros(len(links))), only_new=True)
            self._apply(self._policy.fetched(page, self._web))

    def _best(self) -> int | None:
        while self._queue:
            priority, page = heapq.heappop(self._queue)
            if self._priority.get(page) == -priority:
                del self._priority[page]
                return page
        return None

    def _apply(self, changed: Priorities, only_new: bool = False) -> None:
        for page, value in zip(changed.pages.tolist(), changed.values.tolist(), strict=True):
            if not self._web.is_fetched(page) and not (only_new and page in self._priority):
                self._priority[page] = value
                heapq.heappush(self._queue, (-value, page))

    def _set_hosts(self, pages: NDArray[np.uint32]) -> None:
        if self._graph.hosts is not None:
            self._web.set_hosts(pages, self._graph.hosts[pages])


POLICIES: ClassRegistry[Policy] = ClassRegistry(
    "policy", Policy, package="orienteer.policies", group="orienteer.policies"
)
policy = POLICIES.register  # the decorator that registers a policy under its name


def checked_damping(damping: float) -> float:
    if not 0 <= damping < 1:
        raise InputError(f"damping is {damping}; it must be at least 0 and below 1")
    return damping


class PlannedRun(Run):
    """Fetches in the given order; `guarantees`, if any, never decrease."""

    def __init__(
        self, graph: LinkGraph, order: NDArray[np.uint32], guarantees: NDArray[np.float64] | None = None
    ) -> None:
        super().__init__(graph)
        self.order = order
        self.guarantees = guarantees

    def advance(self, limit: int, until: float) -> None:
        end = min(limit, len(self.order))
        if self.guarantees is not None:
            end = min(end, int(np.searchsorted(self.guarantees, until)) + 1)
        self.n_fetched = max(self.n_fetched, end)
        self.is_empty = self.n_fetched == len(self.order)
