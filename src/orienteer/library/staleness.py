"""The share of a crawl that has probably changed since it was fetched, weighted by a surfer's time. Pure, but for `of`.

Changes of a page are a Poisson process. The page was revisited n times in a span S, and had changed X times. As in
`ledger/revisiting`, the probability that it stays the same over its mean interval S / n is estimated from X and n; but
an estimate from few revisits is shrunk to the crawl's own average instead of one half:

    q = (n - X + m) / (n + 1),    m = exp(-L S / n),    L = -ln((N - Y + 1/2) / (N + 1)) N / T

where N, Y and T are the sums of n, X and S over all pages. After a single revisit of a thousand pages, all unchanged,
one half would predict that a quarter of them change before the next one. A page that was never revisited changes at
the rate L. Then, with the rank r of the pages (the share of a surfer's time on them, which sums to 1) and the time t
since the last fetch of each,

    share(t) = sum of r (1 - q^(t n / S))

is the expected share of a surfer's time on pages that have changed. It never decreases, so it reaches a threshold only
once. New pages do not count, since their number is unknown; but the pages that link to them change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.ledger.revisiting import DAY_S
from orienteer.pages.states import PageState
from orienteer.search.page_columns import crawl_ranks
from orienteer.store.database import DatabaseView
from orienteer.store.visit_tables import SeenPages

_MIN_SPAN_S = 1.0
_LONGEST_S = 3650 * DAY_S
_N_HALVINGS = 60


@dataclass(frozen=True)
class Staleness:
    """By page: its changes per second, the time of its last fetch, and its share of a surfer's time."""

    rates: NDArray[np.float64]
    checked: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @classmethod
    def of(cls, database: DatabaseView) -> Staleness | None:
        """Return the staleness of a crawl; None if no page was fetched twice, so that no change rate is known."""
        seen = database.visits.seen_pages()
        ranks = crawl_ranks(database, None).local[seen.pages]
        return cls.of_pages(seen, ranks)

    @classmethod
    def of_pages(cls, seen: SeenPages, ranks: NDArray[np.float64]) -> Staleness | None:
        """Return the staleness of pages with these ranks; failed pages weigh nothing."""
        rates = change_rates(seen.n_checks, seen.n_changes, seen.checked - seen.first_times)
        time = np.where(seen.states == PageState.FETCHED, ranks, 0.0)
        if rates is None or not time.sum() > 0:
            return None
        return cls(rates, seen.checked, time / time.sum())

    def share(self, now: float) -> float:
        """Return the expected share of a surfer's time on pages that have changed since their last fetch."""
        since = np.maximum(now - self.checked, 0.0)
        return float(self.ranks @ -np.expm1(-self.rates * since))

    def time_of(self, threshold: float) -> float:
        """Return when the share reaches a threshold; infinity if that takes ten years or more."""
        low, high = float(self.checked.min()), float(self.checked.max()) + _LONGEST_S
        if self.share(high) < threshold:
            return float("inf")
        for _ in range(_N_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.share(middle) >= threshold else (middle, high)
        return high


def change_rates(
    n_checks: NDArray[np.int64], n_changes: NDArray[np.int64], span_s: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return the changes per second of each page; None if no page was revisited.

    >>> n, day = np.array([10, 10, 0]), 86_400.0
    >>> rates = change_rates(n, np.array([0, 10, 0]), np.array([10 * day, 10 * day, 0.0]))
    >>> (rates * day).round(2).tolist()                       # per day: rarely, often, and the average
    [0.05, 3.09, 0.69]
    """
    n_all, span_all = int(n_checks.sum()), float(span_s[n_checks > 0].sum())
    if n_all == 0:
        return None
    mean = -np.log((n_all - int(n_changes.sum()) + 0.5) / (n_all + 1)) * n_all / max(span_all, _MIN_SPAN_S)
    interval = np.maximum(span_s, _MIN_SPAN_S) / np.maximum(n_checks, 1)
    stays = (n_checks - n_changes + np.exp(-mean * interval)) / (n_checks + 1.0)
    return np.asarray(np.where(n_checks == 0, mean, -np.log(np.maximum(stays, 1e-12)) / interval))
