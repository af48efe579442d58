"""One life of the random surfer outside the known pages, and its score, an unbiased estimate of the time outside.

A *life* is the path of the surfer from one start to the next. She leaves the known pages K at a page drawn from the
mass outside K. There she follows links; walks through K are free, since its links are known. Only pages outside K must
be fetched.

The score of a life is the *last-event estimator*. Let q be the last page outside K that she visits. The links of q
determine `out`, the probability to get from q to another page outside K, directly or through K, and the time spent at q
and in K until then. That time divided by (1 - out) has the right mean over lives, for any web, and lies between the
deterministic bounds. K is fixed for a life when it begins: pages fetched later stay outside for it. So a life depends
only on its own random numbers, and many lives can be in flight at a time.

- Behind a page that cannot be fetched, or an unknown link, her path is unknown: at worst she never returns, at best she
  never left. This part of the score is counted separately.
- An unknown URL that turns out to be another name of a known page is not a visit and is not damped.

An `Edge` is the mass on unfetched pages, where the surfer leaves the known pages; the entry pages of lives are drawn
from it.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import ALIAS, BLOCKED, DECIDED, FETCHED, B, U, n_unknown_of
from orienteer.graph.push import D, LinkRows, Q, R, row_of
from orienteer.kernel import inlined, kernel
from orienteer.pages.unknown import UNKNOWN_COUNT

NOT_RECORDED, BLOCKED_PAGE = 0, -1  # in `when`
# Indices into a score: visits outside K, (1 - d) each; lives with an unknown end, 1 each; visits of pages without
# links, d each.
OUTSIDE, UNKNOWN, DANGLING = range(3)

_FREE_WALKS = 32  # through K from each page, instead of one: this removes most of their variance from the score
_LEAST = 1e-4  # weight of a free walk: below it, the walk ends or continues with twice the weight, with even chance

_U = np.uint64
_STEP, _MIX_1, _MIX_2 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_PER_53_BITS = 1.0 / (1 << 53)


class Rows(NamedTuple):
    """The states of pages: the event that recorded each (counted from 1), NOT_RECORDED, or BLOCKED_PAGE.

    The last three are arrays of a Coverage: aliases, and the numbers of unknown links.
    """

    when: Any
    flags: Any
    unknown_pages: Any
    unknown: Any

    @classmethod
    def of(cls, when: Any, coverage: Coverage) -> Rows:
        return cls(when, coverage.flags, coverage.unknown.keys, coverage.unknown.values)


def highest_score(damping: float) -> float:
    """Return the maximum of a score: 1, plus what free walks can gain when their weight is doubled."""
    return 1.0 + 2.0 * _LEAST / (1.0 - damping)


@inlined
def _chance(random: Any) -> Any:
    """Return a random number in [0, 1): SplitMix64 (Steele, Lea & Flood 2014)."""
    state = _U(random[0]) + _STEP
    random[0] = state
    state = (state ^ (state >> _U(30))) * _MIX_1
    state = (state ^ (state >> _U(27))) * _MIX_2
    return float((state ^ (state >> _U(31))) >> _U(11)) * _PER_53_BITS


@inlined
def _is_known(page: Any, rows: Any, start: int) -> Any:
    return 0 < rows.when[page] <= start


@kernel
def continue_life(links: Any, rows: Any, start: int, page: Any, damping: float, random: Any, score: Any) -> Any:
    """Continue a life at `page` until it needs a page that is not recorded, or to its end.

    K are the pages recorded up to the event `start`. Return the current page, and whether the life has ended there,
    with its score.
    """
    while True:
        if rows.when[page] == NOT_RECORDED:
            return page, False
        score[OUTSIDE], score[UNKNOWN], score[DANGLING] = 1.0 - damping, 0.0, 0.0
        if rows.when[page] == BLOCKED_PAGE:
            score[OUTSIDE], score[UNKNOWN] = 0.0, 1.0
            return page, True
        row = row_of(links, page)
        first, n_links = links.offsets[row], links.offsets[row + 1] - links.offsets[row]
        if rows.flags[page] & ALIAS and n_links > 0 and not _is_known(links.targets[first], rows, start):
            page = np.int64(links.targets[first])
            continue
        out, following = _visit(links, rows, start, page, damping, random, score)
        if _chance(random) >= out:
            for k in range(3):
                score[k] /= 1.0 - out
            return page, True
        page = following


@kernel
def _visit(links: Any, rows: Any, start: int, page: Any, damping: float, random: Any, score: Any) -> Any:
    """Add to `score` the time that the surfer spends from a visit outside K until she is outside K again.

    Return the probability that this happens, and the next page outside K, drawn by its probability.
    """
    row = row_of(links, page)
    first, n_links = links.offsets[row], links.offsets[row + 1] - links.offsets[row]
    n_unknown = n_unknown_of(rows.flags, rows.unknown_pages, rows.unknown, page)
    passed_on = damping
    if rows.flags[page] & ALIAS:
        score[OUTSIDE], passed_on = 0.0, 1.0
    if n_unknown == UNKNOWN_COUNT:
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
    """Run one free walk through K from the target of a link; return the weight that leaves K (or 0), and where."""
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
        if n_unknown == UNKNOWN_COUNT:
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


class Lives:
    """The lives of one survey, numbered in the order of beginning.

    Each waits for a page, or has ended with a score. Scores count in the order of beginning: in the order of ending,
    slow hosts would bias the result: lives that visit them would count last, or never.
    """

    def __init__(self, seed: str, damping: float) -> None:
        self.seed, self.damping = seed, damping
        self.n_begun = 0
        self.n_scored = 0  # all lives before this one have ended
        self.scores: NDArray[np.float64] = np.zeros((64, 3))
        self.starts = array("q")  # the pages recorded up to this event are K
        self.entries = array("I")
        self.last_pages = array("I")  # the last page outside K that each has visited so far
        self._random: NDArray[np.uint64] = np.zeros(64, np.uint64)
        self._ended: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.n_in_flight = 0
        self._waiting: dict[int, list[int]] = {}  # by the page they wait for, in increasing order
        self._new: set[int] = set()  # of these pages, those that `take_new` has not returned

    def needs(self, page: int) -> bool:
        """Return whether a life waits for this page."""
        return page in self._waiting

    def needed(self) -> list[tuple[int, int]]:
        """Return the pages that lives wait for, each with its first life, in the order of these lives."""
        return self._with_first_lives(self._waiting)

    def take_new(self) -> list[tuple[int, int]]:
        """Return the pages of `needed` that are new, or whose first life is, since the last call."""
        new = self._with_first_lives(self._new)
        self._new.clear()
        return new

    def _with_first_lives(self, pages: Iterable[int]) -> list[tuple[int, int]]:
        return sorted(((page, self._waiting[page][0]) for page in pages), key=itemgetter(1))

    def begin(self, start: int, entry: int, links: LinkRows, rows: Rows) -> None:
        """Begin a life that leaves K at the page `entry`."""
        life = self.n_begun
        self.n_begun += 1
        self.scores = grown(self.scores, self.n_begun)
        self._random, self._ended = grown(self._random, self.n_begun), grown(self._ended, self.n_begun)
        self._random[life] = random_start(self.seed, life)
        self.starts.append(start)
        self.entries.append(entry)
        self.last_pages.append(entry)
        self._continue(life, links, rows)

    def resume(self, page: int, links: LinkRows, rows: Rows) -> None:
        """Continue the lives that waited for a page, once its outcome is known."""
        lives = self._waiting.pop(page, [])
        self._new.discard(page)
        self.n_in_flight -= len(lives)
        for life in lives:
            self._continue(life, links, rows)

    def _continue(self, life: int, links: LinkRows, rows: Rows) -> None:
        page, has_ended = continue_life(
            links, rows, self.starts[life], self.last_pages[life], self.damping,
            self._random[life : life + 1], self.scores[life],
        )  # fmt: skip
        self.last_pages[life] = page
        if not has_ended:
            lives = self._waiting.setdefault(page, [])
            insort(lives, life)
            self.n_in_flight += 1
            if lives[0] == life:
                self._new.add(page)
            return
        self._ended[life] = True
        while self.n_scored < self.n_begun and self._ended[self.n_scored]:
            self.n_scored += 1


@dataclass(frozen=True)
class Edge:
    """The distribution of mass at one moment of a crawl.

    `free` is on unfetched pages that can be fetched, `blocked` on those that cannot, `hidden` on unknown trusted pages,
    `unknown` behind unknown links, `unsettled` on fetched pages, not pushed yet. `total` is 1 - d D.
    """

    damping: float
    free: float
    blocked: float
    hidden: float
    unknown: float
    unsettled: float
    total: float

    @classmethod
    def of(cls, coverage: Coverage) -> Edge:
        mass, hidden = coverage.mass, coverage.hidden
        blocked = float(mass[B])
        free, total = float(mass[R]) - blocked - hidden, 1.0 - coverage.damping * float(mass[D])
        free = free if free > DECIDED else 0.0  # the sums carry rounding errors
        return cls(coverage.damping, free, blocked, hidden, float(mass[U]), float(mass[Q]), total)

    def settled(self) -> Edge:
        """Return the edge once all mass has been pushed, if all of it left the fetched pages: at most so much does."""
        return replace(self, free=self.free + self.unsettled, unsettled=0.0)

    @property
    def stuck(self) -> float:
        """The mass on blocked pages and behind unknown links, where the surfer's next step is unknown."""
        return self.blocked + self.unknown

    def upper(self, of_reachable: bool = False) -> float:
        """Return an upper bound of the coverage, valid if no unfetched page is another name of a fetched one."""
        share = 1.0 - self.damping
        if of_reachable:
            return 1.0 - share * (self.free + self.hidden) / (self.total - self.stuck)
        return 1.0 - share * (self.free + self.blocked + self.hidden) / self.total

    def allowed(self, until: float, of_reachable: bool = False) -> float:
        """Return the mass that lives may score outside if the coverage is `until`, with unknown mass at its worst."""
        if of_reachable:
            return (1.0 - until) * (self.total - self.stuck) - self.unsettled - self.hidden
        return (1.0 - until) * self.total - self.unsettled - self.hidden - self.stuck


