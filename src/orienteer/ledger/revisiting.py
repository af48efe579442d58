"""When to revisit a page, and how to judge the result. Pure: rows in, results out.

*When is a page due?* A page had changed in X of n revisits within a span of time S. The chance that it is still the
same after a mean interval S / n is estimated as q = (n - X + 1/2) / (n + 1), the posterior mean under Jeffreys' prior.
If changes have a constant rate (a Poisson process, as in Cho & Garcia-Molina, Estimating frequency of change, 2003),
the chance of a change within the time t since the last visit is

    1 - q^(t n / S)

A page is due when that is at least `revisit_chance`. One that never changed in a span S is due after half of S or so
with the default of 0.2, so the intervals grow with the history; one that changed every time is due at once. A page that
was requested only once is due, since its changes are not known.

*Has it changed?* The bytes of the response are compared with those of the one before, and the rendered page with the
one rendered before. Where only one of the two visits rendered the page, or a rendering is incomplete, the response
decides. If that is the same, the page is unchanged, and the stored rendering stays. A rendered page has changed when
its title, text or links have: its markup may differ at every visit. Links may differ although the content is the same,
since the scope has changed, say: then the row is replaced, but the page is unchanged.

*When is it gone?* A missing page stays in the store, with its links, until it was missing `gone_after` times and for
`gone_after_days`. It is missing if the response says that there is no page (404, another type), if it has a temporary
redirect (302, 303, 307), and if it has become a copy of another page: failing servers do all three. Two addresses of
one page that change together are no sign of a failure. A failed request (the host is down, robots.txt forbids it, 5xx,
403) says nothing about the page, however long that lasts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.ledger.settings import RefreshSettings
from orienteer.pages.states import PageState
from orienteer.store.page_row import PageRow
from orienteer.store.visit_tables import SeenPages
from orienteer.store.visits import Revisits, VisitKind

DAY_S = 86_400.0
CLOCK_TOLERANCE_S = 7 * DAY_S  # a time further in the future is from a wrong clock
TEMPORARY_REDIRECTS = frozenset((302, 303, 307))
_MIN_SPAN_S = 1.0
_NO_PAGE = (PageState.FAILED, PageState.SKIPPED)


def change_chance(
    n_checks: NDArray[np.int64], n_changes: NDArray[np.int64], span_s: NDArray[np.float64], since_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the chance that a page has changed since its last visit, `since_s` ago; 1 if nothing is known.

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
    """Return the pages to revisit, in increasing order.

    They may have changed, are missing, were blocked, or were last fetched in the future, by a wrong clock.
    """
    chances = change_chance(seen.n_checks, seen.n_changes, seen.checked - seen.first_times, now - seen.checked)
    is_misdated = seen.checked > now + CLOCK_TOLERANCE_S
    is_due = (chances >= revisit_chance) | is_misdated | (seen.n_missing > 0) | (seen.states == PageState.BLOCKED)
    return np.sort(seen.pages[is_due])


class ContentDigests(NamedTuple):
    """The digests that identify the content of a page: of the response, and of the rendered page.

    `sent` is None if there was none, or it is not stored. `rendered` is None if the page was not rendered, or the
    rendering is incomplete or not stored; `is_rendered` says whether it was.
    """

    sent: bytes | None
    rendered: bytes | None = None
    is_rendered: bool = False


def is_same_content(before: ContentDigests, current: ContentDigests) -> bool:
    """Whether a page has the same content as before; True where nothing can be compared."""
    if (before.is_rendered or current.is_rendered) and None in (before.sent, current.sent):
        return None in (before.rendered, current.rendered) or before.rendered == current.rendered
    if before.sent != current.sent:
        return False
    return None in (before.rendered, current.rendered) or before.rendered == current.rendered


def keeps_rendering(before: ContentDigests, current: ContentDigests) -> bool:
    """Whether to keep the stored rendering: the page is the same, and the new rendering is missing or incomplete."""
    if not before.is_rendered or not is_same_content(before, current):
        return False
    return not current.is_rendered or (current.rendered is None and before.rendered is not None)


def verdict(before: PageRow | None, current: PageRow, is_same: bool | None = None, is_copy: bool = True) -> VisitKind:
    """Compare the current row of a page with the one before; a page that is missing may be gone (`is_gone`).

    `is_same` is whether a fetched page has the stored content; None: by the digests of both rows. `is_copy` is False
    where it is no sign of a failure that `current` repeats another page.
    """
    if before is None or before.state == PageState.BLOCKED:
        return VisitKind.NEW if current.state == PageState.FETCHED else VisitKind.NOTHING
    if current.state == PageState.BLOCKED:
        return VisitKind.UNREACHABLE
    if before.state in _NO_PAGE:
        return VisitKind.UNCHANGED if current.state == before.state else VisitKind.CHANGED
    if _is_same(before, current) if is_same is None else is_same:
        return VisitKind.UNCHANGED
    if current.state in _NO_PAGE or _looks_like_failure(before, current, is_copy):
        return VisitKind.MISSING
    return VisitKind.CHANGED


def is_gone(revisits: Revisits, settings: RefreshSettings, now: float) -> bool:
    """Whether a page has been missing often and long enough, this time included."""
    if revisits.missing_since is None or revisits.n_missing < settings.gone_after:
        return False
    return now - revisits.missing_since >= settings.gone_after_days * DAY_S


def after_visit(
    revisits: Revisits, kind: VisitKind, now: float, repeated: int | None = None, missing_as: str | None = None
) -> Revisits:
    """Return the revisit history of a page after one more visit.

    Before it the page was a copy of `repeated`. Where it is missing, `missing_as` is how.
    """
    if kind is VisitKind.MISSING:
        since = now if revisits.missing_since is None else min(revisits.missing_since, now)
        return revisits._replace(n_missing=revisits.n_missing + 1, missing_since=since, missing_as=missing_as)
    repeated = revisits.repeated if repeated is None else repeated
    if revisits.first_time > now + CLOCK_TOLERANCE_S:  # the history is from a wrong clock
        return Revisits(revisits.page, first_time=now, checked=now, repeated=repeated)
    has_changed = kind in (VisitKind.CHANGED, VisitKind.GONE)
    return revisits._replace(
        checked=now if revisits.checked > now + CLOCK_TOLERANCE_S else max(now, revisits.checked),
        n_checks=revisits.n_checks + 1,
        n_changes=revisits.n_changes + has_changed,
        n_missing=0,
        missing_since=None,
        missing_as=None,
        repeated=repeated,
    )


def _is_same(before: PageRow, current: PageRow) -> bool:
    """Compare by the digest of the response; redirects by their targets."""
    if (before.state, before.digest) != (current.state, current.digest):
        return False
    return before.digest is not None or before.redirect_to == current.redirect_to


def _looks_like_failure(before: PageRow, current: PageRow, is_copy: bool) -> bool:
    """Whether a page that had its own content has a temporary redirect, or has become a copy of another."""
    if before.redirect_to is not None or before.duplicate_of is not None:
        return False
    return (is_copy and current.duplicate_of is not None) or current.status in TEMPORARY_REDIRECTS
