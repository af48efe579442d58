"""One life of the surfer outside the known pages, and what it says of the coverage.

A *life* goes from a start of the surfer to her next one. She enters the unknown at a page drawn from the mass that
leaves the known pages K. There she follows links; walks through K cost nothing, since its links are known. Only pages
outside K must be fetched.

The score of a life is the *last-event estimator*. Let q be the last page outside K that she comes to. From the links of
q follow `out`, her chance to get from q to another page outside K, directly or through K, and what she collects at q
and in K until then. The second divided by (1 - out) has the right mean over lives, whatever the web is, and lies
between the deterministic bounds. K is fixed for a life when it begins: pages fetched later stay outside for it. So a
life depends on its own random numbers alone, and lives can be under way side by side.

- Nobody knows what becomes of her at a page that cannot be fetched, or behind links that are not known: the worst is
  that she never returns, the best that she never left. That is counted apart.
- An unknown URL that turns out to be another name of a known page is no visit and is not damped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import ALIAS, n_unknown_of
from orienteer.graph.push import row_of
from orienteer.kernel import inlined, kernel
from orienteer.pages.unknown import NOBODY_KNOWS

NOT_TOLD = -1  # in `when`
# Places in a score: visits outside K, (1 - d) each; lives that end where nobody knows, 1 each; visits of pages without
# links, d each.
OUTSIDE, UNKNOWN, DANGLING = range(3)

_FREE_WALKS = 128  # through K from each page, instead of one: that takes most of their chance out of the score
_LEAST = 1e-4  # weight of a free walk: then it ends, or goes on with twice the weight, with even chance

_U = np.uint64
_STEP, _MIX_1, _MIX_2 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_PER_53_BITS = 1.0 / (1 << 53)


class Rows(NamedTuple):
    """What is known of pages: in which order they were told (NOT_TOLD for the others), and what came of them.

    The last three are those of a Coverage, which knows other names and links that are not known.
    """

    when: Any
    blocked: Any
    flags: Any
    unknown_pages: Any
    unknown: Any

    @classmethod
    def of(cls, when: Any, blocked: Any, coverage: Coverage) -> Rows:
        return cls(when, blocked, coverage.flags, coverage.unknown.keys, coverage.unknown.values)


def highest_score(damping: float) -> float:
    """No score is above this: 1, and the little that free walks can gain where their weight is doubled."""
    return 1.0 + 2.0 * _LEAST / (1.0 - damping)


@inlined
def _chance(random: Any) -> Any:
    """A random number in [0, 1): SplitMix64 (Steele, Lea & Flood 2014)."""
    state = _U(random[0]) + _STEP
    random[0] = state
    state = (state ^ (state >> _U(30))) * _MIX_1
    state = (state ^ (state >> _U(27))) * _MIX_2
    return float((state ^ (state >> _U(31))) >> _U(11)) * _PER_53_BITS


@inlined
def _is_known(page: Any, rows: Any, start: int) -> Any:
    return 0 <= rows.when[page] <= start and not rows.blocked[page]


@kernel
def go_on(links: Any, rows: Any, start: int, page: Any, damping: float, random: Any, score: Any) -> Any:
    """Go on with a life at `page`, until a page is needed that was not told, or to its end.

    K are the pages told up to `start`. Returns the page where she is, and whether the life has ended there, with its
    score.
    """
    while True:
        if rows.when[page] == NOT_TOLD:
            return page, False
        score[OUTSIDE], score[UNKNOWN], score[DANGLING] = 1.0 - damping, 0.0, 0.0
        if rows.blocked[page]:
            score[OUTSIDE], score[UNKNOWN] = 0.0, 1.0
            return page, True
        row = row_of(links, page)
        first, n_links = links.offsets[row], links.offsets[row + 1] - links.offsets[row]
        if rows.flags[page] & ALIAS and n_links > 0 and not _is_known(links.targets[first], rows, start):
            page = np.int64(links.targets[first])
            continue
        out, following = _look_around(links, rows, start, page, damping, random, score)
        if _chance(random) >= out:
            for k in range(3):
                score[k] /= 1.0 - out
            return page, True
        page = following


@kernel
def _look_around(links: Any, rows: Any, start: int, page: Any, damping: float, random: Any, score: Any) -> Any:
    """What the surfer collects from a page outside K until she is outside again, into `score`.

    Returns her chance to get there, and a page to go on with, drawn by the chance to be the next.
    """
    row = row_of(links, page)
    first, n_links = links.offsets[row], links.offsets[row + 1] - links.offsets[row]
    n_unknown = n_unknown_of(rows.flags, rows.unknown_pages, rows.unknown, page)
    passed_on = damping
    if rows.flags[page] & ALIAS:
        score[OUTSIDE], passed_on = 0.0, 1.0
    if n_unknown == NOBODY_KNOWS:
        score[UNKNOWN] = passed_on
        return 0.0, np.int64(0)
    n_all = n_links + n_unknown
    if n_all == 0:
        score[DANGLING] = damping
        return 0.0, np.int64(0)
    out, following, offset = 0.0, np.int64(0), _chance(random)
    for walk in range(_FREE_WALKS):
        place = int((offset + walk) * n_all / _FREE_WALKS)
        if place >= n_links:
            score[UNKNOWN] += passed_on / _FREE_WALKS
            continue
        left, end = _through_known(
            links, rows, start, np.int64(links.targets[first + place]), passed_on, damping, random, score
        )
        if left > 0.0:
            out += left
            if _chance(random) * out < left:
                following = end
    return out, following


@kernel
def _through_known(
    links: Any, rows: Any, start: int, page: Any, passed_on: float, damping: float, random: Any, score: Any
) -> Any:
    """One free walk through K, from the page that a link leads to; (what leaves K again, 0 if nothing does; where)."""
    share = passed_on / _FREE_WALKS
    while _is_known(page, rows, start):
        row = row_of(links, page)
        first, n_links = links.offsets[row], links.offsets[row + 1] - links.offsets[row]
        n_unknown = n_unknown_of(rows.flags, rows.unknown_pages, rows.unknown, page)
        if n_unknown == 0 and n_links == 0:
            score[DANGLING] += damping * share
            return 0.0, page
        if not rows.flags[page] & ALIAS:
            share *= damping
        if n_unknown == NOBODY_KNOWS:
            score[UNKNOWN] += share
            return 0.0, page
        if share * _FREE_WALKS < _LEAST:
            if _chance(random) < 0.5:
                return 0.0, page
            share *= 2.0
        place = int(_chance(random) * (n_links + n_unknown))
        if place >= n_links:
            score[UNKNOWN] += share
            return 0.0, page
        page = np.int64(links.targets[first + place])
    return share, page
