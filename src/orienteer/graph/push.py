"""Repeated pushes of mass from fetched pages: RankMass, and a generalization that approaches the tightest bound.

p starts as a multiple of the trust. Pushing page i takes its mass p_i and gives d p_i / c_i to each page it links to.
Only a fetched page can be pushed, since only its links are known. Two queues hold the pages with mass: one the
unfetched ones, one the fetched ones. With `eagerness` c:

    while the best fetched page has more mass than c times the best unfetched one: push it
    fetch the best unfetched page, and push it

c = 1 is RankMass: "take the page with the largest rm, downloaded or not". As c goes to 0, all mass on fetched pages is
pushed before each fetch, which proves more with the same number of fetches, at the cost of more pushes.

With a `floor` f above 0, a fetched page with at most f s / n waits until it has more: s is the initial sum of p, and n
the number of pages that have ever had mass, so the threshold falls as pages become known. Late in a crawl the best
unfetched pages have hardly any mass; without a floor, each of them waits until the mass that still moves among the
fetched pages is as small. What waits is at most f s in all, is counted in Q, and would add at most d f s to the mass of
all unfetched pages together (docs/theory/order.md).

A dangling page returns its mass to the trusted pages (as in RankMass) or, *closed*, adds it only to a counter D. Let R
and Q be the mass on unfetched and on fetched pages, and s the initial sum of p. The proved coverage is at least

    1 - (R + Q) / (s - d D)

where D is 0 without the closed form. For RankMass this is the paper's CRM. coverage.py has a better bound for the same
pages.

`push_best_first` simulates a whole crawl in one loop; `push_waiting`, which it calls, is the work after one real fetch.
A real crawl needs the unfetched pages whose mass changed: they are listed in `touched` (empty for a simulation).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.priority_queue import LACKS_ROOM, NONE, best, drop_best, lacks_room, raise_priority
from orienteer.kernel import inlined, kernel

# Indices into `mass`: on unfetched pages, on fetched pages, absorbed by dangling pages (closed form).
R, Q, D = range(3)
# Indices into `work`: pushes, links read, unfetched pages that received mass (counted while `touched` has room), pages
# that have ever had mass.
PUSHES, LINKS, TOUCHED, KNOWN = range(4)

REACHED = -3  # the target coverage is proved
NOT_FETCHED = -4  # a queue needs more room before a page can be fetched

_NEGLIGIBLE = 1e-18  # of all mass, on the best page: further pushes prove nothing more
_TINY = 1e-300  # least mass of a page that is linked to: 0 would mean that it is unknown

_ONE_FOR_EACH_PAGE = np.empty(0, np.uint32)

# States of a page: not fetched; fetched, so it can be pushed; can never be fetched, so it keeps its mass.
UNFETCHED, FETCHED, LOST = range(3)


class PushRule(NamedTuple):
    """`floor` is a share of `total`, the initial sum of p; `until` is the coverage to stop at, above 1 for none."""

    damping: float
    eagerness: float
    floor: float
    closed: bool
    total: float
    until: float


class LinkRows(NamedTuple):
    """The links of fetched pages: row r is `targets[offsets[r]:offsets[r + 1]]`; `row_of` gives the row of a page.

    `rows` is empty if every page has the row of its own number.
    """

    rows: Any
    offsets: Any
    targets: Any

    @classmethod
    def of(cls, web: LinkGraph | GrowingGraph) -> LinkRows:
        if isinstance(web, GrowingGraph):
            if web.link_rows is None:
                web.link_rows = cls(web.rows, web.offsets, web.targets)
            return web.link_rows  # type: ignore[no-any-return]  # that module cannot import this class
        return cls(_ONE_FOR_EACH_PAGE, web.offsets, web.targets)

    @property
    def n_pages(self) -> int:
        return len(self.rows) or len(self.offsets) - 1


@inlined
def row_of(links: Any, page: Any) -> Any:
    return np.int64(links.rows[page]) if len(links.rows) > 0 else np.int64(page)


@inlined
def proved(mass: Any, rule: Any) -> Any:
    """Return the coverage proved by the remaining mass."""
    return 1.0 - (mass[R] + mass[Q]) / (rule.total - rule.damping * mass[D])


@kernel
def push(
    page: Any, links: Any, trusted: Any, trust: Any, p: Any, bits: Any, state: Any, mass: Any,
    work: Any, touched: Any, rule: Any,
    known_pool: Any, known_heap: Any, waiting_pool: Any, waiting_heap: Any,
) -> None:  # fmt: skip
    """Push a fetched page whose mass is counted in Q. There must be room in both queues."""
    amount = p[page]
    p[page] = 0.0
    mass[Q] -= amount
    work[PUSHES] += 1
    row = row_of(links, page)
    start, end, targets = links.offsets[row], links.offsets[row + 1], links.targets
    is_dangling = start == end
    if is_dangling:
        if rule.closed:
            mass[D] += amount
            return
        start, end, targets = 0, len(trusted), trusted
    work[LINKS] += end - start
    share = rule.damping * amount / (end - start)
    to_fetched, to_unfetched = 0.0, 0.0
    for k in range(start, end):
        if is_dangling:
            share = rule.damping * amount * trust[k]
        target = targets[k]
        old = bits[target]
        p[target] += share
        if state[target] == FETCHED:
            to_fetched += share
            raise_priority(waiting_pool, waiting_heap, target, old, bits[target], p[target])
            continue
        to_unfetched += share
        if old == 0:
            work[KNOWN] += 1
        if state[target] == UNFETCHED:
            if work[TOUCHED] < len(touched):
                touched[work[TOUCHED]] = target
                work[TOUCHED] += 1
            if p[target] < _TINY:
                p[target] = _TINY
            raise_priority(known_pool, known_heap, target, old, bits[target], p[target])
    mass[Q] += to_fetched
    mass[R] += to_unfetched


@inlined
def _comes_first(other: Any, page: Any, p: Any, n_known: Any, rule: Any) -> Any:
    """Return whether the fetched page `other` is pushed before the unfetched `page` is fetched.

    With nothing left to fetch (NONE), pages are pushed only if there is a target, and then without a floor.
    """
    if page == NONE:
        return rule.until <= 1.0 and p[other] > _NEGLIGIBLE * rule.total
    if p[other] * n_known <= rule.floor * rule.total:
        return False
    threshold = rule.eagerness * p[page]
    return p[other] > threshold or (p[other] == threshold and other < page)


@kernel
def push_waiting(
    links: Any, trusted: Any, trust: Any, p: Any, bits: Any, state: Any, mass: Any,
    work: Any, touched: Any, rule: Any,
    known_pool: Any, known_heap: Any, waiting_pool: Any, waiting_heap: Any,
) -> Any:  # fmt: skip
    """Push fetched pages as the rule requires; return the best unfetched page, NONE, LACKS_ROOM or REACHED."""
    while True:
        if proved(mass, rule) >= rule.until:
            return np.int64(REACHED)
        page = best(known_pool, known_heap, p, bits)
        if page >= 0 and state[page] != UNFETCHED:
            # A stale entry of a fetched page, whose new priority equals the old one by chance.
            drop_best(known_pool, known_heap)
            continue
        other = best(waiting_pool, waiting_heap, p, bits)
        if page == LACKS_ROOM or other == LACKS_ROOM:
            return np.int64(LACKS_ROOM)
        if other == NONE or not _comes_first(other, page, p, work[KNOWN], rule):
            return page
        row = row_of(links, other)
        degree = max(links.offsets[row + 1] - links.offsets[row], len(trusted))
        if lacks_room(known_pool, known_heap, degree) or lacks_room(waiting_pool, waiting_heap, degree):
            return np.int64(LACKS_ROOM)
        drop_best(waiting_pool, waiting_heap)
        push(other, links, trusted, trust, p, bits, state, mass, work, touched, rule,
             known_pool, known_heap, waiting_pool, waiting_heap)  # fmt: skip


@kernel
def fetch(page: Any, p: Any, state: Any, mass: Any) -> None:
    """Mark a page as fetched: its mass moves from R to Q."""
    state[page] = FETCHED
    mass[R] -= p[page]
    mass[Q] += p[page]


@kernel
def push_fetched(
    page: Any, links: Any, trusted: Any, trust: Any, p: Any, bits: Any, state: Any, mass: Any,
    work: Any, touched: Any, rule: Any,
    known_pool: Any, known_heap: Any, waiting_pool: Any, waiting_heap: Any,
) -> Any:  # fmt: skip
    """Push a page that was fetched, then others as the rule requires; return the result of `push_waiting`.

    If there is no room for the links of the page, nothing happens and the result is NOT_FETCHED.
    """
    row = row_of(links, page)
    degree = max(links.offsets[row + 1] - links.offsets[row], len(trusted))
    if lacks_room(known_pool, known_heap, degree) or lacks_room(waiting_pool, waiting_heap, degree):
        return np.int64(NOT_FETCHED)
    fetch(page, p, state, mass)
    push(page, links, trusted, trust, p, bits, state, mass, work, touched, rule,
         known_pool, known_heap, waiting_pool, waiting_heap)  # fmt: skip
    return push_waiting(links, trusted, trust, p, bits, state, mass, work, touched, rule,
                        known_pool, known_heap, waiting_pool, waiting_heap)  # fmt: skip


@kernel
def push_best_first(
    links: Any, trusted: Any, trust: Any, p: Any, bits: Any, state: Any, mass: Any,
    work: Any, touched: Any, rule: Any,
    known_pool: Any, known_heap: Any, waiting_pool: Any, waiting_heap: Any,
    order: Any, guarantees: Any, n_fetched: int, limit: int,
) -> Any:  # fmt: skip
    """Fetch up to `limit` pages into `order`, and write the coverage proved after each into `guarantees`.

    Return the number of pages fetched, and 0 at the limit, else NONE, LACKS_ROOM or REACHED.
    """
    while True:
        page = push_waiting(links, trusted, trust, p, bits, state, mass, work, touched, rule,
                            known_pool, known_heap, waiting_pool, waiting_heap)  # fmt: skip
        if n_fetched > 0:
            guarantees[n_fetched - 1] = proved(mass, rule)
        if page < 0:
            return n_fetched, page
        if n_fetched == limit:
            return n_fetched, np.int64(0)
        row = row_of(links, page)
        degree = max(links.offsets[row + 1] - links.offsets[row], len(trusted))
        if lacks_room(known_pool, known_heap, degree) or lacks_room(waiting_pool, waiting_heap, degree):
            return n_fetched, np.int64(LACKS_ROOM)
        drop_best(known_pool, known_heap)
        order[n_fetched] = page
        n_fetched += 1
        fetch(page, p, state, mass)
        push(page, links, trusted, trust, p, bits, state, mass, work, touched, rule,
             known_pool, known_heap, waiting_pool, waiting_heap)  # fmt: skip