def draw_entries(coverage: Coverage, free: float, levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a page for each level in [0, 1); uniform levels draw pages by their mass, whose sum is `free`."""
    order = np.argsort(levels, kind="stable")
    found, pages = np.zeros(len(levels), np.int64), np.zeros(len(levels), np.int64)
    _enter(coverage.p, coverage.flags, levels[order] * free, found)
    pages[order] = found
    return pages


def random_start(seed: str, life: int) -> int:
    """Return the initial state of the random numbers of a life, which is unpredictable from those of other lives."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {life}".encode(), digest_size=8).digest(), "little")


def random_level(seed: str, life: int) -> float:
    """Return the number in [0, 1) that determines the entry page of a life."""
    return (random_start(f"{seed} enters", life) >> 11) / (1 << 53)


@kernel
def _enter(p: Any, flags: Any, levels: Any, found: Any) -> None:
    """Find the page at which the running sum exceeds each level; levels are increasing."""
    total, done, last = 0.0, 0, 0
    for page in range(len(p)):
        if flags[page] & (FETCHED | BLOCKED) or p[page] == 0.0:
            continue
        total += p[page]
        last = page
        while done < len(levels) and levels[done] < total:
            found[done] = page
            done += 1
        if done == len(levels):
            return
    for k in range(done, len(levels)):  # a level at the very end, due to rounding
        found[k] = last
