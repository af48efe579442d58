"""Kernels of the certificate: push mass along links until a target is proved or cannot be proved.

`coverage` owns the arrays, defines the masses and explains why the bounds hold at any moment.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.graph.push import LINKS, PUSHES, D, Q, R, row_of
from orienteer.graph.sparse import number_of
from orienteer.kernel import inlined, kernel
from orienteer.pages.unknown import UNKNOWN_COUNT

# Indices into `mass`, after R, Q and D: mass behind unknown links; mass on blocked pages, which R also includes.
U, B = 3, 4

# Flags of a page, in one byte: fetched; can never be fetched (excludes FETCHED); another name of its only target; has
# unknown links, whose number is in `unknown`; is queued to be pushed.
FETCHED, BLOCKED, ALIAS, UNKNOWN, ACTIVE = 1, 2, 4, 8, 16

NEVER = 2.0  # a coverage that cannot be proved

DECIDED = 1e-12  # of the mass: pushing less than this changes no decision
# Indices into `work` after PUSHES and LINKS: start and length of the ring buffer of queued pages, and whether it is
# sorted.
FIRST, N_ACTIVE, SORTED = 2, 3, 4
# Long rounds are sorted by page id: sequential access to memory is several times faster than random access.
_SORTED_FROM = 20_000

# Results of the kernels: not proved, proved, and "sort the ring and call again".
OPEN, PROVED, NEEDS_SORTING = range(3)


class ProofTarget(NamedTuple):
    """One of: a coverage of everything, a coverage of what is reachable, or, as a `last_resort`, the latter once the
    same coverage of everything is impossible."""

    until: float = NEVER
    of_reachable: float = NEVER
    last_resort: float = NEVER


@kernel
def is_proved(target: Any, mass: Any, damping: float) -> Any:
    """Return whether the current mass proves the target."""
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
    """Return whether pushing alone could prove the target."""
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
    """Return how many links of a page are unknown, or UNKNOWN_COUNT if even the number is."""
    if flags[page] & UNKNOWN:
        return number_of(unknown_pages, unknown, np.int64(page), 0)
    return 0


@inlined
def _wait(page: Any, active: Any, work: Any) -> None:
    """Append a page to the ring, which has room for every fetched page and holds each at most once."""
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
        visits[row] += amount
    n_unknown = n_unknown_of(flags, unknown_pages, unknown, page)
    if n_unknown == UNKNOWN_COUNT:
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
    """Push fetched pages until Q is within the goal, or the target is proved or out of reach of pushing alone.

    A round pushes the pages with more than half the mean mass; the others stay queued until they have gathered more.
    """
    has_target = min(target.until, target.of_reachable, target.last_resort) <= 1.0
    while True:
        if has_target:
            if is_proved(target, mass, damping):
                return PROVED
            if not _may_be_proved(target, mass, damping):
                return OPEN
        if mass[Q] <= goal * (1.0 - damping * mass[D]) or work[N_ACTIVE] == 0:
            return OPEN
        if work[N_ACTIVE] > _SORTED_FROM and work[SORTED] == 0:
            return NEEDS_SORTING
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
    """Count pages from `first` on as fetched; return the number of pages counted and the result for the target."""
    has_target = min(target.until, target.of_reachable, target.last_resort) <= 1.0
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
        if has_target:
            result = push_active(
                links, DECIDED, target, p, flags, unknown_pages, unknown, visits, active, mass, work, damping
            )
            if result != OPEN:
                return k + 1, result
    return len(pages), OPEN
