"""The pushes behind the certificate, as kernels: mass is moved along links until a target is decided.

What the masses mean, and why the bounds hold at any moment, stands in `coverage`, whose arrays these work on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.graph.push import LINKS, PUSHES, D, Q, R, row_of
from orienteer.graph.sparse import number_of
from orienteer.kernel import inlined, kernel
from orienteer.pages.unknown import NOBODY_KNOWS

# In `mass`, beside R, Q and D: behind links that are not known; and on blocked pages, which is also counted in R.
U, B = 3, 4

# What is known of a page, in one byte: fetched; can never be fetched (then it is not fetched); another name of its only
# link; some of its links are not known, and their number is in `unknown`; waits to be pushed.
FETCHED, BLOCKED, ALIAS, UNKNOWN, ACTIVE = 1, 2, 4, 8, 16

NEVER = 2.0  # a coverage that nothing proves

DECIDED = 1e-12  # of the mass: what is left to push changes no answer
# Places in `work` after PUSHES and LINKS: the queue of fetched pages that wait to be pushed, as a ring, and whether it
# is sorted.
FIRST, N_ACTIVE, SORTED = 2, 3, 4
# A long round goes through memory in the order of pages, several times faster than criss-cross.
_SORTED_FROM = 20_000

# What the kernels answer: no, yes, and "sort the ring and call again".
OPEN, PROVED, WANTS_SORTING = range(3)


class Target(NamedTuple):
    """What is to be proved, one of: a coverage of everything, a coverage of what is reachable, or, as a `last_resort`,
    the latter once it is impossible to prove as much of everything."""

    until: float = NEVER
    of_reachable: float = NEVER
    last_resort: float = NEVER


@kernel
def is_proved(target: Any, mass: Any, damping: float) -> Any:
    """Whether the target is proved by the mass as it is."""
    total = 1.0 - damping * mass[D]
    if 1.0 - (mass[R] + mass[Q] + mass[U]) / total >= target.until:
        return True
    stuck = mass[B] + mass[U]
    if total - stuck <= DECIDED:  # nothing is reachable
        return False
    of_reachable = 1.0 - (mass[R] - mass[B] + mass[Q]) / (total - stuck)
    if of_reachable >= target.of_reachable:
        return True
    return stuck > (1.0 - target.last_resort) * total and of_reachable >= target.last_resort


@kernel
def _may_be_proved(target: Any, mass: Any, damping: float) -> Any:
    """Whether pushing alone could prove the target."""
    total = 1.0 - damping * mass[D]
    if 1.0 - (mass[R] + mass[U]) / total >= target.until:
        return True
    stuck = mass[B] + mass[U]
    if total - stuck <= DECIDED:
        return False
    of_reachable = 1.0 - (mass[R] - mass[B]) / (total - stuck)
    if of_reachable >= target.of_reachable:
        return True
    may_be_impossible = stuck + mass[Q] > (1.0 - target.last_resort) * (total - damping * mass[Q])
    return may_be_impossible and of_reachable >= target.last_resort


@kernel
def n_unknown_of(flags: Any, unknown_pages: Any, unknown: Any, page: Any) -> Any:
    """How many links of a page are not known; NOBODY_KNOWS where nobody knows."""
    if flags[page] & UNKNOWN:
        return number_of(unknown_pages, unknown, np.int64(page), 0)
    return 0


@inlined
def _wait(page: Any, active: Any, work: Any) -> None:
    """Put a page at the end of the ring; it has a place for every fetched page, and holds each at most once."""
    active[(work[FIRST] + work[N_ACTIVE]) % len(active)] = page
    work[N_ACTIVE] += 1


@kernel
def _push(
    page: Any, links: Any, p: Any, flags: Any, unknown_pages: Any, unknown: Any, visits: Any, active: Any, mass: Any,
    work: Any, damping: float,
) -> None:  # fmt: skip
    """Push a fetched page whose mass is counted in Q."""
    amount = p[page]
    p[page] = 0.0
    mass[Q] -= amount
    work[PUSHES] += 1
    row = row_of(links, page)
    start, end = links.offsets[row], links.offsets[row + 1]
    is_alias = flags[page] & ALIAS
    passed_on = amount if is_alias else damping * amount
    if len(visits) > 0 and not is_alias:
        visits[page] += amount
    n_unknown = n_unknown_of(flags, unknown_pages, unknown, page)
    if n_unknown == NOBODY_KNOWS:
        mass[U] += passed_on
        return
    n_links = end - start + n_unknown
    if n_links == 0:
        mass[D] += amount
        return
    work[LINKS] += end - start
    share = passed_on / n_links
    mass[U] += share * n_unknown
    to_fetched, to_unfetched, to_blocked = 0.0, 0.0, 0.0
    for k in range(start, end):
        target = links.targets[k]
        p[target] += share
        known = flags[target]
        if known & FETCHED:
            to_fetched += share
            if not known & ACTIVE:
                flags[target] = known | ACTIVE
                _wait(target, active, work)
        else:
            to_unfetched += share
            if known & BLOCKED:
                to_blocked += share
    mass[Q] += to_fetched
    mass[R] += to_unfetched
    mass[B] += to_blocked


@kernel
def push_active(
    links: Any, goal: float, target: Any, p: Any, flags: Any, unknown_pages: Any, unknown: Any, visits: Any,
    active: Any, mass: Any, work: Any, damping: float,
) -> Any:  # fmt: skip
    """Push fetched pages until Q is within the goal, or it is decided whether the target is proved.

    A round takes the pages that hold more than half the mean; the others wait until they have gathered more.
    """
    is_wanted = min(target.until, target.of_reachable, target.last_resort) <= 1.0
    while True:
        if is_wanted:
            if is_proved(target, mass, damping):
                return PROVED
            if not _may_be_proved(target, mass, damping):
                return OPEN
        if mass[Q] <= goal * (1.0 - damping * mass[D]) or work[N_ACTIVE] == 0:
            return OPEN
        if work[N_ACTIVE] > _SORTED_FROM and work[SORTED] == 0:
            return WANTS_SORTING
        work[SORTED] = 0
        threshold = 0.5 * mass[Q] / work[N_ACTIVE]
        for _ in range(work[N_ACTIVE]):
            page = active[work[FIRST]]
            work[FIRST] = (work[FIRST] + 1) % len(active)
            work[N_ACTIVE] -= 1
            if p[page] > threshold:
                flags[page] &= ~ACTIVE
                _push(page, links, p, flags, unknown_pages, unknown, visits, active, mass, work, damping)
            else:
                _wait(page, active, work)


@kernel
def fetch_until(
    links: Any, pages: Any, first: int, target: Any, p: Any, flags: Any, unknown_pages: Any, unknown: Any, visits: Any,
    active: Any, mass: Any, work: Any, damping: float,
) -> Any:  # fmt: skip
    """Count pages from `first` on as fetched; (pages counted, whether the target is proved by then, or not decided)."""
    is_wanted = min(target.until, target.of_reachable, target.last_resort) <= 1.0
    for k in range(first, len(pages)):
        page = pages[k]
        if flags[page] & FETCHED:
            continue
        if flags[page] & BLOCKED:
            mass[B] -= p[page]
        flags[page] = (flags[page] & ~BLOCKED) | FETCHED
        mass[R] -= p[page]
        mass[Q] += p[page]
        _push(page, links, p, flags, unknown_pages, unknown, visits, active, mass, work, damping)
        if is_wanted:
            answer = push_active(
                links, DECIDED, target, p, flags, unknown_pages, unknown, visits, active, mass, work, damping
            )
            if answer != OPEN:
                return k + 1, answer
    return len(pages), OPEN
