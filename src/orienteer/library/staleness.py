"""How much of a crawl has probably changed since it was looked at, as a share of a surfer's time. Pure, but for `of`.

A page changes at some rate, as a Poisson process. It was asked for again n times in a span S, and found changed X
times. As in `ledger/revisiting` the chance that it stays the same over its mean interval S / n is taken from X and n;
but what pulls an estimate from few looks is the crawl's own average, in place of one half:

    q = (n - X + m) / (n + 1),    m = exp(-L S / n),    L = -ln((N - Y + 1/2) / (N + 1)) N / T

where N, Y and T are the sums of n, X and S over all pages. With one look at each of a thousand pages, none of which has
changed, one half would make a quarter of them change by the next look. A page that was never asked for again changes
at the rate L. Then, with the rank r of the pages (the share of a surfer's time on them, which sums to 1) and the time t
since each was looked at,

    share(t) = sum of r (1 - q^(t n / S))

is the expected share of a surfer's time on pages that have changed. It never falls, so there is one moment at which it
reaches a threshold. New pages do not count: nobody can tell how many there are, but pages that link to them change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.ledger.revisiting import DAY_S
from orienteer.pages.states import PageState
from orienteer.search.column_writing import crawl_ranks
from orienteer.store.database_view import DatabaseView
from orienteer.store.epoch_tables import SeenPages

_MIN_SPAN_S = 1.0
_LONGEST_S = 3650 * DAY_S
_N_HALVINGS = 60


@dataclass(frozen=True)
class Staleness:
    """The rates at which pages change, in changes a second, when each was looked at, and the share of time on it."""

    rates: NDArray[np.float64]
    checked: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @classmethod
    def of(cls, database: DatabaseView) -> Staleness | None:
        """Of a crawl; None where no page was asked for twice, so that nothing is known of its changes."""
        seen = database.seen_pages()
        ranks = crawl_ranks(database, None).local[seen.pages]
        return cls.of_pages(seen, ranks)

    @classmethod
    def of_pages(cls, seen: SeenPages, ranks: NDArray[np.float64]) -> Staleness | None:
        """Of pages with these ranks; what failed has no time on it."""
        rates = change_rates(seen.n_checks, seen.n_changes, seen.checked - seen.first_times)
        time = np.where(seen.states == PageState.FETCHED, ranks, 0.0)
        if rates is None or not time.sum() > 0:
            return None
        return cls(rates, seen.checked, time / time.sum())

    def share(self, now: float) -> float:
        """The expected share of a surfer's time on pages that have changed since they were looked at."""
        since = np.maximum(now - self.checked, 0.0)
        return float(self.ranks @ -np.expm1(-self.rates * since))

    def reaches(self, threshold: float) -> float:
        """When the share reaches a threshold; infinity where that takes ten years or more."""
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
    """Changes a second of each page; None where no page was asked for again.

    >>> n, day = np.array([10, 10, 0]), 86_400.0
    >>> rates = change_rates(n, np.array([0, 10, 0]), np.array([10 * day, 10 * day, 0.0]))
    >>> (rates * day).round(2).tolist()                       # a day: rarely, often, and as the others do
    [0.05, 3.09, 0.69]
    """
    n_all, span_all = int(n_checks.sum()), float(span_s[n_checks > 0].sum())
    if n_all == 0:
        return None
    mean = -np.log((n_all - int(n_changes.sum()) + 0.5) / (n_all + 1)) * n_all / max(span_all, _MIN_SPAN_S)
    interval = np.maximum(span_s, _MIN_SPAN_S) / np.maximum(n_checks, 1)
    stays = (n_checks - n_changes + np.exp(-mean * interval)) / (n_checks + 1.0)
    return np.asarray(np.where(n_checks == 0, mean, -np.log(np.maximum(stays, 1e-12)) / interval))
