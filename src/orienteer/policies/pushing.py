"""RankMass, and the default policy `certified`: fetched pages push mass repeatedly (graph/push.py)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph import priority_queue as queues
from orienteer.graph import push
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.spread import enter
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages, checked_damping, policy

_NOT_LISTED = np.empty(0, np.uint32)


class Pushed:
    """The mass, queues and counters of the push kernels, for `n_pages` pages."""

    def __init__(self, n_pages: int, trusted: TrustedPages, rule: push.PushRule) -> None:
        self.rule = rule
        self.trusted = trusted
        self.p = np.zeros(n_pages)
        self.state = np.zeros(n_pages, np.uint8)
        self.mass = np.array([rule.total, 0.0, 0.0])
        self.work = np.zeros(4, np.int64)
        self.work[push.KNOWN] = len(trusted.pages)
        self.known = queues.with_room(queues.new_queue(n_pages), len(trusted.pages))
        self.waiting = queues.new_queue(n_pages)
        enter(trusted.pages, rule.total * trusted.trust, *self.known, self.p, self.p.view(np.int64))

    def grow_to(self, n_pages: int) -> None:
        if n_pages > len(self.p):
            self.p, self.state = grown(self.p, n_pages), grown(self.state, n_pages)

    def arguments(self, links: push.LinkRows, touched: np.ndarray) -> tuple[object, ...]:
        """Return the arguments common to all push kernels."""
        bits = self.p.view(np.int64)
        return (links, *self.trusted, self.p, bits, self.state, self.mass, self.work, touched, self.rule,
                *self.known, *self.waiting)  # fmt: skip

    def make_room(self, n_entries: int) -> None:
        n_entries += len(self.trusted.pages)
        self.known = queues.with_room(self.known, n_entries)
        self.waiting = queues.with_room(self.waiting, n_entries)


class PushingPolicy(Policy):
    """`eagerness`, `floor` and `closed` as in graph/push.py."""

    eagerness: float = 1.0
    floor: ClassVar[float] = 0.0
    closed: bool = False

    def _rule(self, until: float) -> push.PushRule:
        total = 1.0 if self.closed else 1.0 - self.damping
        return push.PushRule(self.damping, self.eagerness, self.floor, self.closed, total, until)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._pushed = Pushed(max(web.n_pages, 1024), trusted, self._rule(until=2.0))
        return Priorities(trusted.pages, self._pushed.p[trusted.pages])

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        pushed = self._pushed
        n_links = len(web.links(page))
        pushed.grow_to(web.n_pages)
        links = push.LinkRows.of(web)
        touched = np.empty(4 * n_links + 4096, np.uint32)
        pushed.work[push.TOUCHED] = 0
        best = push.push_fetched(page, *pushed.arguments(links, touched))
        if best == push.NOT_FETCHED:
            pushed.make_room(n_links + 64)
            best = push.push_fetched(page, *pushed.arguments(links, touched))
        return self._after_pushes(web, links, touched, best)

    def priorities(self, n_pages: int) -> np.ndarray:
        self._pushed.grow_to(n_pages)
        return self._pushed.p

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        pushed = self._pushed
        pushed.grow_to(web.n_pages)
        pushed.state[page] = push.LOST
        touched = np.empty(4096, np.uint32)
        pushed.work[push.TOUCHED] = 0
        return self._after_pushes(web, push.LinkRows.of(web), touched)

    def conclude(self, web: GrowingGraph, until: float) -> None:
        self._pushed.rule = self._rule(until)
        self._after_pushes(web, push.LinkRows.of(web), _NOT_LISTED)
        self._pushed.rule = self._rule(until=2.0)  # later pages, if any, are pushed by the usual rule

    def _after_pushes(
        self, web: GrowingGraph, links: push.LinkRows, touched: np.ndarray, best: int | None = None
    ) -> Priorities:
        """Push as the rule requires, unless the `best` page is known already; return the changed priorities."""
        pushed = self._pushed
        if best is None:
            best = push.push_waiting(*pushed.arguments(links, touched))
        while best == queues.LACKS_ROOM:
            pushed.make_room(100_000)
            best = push.push_waiting(*pushed.arguments(links, touched))
        self.guarantee = float(push.proved.plain(pushed.mass, pushed.rule))
        n = int(pushed.work[push.TOUCHED])
        if n == len(touched):  # the list is full: other pages may have changed, too
            unfetched = (pushed.state[: web.n_pages] == push.UNFETCHED) & (pushed.p[: web.n_pages] > 0)
            changed = np.flatnonzero(unfetched).astype(np.uint32)
        else:
            changed = touched[:n]
        return Priorities(changed, pushed.p[changed])

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return _PushingRun(graph, trusted, self)


class _PushingRun(Run):
    def __init__(self, graph: LinkGraph, trusted: TrustedPages, owner: PushingPolicy) -> None:
        super().__init__(graph)
        self._owner = owner
        self._links = push.LinkRows.of(graph)
        self._most = int(graph.out_degrees().max(initial=0))
        self._pushed = Pushed(graph.n_pages, trusted, owner._rule(until=2.0))
        self.guarantees = np.zeros(graph.n_pages)
        self.work = self._pushed.work

    def advance(self, limit: int, until: float) -> None:
        self._pushed.rule = self._owner._rule(until if self._owner.proves else 2.0)
        while True:
            arguments = self._pushed.arguments(self._links, _NOT_LISTED)
            self.n_fetched, why = push.push_best_first(*arguments, self.order, self.guarantees, self.n_fetched, limit)
            if why != queues.LACKS_ROOM:
                self.is_empty = why == queues.NONE
                return
            self._pushed.make_room(self._most + 100_000)


@policy
class RankMass(PushingPolicy):
    """RankMass (Cho & Schonfeld, VLDB 2007): fetch in the order that raises the proved coverage fastest.

    Take the page with the most mass, fetched or not; fetch it if new; it passes d of its mass on to its links.

    Its own guarantee is the total mass taken, CRM; invariant: CRM = 1 - sum(rm) / (1 - d) at any time.
    A dangling page returns its mass to every trusted page, so many trusted pages make it slow.
    """

    name: ClassVar[str] = "rankmass"
    proves: ClassVar[bool] = True

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = checked_damping(damping)


@policy
class Certified(PushingPolicy):
    """The default policy: the fewest fetches to a certified coverage, with the least work.

    RankMass's order with dangling pages in closed form, stopped by the tight certificate (graph/coverage.py).

    The certificate proves the best bound that the known links allow, and is updated only when it could reach the
    target, so the crawl ends at the first page that suffices: about a fifth to a third fewer fetches than RankMass's
    own guarantee needs. With `eagerness` below 1, mass on fetched pages is pushed earlier (near 0: nearly all of it
    before each fetch); this costs work and hardly saves fetches.
    """

    name: ClassVar[str] = "certified"
    closed = True
    floor: ClassVar[float] = 1e-3  # with 0.01, hardly more is saved, and some orders until 0.9999 are worse

    def __init__(self, eagerness: float = 1.0, damping: float = 0.85) -> None:
        if not 1e-6 <= eagerness <= 1:
            raise InputError(f"eagerness is {eagerness}; it must be from 1e-6 to 1 (1 is RankMass's order)")
        self.eagerness = eagerness
        self.damping = checked_damping(damping)
