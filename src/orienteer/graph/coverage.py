"""Coverage, the share of a random surfer's time on fetched pages, with bounds that hold for any set of fetched pages.

Coverage is the total true rank (personalized by the trust) of the fetched pages, called RankMass in the paper. Start
with p = trust. Pushing a fetched page with links moves d p_i / c_i to each target; pushing a dangling page only adds
p_i to a counter D. The share of links whose targets are unknown goes to a counter U. Let R and Q be the mass left on
unfetched and on fetched pages. At *any* moment, whether or not the pushes have converged:

    lower = 1 - (R + Q + U) / (1 - d D)      upper = 1 - (1 - d) R / (1 - d D)      lower <= coverage <= upper

Stopping rule: the best lower bound that the known links can prove is at most Q / (1 - d D) higher than `lower`. The
order of pushes does not matter, so the pages of any crawl can be certified, whatever policy chose them.

- A page without links (404, an image) counts as fetched: its mass is covered, though useless.
- A page that can never be fetched (robots.txt, unreachable host) keeps its mass in R; it is reported as `blocked`.
- A redirect (an alias) forwards its whole mass, undamped, to its target: both URLs name one page. If its target is
  unknown, all of its mass goes to U.
- A page whose links were partly left out (nofollow, URLs that are too long) divides its mass among all of its links;
  the share of those left out goes to U. If even their number is unknown, everything that the page passes on goes to U.
- Trust on unknown pages (`known_trust` below 1) is mass on unfetched pages that never moves.

The lower bound holds whatever the unfetched pages are. The upper bound assumes that none of them is another name of a
fetched page (`UPPER_ASSUMES`): a surfer on such a page would be on a fetched page.

*Coverage of what is reachable*: let B be the mass on blocked pages (contained in R). No crawl can ever prove more than
1 - (B + U) / (1 - d D), and this limit only falls. A goal above it is *impossible*. A crawl can still cover the rest:

    of_reachable = lower / (1 - blocked - unknown) = 1 - (R - B + Q) / (1 - d D - B - U)

This is a lower bound on the coverage seen by a surfer who restarts at blocked pages and unknown links. It only rises:
with pushes, with fetched pages and with blocked ones.

*Pushing on demand*: pushing alone can prove at most 1 - (R + U) / (1 - d D), and 1 - (R - B) / (1 - d D - B - U) of
what is reachable. While this is below the target, pushing cannot help and is skipped; afterwards pages are pushed until
the target is decided, so a crawl stops at the first page that suffices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.coverage_push import (
    ALIAS,
    BLOCKED,
    DECIDED,
    FETCHED,
    FIRST,
    N_ACTIVE,
    NEEDS_SORTING,
    NEVER,
    PROVED,
    SORTED,
    UNKNOWN,
    B,
    ProofTarget,
    U,
    fetch_until,
    is_proved,
    push_active,
)
from orienteer.graph.link_graph import LinkGraph, expect_graph, page_ids
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LINKS, PUSHES, D, LinkRows, Q, R
from orienteer.graph.sparse import Sparse
from orienteer.graph.trust import Trust, trust_vector


def certificate(
    graph: LinkGraph,
    fetched: ArrayLike,
    trust: Trust = None,
    *,
    damping: float = 0.85,
    blocked: ArrayLike = (),
    aliases: ArrayLike = (),
    n_unknown: ArrayLike | None = None,
    known_trust: float = 1.0,
    tolerance: float = 1e-9,
) -> Certificate:
    """Return bounds on the coverage of the `fetched` pages (ids or a mask), the lower within `tolerance` of the best.

    Only links of fetched pages are used. `blocked` pages can never be fetched; `aliases` are fetched pages that only
    redirect to their single link. `n_unknown` is, for every page, the number of its links that are not in the graph, or
    UNKNOWN_COUNT. `known_trust` is the share of all trust that the given trust accounts for.

    >>> from orienteer.graph import shapes
    >>> print(certificate(shapes.chain(3), fetched=[0, 1], trust=[0]))
    at least 27.75 %, at most 89.17 %
    """
    expect_graph(graph)
    coverage = Coverage(trust_vector(graph.n_pages, trust), damping, known_trust)
    coverage.set_given(graph, fetched, blocked, aliases, n_unknown)
    coverage.settle(LinkRows.of(graph), tolerance)
    return coverage.certificate()


class Coverage:
    """The coverage of a running crawl: pages are added as they are fetched, and the bounds are valid at any time."""

    def __init__(
        self, trust: NDArray[np.float64], damping: float = 0.85, known_trust: float = 1.0, counts_visits: bool = False
    ) -> None:
        if not 0 < known_trust <= 1:
            raise InputError(f"known_trust is {known_trust}; it must be above 0 and at most 1")
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be at least 0 and below 1")
        self.damping = damping
        self.hidden = 1.0 - known_trust  # trust on unknown pages, whose mass never moves
        self.p = trust * known_trust
        self.flags = np.zeros(len(trust), np.uint8)
        self.unknown = Sparse(np.int32)  # number of unknown links, for pages that have any
        self.counts_visits = counts_visits
        self._visits = np.zeros(0)  # total mass pushed from each page, by the row of its links
        self._active: NDArray[np.uint32] = np.zeros(1024, np.uint32)  # ring buffer with room for every fetched page
        self.n_fetched = 0  # an upper bound: repeated pages are counted again
        self.mass = np.array([self.p.sum() + self.hidden, 0.0, 0.0, 0.0, 0.0])
        self.work = np.zeros(5, np.int64)

    @property
    def fetched(self) -> NDArray[np.bool_]:
        """A read-only mask of the fetched pages, computed on each access, like the other masks."""
        return self._mask_of(FETCHED)

    @property
    def blocked(self) -> NDArray[np.bool_]:
        return self._mask_of(BLOCKED)

    @property
    def alias(self) -> NDArray[np.bool_]:
        return self._mask_of(ALIAS)

    @property
    def n_unknown(self) -> NDArray[np.int32]:
        numbers = np.zeros(len(self.p), np.int32)
        pages, values = self.unknown.items()
        numbers[pages] = values
        numbers.setflags(write=False)
        return numbers

    def _mask_of(self, flag: int) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = (self.flags & flag) != 0
        mask.setflags(write=False)
        return mask

    def is_blocked(self, page: int) -> bool:
        return page < len(self.flags) and bool(self.flags[page] & BLOCKED)

    def is_alias(self, page: int) -> bool:
        return page < len(self.flags) and bool(self.flags[page] & ALIAS)

    def set_aliases(self, pages: Any) -> None:
        """Mark pages (ids, a mask, one page) as other names of their only link's target."""
        self.flags[pages] |= np.uint8(ALIAS)

    def set_unknown(self, pages: Any, numbers: Any) -> None:
        """Set the number of unknown links of these distinct pages."""
        self.flags[pages] |= np.uint8(UNKNOWN)
        self.unknown.set(pages, numbers)

    def set_all_unknown(self, numbers: NDArray[Any]) -> None:
        """Set the number of unknown links of every page."""
        pages = np.flatnonzero(numbers)
        self.set_unknown(pages, numbers[pages])

    def set_given(
        self, graph: LinkGraph, fetched: ArrayLike, blocked: ArrayLike, aliases: ArrayLike, n_unknown: ArrayLike | None
    ) -> None:
        """Set all pages of a graph at once; the arguments are those of `certificate`."""
        self.set_aliases(page_ids("aliases", aliases, graph.n_pages))
        numbers = np.asarray(0 if n_unknown is None else n_unknown)
        if numbers.shape not in ((), (graph.n_pages,)):
            raise InputError(f"n_unknown: expected one number for each of {graph.n_pages} pages, got {numbers.size}")
        self.set_all_unknown(np.broadcast_to(numbers, graph.n_pages))
        pages = np.asarray(fetched)
        pages = np.flatnonzero(pages) if pages.dtype == np.bool_ else pages
        self.fetch(page_ids("fetched", pages, graph.n_pages), LinkRows.of(graph))
        self.block(page_ids("blocked", blocked, graph.n_pages))

    def copy_page_states(self, pages: NDArray[Any], other: Coverage) -> None:
        """Copy from another Coverage which of these pages are aliases, and how many of their links are unknown."""
        other.grow_to(int(pages.max(initial=0)) + 1)
        copied = other.flags[pages] & np.uint8(UNKNOWN | ALIAS)
        self.flags[pages] = (self.flags[pages] & ~np.uint8(UNKNOWN | ALIAS)) | copied
        incomplete = pages[(copied & UNKNOWN) != 0]
        self.unknown.set(incomplete, [other.unknown.get(page) for page in incomplete.tolist()])

    @property
    def n_pushes(self) -> int:
        return int(self.work[PUSHES])

    @property
    def n_links_read(self) -> int:
        return int(self.work[LINKS])

    def grow_to(self, n_pages: int) -> None:
        """Make room for newly discovered pages; they hold no mass yet."""
        if n_pages > len(self.p):
            self.p, self.flags = grown(self.p, n_pages), grown(self.flags, n_pages)

    def fetch(self, pages: NDArray[Any], links: LinkRows, until: float | ProofTarget = NEVER) -> int:
        """Count pages as fetched, in this order; return how many of them prove `until`, or 0 if all do not prove it.

        Pages after the one that sufficed are not counted.
        """
        target = until if isinstance(until, ProofTarget) else ProofTarget(until)
        if self.counts_visits:
            self._visits = grown(self._visits, len(links.offsets))
        self.n_fetched += len(pages)
        if self.n_fetched > len(self._active):
            self._unroll_ring()
            self._active = grown(self._active, self.n_fetched)
        done = 0
        while done < len(pages):
            done, result = fetch_until(links, pages, done, target, *self._arrays())
            if result == NEEDS_SORTING:
                result = self._push(links, DECIDED, target)
            if result == PROVED and self._is_confirmed(target):
                return int(done)
        return 0

    def visits(self, pages: NDArray[Any], links: LinkRows) -> NDArray[np.float64]:
        """Return the total mass pushed from each of these fetched pages, if visits are counted."""
        visits: NDArray[np.float64] = self._visits[links.rows[pages] if len(links.rows) else pages]
        return visits

    def block(self, pages: NDArray[Any]) -> None:
        """Mark pages that can never be fetched; pages that are fetched already stay fetched."""
        new = np.unique(pages[self.flags[pages] & (FETCHED | BLOCKED) == 0])
        self.flags[new] |= np.uint8(BLOCKED)
        self.mass[B] += self.p[new].sum()

    def proves(self, links: LinkRows, target: ProofTarget) -> bool:
        """Return whether the pages fetched so far prove the target, pushing as far as needed to decide."""
        return min(target) <= 1.0 and self._push(links, DECIDED, target) == PROVED and self._is_confirmed(target)

    def rebuilt(self, trust: NDArray[np.float64], links: LinkRows) -> Coverage:
        """Return a new Coverage of the same pages, pushed from the start, after links of fetched pages changed."""
        new = Coverage(trust, self.damping, 1.0 - self.hidden, self.counts_visits)
        new.grow_to(len(self.p))
        new.flags[: len(self.p)] = self.flags & (ALIAS | UNKNOWN)
        new.unknown.set(*self.unknown.items())
        new.fetch(np.flatnonzero(self.fetched).astype(np.uint32), links)
        new.block(np.flatnonzero(self.blocked))
        return new

    def settle(self, links: LinkRows, tolerance: float = 1e-9) -> None:
        """Push until the lower bound is within `tolerance` of the best that the known links can prove."""
        self.push_until(links, tolerance)
        self._recount()

    def push_until(self, links: LinkRows, tolerance: float) -> None:
        """Push like `settle`, but keep the running sums of mass, which carry rounding errors."""
        self._push(links, tolerance, ProofTarget())

    def _push(self, links: LinkRows, goal: float, target: ProofTarget) -> int:
        while True:
            result = int(push_active(links, goal, target, *self._arrays()))
            if result != NEEDS_SORTING:
                return result
            self._unroll_ring()
            self._active[: self.work[N_ACTIVE]].sort()
            self.work[SORTED] = 1

    def _arrays(self) -> tuple[Any, ...]:
        return (
            self.p, self.flags, self.unknown.keys, self.unknown.values, self._visits, self._active, self.mass,
            self.work, self.damping,
        )  # fmt: skip

    def _unroll_ring(self) -> None:
        """Rotate the ring buffer so that it begins at index 0."""
        self._active = np.roll(self._active, -int(self.work[FIRST]))
        self.work[FIRST] = 0

    def certificate(self) -> Certificate:
        """Return the current bounds."""
        self._recount()
        total = 1.0 - self.damping * self.mass[D]
        return Certificate(
            lower=max(0.0, self.lower),
            upper=float(1.0 - (1.0 - self.damping) * self.mass[R] / total),
            blocked=float(self.mass[B] / total),
            frontier=float((self.mass[R] - self.mass[B]) / total),
            unsettled=float(self.mass[Q] / total),
            unknown=float(self.mass[U] / total),
        )

    def is_impossible(self, until: float) -> bool:
        """Return whether no further fetch can prove this coverage, judging by the mass pushed so far."""
        return bool(self.mass[B] + self.mass[U] > (1.0 - until) * (1.0 - self.damping * self.mass[D]))

    def _is_confirmed(self, target: ProofTarget) -> bool:
        """Return whether the target is proved by recounted sums: the running ones carry rounding errors."""
        self._recount()
        return bool(is_proved.plain(target, self.mass, self.damping))

    @property
    def lower(self) -> float:
        """The lower bound that the mass pushed so far proves."""
        return float(1.0 - (self.mass[R] + self.mass[Q] + self.mass[U]) / (1.0 - self.damping * self.mass[D]))

    def _recount(self) -> None:
        """Recompute the sums of mass, without the rounding errors of the running ones."""
        fetched = self.fetched
        self.mass[Q] = self.p[fetched].sum()
        self.mass[R] = self.p[~fetched].sum() + self.hidden
        self.mass[B] = self.p[self.blocked].sum()
