"""How much of what a surfer sees has been fetched: bounds that hold for any set of fetched pages.

Coverage is the total true rank (personalized by the trust) of the fetched pages, RankMass in the paper. Start with p =
trust. Pushing a fetched page with links moves d p_i / c_i to each target; pushing a dangling one only adds p_i to a
counter D. Where some links of a fetched page are not known, their share goes to a counter U. With R, Q what is left on
unfetched and on fetched pages, at *any* moment, finished or not:

    lower = 1 - (R + Q + U) / (1 - d D)      upper = 1 - (1 - d) R / (1 - d D)      lower <= coverage <= upper

and the best lower bound that the known links can prove is at most Q / (1 - d D) higher. The order of pushes does not
matter, so any crawl can be certified, whoever chose its pages.

- A page without links (404, an image) counts as fetched: its mass is covered, though useless.
- A page that can never be fetched (robots, dead host) keeps its mass in R; it is reported as `blocked`.
- A redirect forwards its whole mass, undamped, to its target: they are one page with two names. Where its target is
  not known all of its mass goes to U.
- A page some of whose links were left out (nofollow, too long a URL) divides its mass among all of its links; the
  share of those left out goes to U. Where even their number is not known, all that the page passes on does.
- Trust that lies on unknown pages (`known_trust` below 1) is mass on unfetched pages that never moves.

The lower bound holds whatever the unfetched pages are. The upper one supposes that none of them is another name of a
fetched page (`UPPER_SUPPOSES`): a surfer who goes there would be on a fetched page after all.

*Of what is reachable*: with B what is left on blocked pages (a part of R), no crawl can ever prove more than
1 - (B + U) / (1 - d D), and this only falls. Where it is below the goal the goal is *impossible*. A crawl can still
cover what is left,

    of_reachable = lower / (1 - blocked - unknown) = 1 - (R - B + Q) / (1 - d D - B - U)

which is the coverage seen by a surfer who starts again where a page is blocked or a link is not known, or less. It only
rises: with pushes, with fetched pages and with blocked ones.

*On demand*: pushing alone can prove at most 1 - (R + U) / (1 - d D), and 1 - (R - B) / (1 - d D - B - U) of what is
reachable. While that is below the target nothing need be pushed; once it is not, pages are pushed until the matter is
decided, so a crawl stops at the very page that suffices.
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
    NEVER,
    PROVED,
    SORTED,
    UNKNOWN,
    WANTS_SORTING,
    B,
    Target,
    U,
    fetch_until,
    is_proved,
    push_active,
)
from orienteer.graph.link_graph import LinkGraph, expect_graph, page_ids
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LINKS, PUSHES, D, Links, Q, R
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
    """Bounds on the coverage of the `fetched` pages (ids or a mask); the lower one within `tolerance` of the best.

    Only links of fetched pages are used. `blocked` pages can never be fetched; `aliases` are fetched pages that only
    redirect to their single link. `n_unknown` is for every page the number of links it has besides those in the graph,
    NOBODY_KNOWS where that is not known. `known_trust` is the share of all trust that the given trust stands for.

    >>> from orienteer.graph import shapes
    >>> print(certificate(shapes.chain(3), fetched=[0, 1], trust=[0]))
    at least 27.75 %, at most 89.17 %
    """
    expect_graph(graph)
    coverage = Coverage(trust_vector(graph.n_pages, trust), damping, known_trust)
    coverage.set_aliases(page_ids("aliases", aliases, graph.n_pages))
    if n_unknown is not None:
        coverage.leave_unknown(np.broadcast_to(np.asarray(n_unknown), graph.n_pages))
    links = Links.of(graph)
    pages = np.asarray(fetched)
    pages = np.flatnonzero(pages) if pages.dtype == np.bool_ else pages
    coverage.fetch(page_ids("fetched", pages, graph.n_pages), links)
    coverage.block(page_ids("blocked", blocked, graph.n_pages))
    coverage.settle(links, tolerance)
    return coverage.certificate()


class Coverage:
    """Coverage while a crawl goes on: pages are fetched one by one, bounds can be asked for at any time."""

    def __init__(
        self, trust: NDArray[np.float64], damping: float = 0.85, known_trust: float = 1.0, counts_visits: bool = False
    ) -> None:
        if not 0 < known_trust <= 1:
            raise InputError(f"known_trust is {known_trust}; it must be above 0 and at most 1")
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be at least 0 and below 1")
        self.damping = damping
        self.hidden = 1.0 - known_trust
        self.p = trust * known_trust
        self.flags = np.zeros(len(trust), np.uint8)
        self.unknown = Sparse(np.int32)  # links that are not known, where there are any
        self.counts_visits = counts_visits
        self.visits = np.zeros(len(trust) if counts_visits else 0)  # the mass that was pushed from each page
        self._active: NDArray[np.uint32] = np.zeros(1024, np.uint32)  # a ring with a place for every fetched page
        self.n_fetched = 0  # or more, where pages were named twice
        self.mass = np.array([self.p.sum() + self.hidden, 0.0, 0.0, 0.0, 0.0])
        self.work = np.zeros(5, np.int64)

    @property
    def fetched(self) -> NDArray[np.bool_]:
        """Which pages are fetched; this and the like are made anew each time, and changing them changes nothing."""
        return self._having(FETCHED)

    @property
    def blocked(self) -> NDArray[np.bool_]:
        return self._having(BLOCKED)

    @property
    def alias(self) -> NDArray[np.bool_]:
        return self._having(ALIAS)

    @property
    def n_unknown(self) -> NDArray[np.int32]:
        numbers = np.zeros(len(self.p), np.int32)
        pages, values = self.unknown.items()
        numbers[pages] = values
        numbers.setflags(write=False)
        return numbers

    def _having(self, flag: int) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = (self.flags & flag) != 0
        mask.setflags(write=False)
        return mask

    def is_blocked(self, page: int) -> bool:
        return page < len(self.flags) and bool(self.flags[page] & BLOCKED)

    def is_alias(self, page: int) -> bool:
        return page < len(self.flags) and bool(self.flags[page] & ALIAS)

    def set_aliases(self, pages: Any) -> None:
        """These pages (ids, a mask, one page) are other names of their only links."""
        self.flags[pages] |= np.uint8(ALIAS)

    def set_unknown(self, pages: Any, numbers: Any) -> None:
        """So many links of these pages, all different, are not known."""
        self.flags[pages] |= np.uint8(UNKNOWN)
        self.unknown.set(pages, numbers)

    def leave_unknown(self, numbers: NDArray[Any]) -> None:
        """The same for every page."""
        pages = np.flatnonzero(numbers)
        self.set_unknown(pages, numbers[pages])

    def take_row(self, page: int, other: Coverage) -> None:
        """Take over what another one knows of a page: whether it is another name, and how many links are not known."""
        if page < len(other.flags):
            kept = UNKNOWN | ALIAS
            self.flags[page] = (self.flags[page] & ~np.uint8(kept)) | (other.flags[page] & kept)
            if other.flags[page] & UNKNOWN:
                self.unknown.set(page, other.unknown.get(page))

    @property
    def n_pushes(self) -> int:
        return int(self.work[PUSHES])

    @property
    def n_links_read(self) -> int:
        return int(self.work[LINKS])

    def know(self, n_pages: int) -> None:
        """Make room for pages that have become known; they hold no mass yet."""
        if n_pages > len(self.p):
            self.p, self.flags = grown(self.p, n_pages), grown(self.flags, n_pages)
            if self.counts_visits:
                self.visits = grown(self.visits, n_pages)

    def fetch(self, pages: NDArray[Any], links: Links, until: float | Target = NEVER) -> int:
        """Count pages as fetched, in this order; how many it took until `until` was proved, or 0.

        Those after the one that sufficed are not counted.
        """
        target = until if isinstance(until, Target) else Target(until)
        self.n_fetched += len(pages)
        if self.n_fetched > len(self._active):
            self._straighten()
            self._active = grown(self._active, self.n_fetched)
        done = 0
        while done < len(pages):
            done, answer = fetch_until(links, pages, done, target, *self._arrays())
            if answer == WANTS_SORTING:
                answer = self._push(links, DECIDED, target)
            if answer == PROVED and self._claims(target):
                return int(done)
        return 0

    def block(self, pages: NDArray[Any]) -> None:
        """These pages can never be fetched; what was fetched already stays so."""
        new = np.unique(pages[self.flags[pages] & (FETCHED | BLOCKED) == 0])
        self.flags[new] |= np.uint8(BLOCKED)
        self.mass[B] += self.p[new].sum()

    def proves(self, links: Links, target: Target) -> bool:
        """Whether the pages fetched so far prove it; they are pushed as far as it takes to tell."""
        return min(target) <= 1.0 and self._push(links, DECIDED, target) == PROVED and self._claims(target)

    def over_again(self, trust: NDArray[np.float64], links: Links) -> Coverage:
        """The same pages fetched, pushed from the start: their links are not what they were taken for."""
        new = Coverage(trust, self.damping, 1.0 - self.hidden, self.counts_visits)
        new.know(len(self.p))
        new.flags[: len(self.p)] = self.flags & (ALIAS | UNKNOWN)
        new.unknown.set(*self.unknown.items())
        new.fetch(np.flatnonzero(self.fetched).astype(np.uint32), links)
        new.block(np.flatnonzero(self.blocked))
        return new

    def settle(self, links: Links, tolerance: float = 1e-9) -> None:
        """Push until the lower bound is within `tolerance` of the best that the known links can prove."""
        self.push_on(links, tolerance)
        self._recount()

    def push_on(self, links: Links, tolerance: float) -> None:
        """The same, without counting the mass anew: its running sums carry rounding."""
        self._push(links, tolerance, Target())

    def _push(self, links: Links, goal: float, target: Target) -> int:
        while True:
            answer = int(push_active(links, goal, target, *self._arrays()))
            if answer != WANTS_SORTING:
                return answer
            self._straighten()
            self._active[: self.work[N_ACTIVE]].sort()
            self.work[SORTED] = 1

    def _arrays(self) -> tuple[Any, ...]:
        return (
            self.p, self.flags, self.unknown.keys, self.unknown.values, self.visits, self._active, self.mass, self.work,
            self.damping,
        )  # fmt: skip

    def _straighten(self) -> None:
        """Turn the ring so that it begins at the start of its array."""
        self._active = np.roll(self._active, -int(self.work[FIRST]))
        self.work[FIRST] = 0

    def certificate(self) -> Certificate:
        """The bounds as they stand."""
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

    def makes_impossible(self, until: float) -> bool:
        """Whether no more fetching can ever prove this coverage, by what has been pushed so far."""
        return bool(self.mass[B] + self.mass[U] > (1.0 - until) * (1.0 - self.damping * self.mass[D]))

    def _claims(self, target: Target) -> bool:
        """Whether it is proved. The running sums carry rounding; a claim is made from exact ones."""
        self._recount()
        return bool(is_proved.plain(target, self.mass, self.damping))

    @property
    def lower(self) -> float:
        """The lower bound, by what has been pushed so far."""
        return float(1.0 - (self.mass[R] + self.mass[Q] + self.mass[U]) / (1.0 - self.damping * self.mass[D]))

    def _recount(self) -> None:
        """Sum the mass anew."""
        fetched = self.fetched
        self.mass[Q] = self.p[fetched].sum()
        self.mass[R] = self.p[~fetched].sum() + self.hidden
        self.mass[B] = self.p[self.blocked].sum()
