"""When to look at a page again, and what to make of what is found then. Pure: rows in, answers out.

*When.* A page was found changed X times when it was asked for again n times within a span of time S. The chance that it
is still the same after a mean interval S / n is estimated as q = (n - X + 1/2) / (n + 1), the posterior mean under
Jeffreys' prior; with changes that come at a constant rate (a Poisson process, as in Cho & Garcia-Molina, Estimating
frequency of change, 2003) the chance of a change within the time t since the last look is

    1 - q^(t n / S)

A page is due when that is at least `revisit_chance`. One that never changed in a span S is due after half of S or so
with the default of 0.2, so the pauses grow with what is known; one that changed every time is due at once. A page that
was asked for only once is due: nothing is known of it.

*What.* A page that was there and is not is kept, with its links, until it was missing `gone_after` times and for
`gone_after_days`. It is missing when it answers that there is no page (404, another type), when it redirects for the
time being (302, 303, 307), and when it has become a copy of another page: servers in trouble do all three. What could
not be asked for (the host is down, robots.txt forbids it, 5xx, 403) says nothing of the page, however long it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.pages.states import PageState
from orienteer.seeds import make_method
from orienteer.store.epoch_tables import SeenPages
from orienteer.store.page_row import PageRow
from orienteer.store.visits import Revisits, VisitKind

STARTS = ("selected", "seeds")
DAY_S = 86_400.0
FOR_THE_TIME_BEING = frozenset((302, 303, 307))  # redirects
_MIN_SPAN_S = 1.0
_NO_PAGE = (PageState.FAILED, PageState.SKIPPED)


@dataclass(frozen=True)
class RefreshSettings:
    """How an epoch goes.

    `start`: "selected" chooses up to `n_seeds` new seeds by `method`, those that reach the most value within `hops`
    links; the epoch starts there, and goes at most so far from them and from the pages that are due. "seeds" starts
    from the crawl's own, with their trust, and goes as far as the crawl does. The others: see above.
    """

    start: str = "selected"
    n_seeds: int = 10
    hops: int = 5
    method: str = "greedy"
    revisit_chance: float = 0.2
    gone_after: int = 3
    gone_after_days: float = 2.0

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise unknown_name("start of an epoch", self.start, STARTS)
        if self.n_seeds < 1:
            raise InputError(f"n_seeds is {self.n_seeds}; an epoch needs at least one seed")
        if self.hops < 0:
            raise InputError(f"hops is {self.hops}; it must be 0 (the seeds alone) or more links")
        make_method(self.method)
        if not 0 <= self.revisit_chance <= 1:
            raise InputError(f"revisit_chance is {self.revisit_chance}; a chance is from 0 (every page) to 1")
        if self.gone_after < 1:
            raise InputError(f"gone_after is {self.gone_after}; a page must be missing at least once")
        if not 0 <= self.gone_after_days < float("inf"):
            raise InputError(f"gone_after_days is {self.gone_after_days}; it must be 0 or more days")


def change_chance(
    n_checks: NDArray[np.int64], n_changes: NDArray[np.int64], span_s: NDArray[np.float64], since_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The chance that a page has changed since it was looked at last, `since_s` ago; 1 where nothing is known.

    >>> ten_days, one_day = np.array([864_000.0]), np.array([86_400.0])
    >>> change_chance(np.array([10]), np.array([0]), ten_days, one_day).round(3).tolist()
    [0.045]
    >>> change_chance(np.array([10]), np.array([10]), ten_days, one_day).round(3).tolist()
    [0.955]
    """
    stays = (n_checks - n_changes + 0.5) / (n_checks + 1.0)
    n_intervals = np.maximum(since_s, 0.0) * n_checks / np.maximum(span_s, _MIN_SPAN_S)
    return np.where(n_checks == 0, 1.0, 1.0 - stays**n_intervals)


def due_pages(seen: SeenPages, now: float, revisit_chance: float) -> NDArray[np.uint32]:
    """The pages to be asked for again, in increasing order: they may have changed, are missing, or were blocked."""
    chances = change_chance(seen.n_checks, seen.n_changes, seen.checked - seen.first_times, now - seen.checked)
    is_due = (chances >= revisit_chance) | (seen.n_missing > 0) | (seen.states == PageState.BLOCKED)
    return np.sort(seen.pages[is_due])


def verdict(before: PageRow | None, found: PageRow) -> VisitKind:
    """What was found, beside what was known; a page that is missing may be gone (`is_gone`)."""
    if before is None or before.state == PageState.BLOCKED:
        return VisitKind.NEW if found.state == PageState.FETCHED else VisitKind.NOTHING
    if found.state == PageState.BLOCKED:
        return VisitKind.OUT_OF_REACH
    if before.state in _NO_PAGE:
        return VisitKind.UNCHANGED if found.state == before.state else VisitKind.CHANGED
    if _is_same(before, found):
        return VisitKind.UNCHANGED
    if found.state in _NO_PAGE or _seems_in_trouble(before, found):
        return VisitKind.MISSING
    return VisitKind.CHANGED


def is_gone(revisits: Revisits, settings: RefreshSettings, now: float) -> bool:
    """Whether a page has been missing often and long enough, this time included."""
    if revisits.missing_since is None or revisits.n_missing < settings.gone_after:
        return False
    return now - revisits.missing_since >= settings.gone_after_days * DAY_S


def noted(revisits: Revisits, kind: VisitKind, now: float) -> Revisits:
    """What is known of a page's changes after one more visit."""
    if kind is VisitKind.MISSING:
        since = now if revisits.missing_since is None else revisits.missing_since
        return revisits._replace(n_missing=revisits.n_missing + 1, missing_since=since)
    has_changed = kind in (VisitKind.CHANGED, VisitKind.GONE)
    return revisits._replace(
        checked=max(now, revisits.checked),
        n_checks=revisits.n_checks + 1,
        n_changes=revisits.n_changes + has_changed,
        n_missing=0,
        missing_since=None,
    )


def _is_same(before: PageRow, found: PageRow) -> bool:
    is_same_page = (before.state, before.digest, before.redirect_to) == (found.state, found.digest, found.redirect_to)
    return is_same_page and np.array_equal(before.links, found.links)


def _seems_in_trouble(before: PageRow, found: PageRow) -> bool:
    """Whether a page that had a content of its own has moved for the time being, or become a copy of another."""
    if before.redirect_to is not None or before.duplicate_of is not None:
        return False
    return found.duplicate_of is not None or found.status in FOR_THE_TIME_BEING
