"""What a policy is.

A policy orders the pages that are known and not fetched. It is pure: arrays in, changed priorities out; it opens no
file, asks no clock, and reads no link of a page that has not been fetched. Higher priority is sooner, ties go to the
lowest page id. It works in two ways that give the same order:

- *Step by step*, for a crawl that fetches for real: `begin` with the trusted pages, then `fetched` (or `lost`) for each
  page; both return the priorities that changed.
- *As one run* on a whole graph, for simulation: `run` returns a Run that fetches in bulk. A policy that has none of
  its own takes its steps one after the other.

What it knows from page to page is its *state*: its attributes. A live crawl may be killed at any moment. When it is
resumed, a new policy is told everything again from `begin` on, or it gets the state that was saved in a checkpoint and
is told the rest. Both must lead to the same order. So a policy promises:

- Its attributes hold ordinary Python and NumPy: numbers, texts, arrays, lists, dicts, sets, dataclasses, enums, random
  generators, nested at will (`policy_state.py` has the whole list). No function, no open file, no object of a class
  that is none of these. This is checked after `begin`, before the first fetch. Where it breaks the promise later, its
  crawl goes on, but no checkpoint can be made, and a resume tells everything again.
- It keeps nothing anywhere else: not in a global variable, not in an attribute of the class.
- The same events give the same priorities, also in another process. The order of a set must not matter, nor `hash` of a
  text, nor the time. Random numbers come from a generator among its attributes that was made with a fixed number.
"""

from __future__ import annotations

import copy
import heapq
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.registry import ClassRegistry


class Priorities(NamedTuple):
    """New priorities of some pages; the last one counts where a page is named twice."""

    pages: NDArray[np.uint32]
    values: NDArray[np.float64]


NO_CHANGE = Priorities(np.empty(0, np.uint32), np.empty(0))


class TrustedPages(NamedTuple):
    """Where the crawl starts: pages in increasing order, and their trust, above 0, summing to 1."""

    pages: NDArray[np.uint32]
    trust: NDArray[np.float64]

    @classmethod
    def of(cls, trust: NDArray[np.float64]) -> TrustedPages:
        pages = np.flatnonzero(trust).astype(np.uint32)
        return cls(pages, trust[pages])

    def vector(self, n_pages: int) -> NDArray[np.float64]:
        """The trust of every page."""
        trust = np.zeros(n_pages)
        trust[self.pages] = self.trust
        return trust


class Run(ABC):
    """A policy at work on a whole graph. `order[:n_fetched]` is what it has fetched, in this order.

    `guarantees[k]` is the coverage the policy itself has proved with k + 1 pages, where it proves any.
    """

    def __init__(self, graph: LinkGraph) -> None:
        self.order: NDArray[np.uint32] = np.empty(graph.n_pages, np.uint32)
        self.n_fetched = 0
        self.is_empty = False  # nothing is left to fetch
        self.guarantees: NDArray[np.float64] | None = None

    @abstractmethod
    def advance(self, limit: int, until: float) -> None:
        """Go on until `limit` pages are fetched, nothing is left, or the policy itself has proved `until`."""

    @property
    def guarantee(self) -> float:
        """What the policy itself has proved so far."""
        if self.guarantees is None or self.n_fetched == 0:
            return 0.0
        return float(self.guarantees[self.n_fetched - 1])


class Policy(ABC):
    """Base of all policies; keyword arguments of `__init__` are the settings."""

    name: ClassVar[str]
    proves: ClassVar[bool] = False  # has a guarantee of its own
    knows_truth: ClassVar[bool] = False  # needs the true rank: for simulation only
    follows_links: ClassVar[bool] = True  # pages that are linked to wait to be fetched, priority or not

    damping: float = 0.85
    guarantee: float = 0.0  # coverage proved so far, step by step

    @abstractmethod
    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        """The crawl starts; the trusted pages are known."""

    @abstractmethod
    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        """The page was fetched and its links are in `web`."""

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        """The page was asked for, and there is none: to most policies a page without links."""
        return self.fetched(page, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        """The page will never be fetched."""
        return NO_CHANGE

    def priorities(self, n_pages: int) -> NDArray[np.float64] | None:
        """An array in which it keeps the priority of every page that waits, with room for so many pages; or None.

        A frontier then keeps none of its own. Such a policy only ever raises the priority of a page that waits, and
        names all pages whose priority it has changed. 0 is that of a page that it has not heard of.
        """
        return None

    def conclude(self, web: GrowingGraph, until: float) -> None:  # noqa: B027 (most have nothing to do here)
        """Nothing is left to fetch: work on the guarantee until it reaches `until`, if it can."""

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        """The whole crawl of a known graph, to be driven by `advance`; step by step where there is no faster way."""
        return SteppedRun(graph, trusted, copy.copy(self))


class SteppedRun(Run):
    """The steps of a policy, one after the other, as a live crawl takes them."""

    def __init__(self, graph: LinkGraph, trusted: TrustedPages, policy: Policy) -> None:
        super().__init__(graph)
        self._graph = graph
        self._policy = policy
        self._web = GrowingGraph()
        self._web.know(int(trusted.pages.max()) + 1)
        self._priority: dict[int, float] = {}  # of the pages that wait
        self._queue: list[tuple[float, int]] = []  # with entries that are stale
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
