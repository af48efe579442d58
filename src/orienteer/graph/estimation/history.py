"""The rounds of an estimation, the errors of an estimate if the truth is known, and a forecast of them otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import unknown_name
from orienteer.kernel import allocating_kernel

# Values that differ by less than this share of the mean are tied: they are computed only to 1e-8 in L1.
_SAME = 1e-6
RECENT = 0.2  # of the domain's pages: the last fetches, over which the change is measured
MIN_RECENT = 20  # pages: fewer say nothing

# For each method: for changes below the first figure, nine in ten domains were within the second. The figures are made
# monotone: more change never predicts a smaller error, even where the sample does.
EXPERIENCE = {
    "paper": ((0.1, 0.68), (2.0, 0.76)),
    "frontier-return": ((0.005, 0.36), (2.0, 0.54)),
}
N_DOMAINS = 182


@dataclass(frozen=True)
class Errors:
    """The errors of an estimated rank: L1, the largest difference, and Kendall's tau-b.

    tau is 1 if both order the pages alike, -1 if one order is the reverse of the other, and NaN if there is no order:
    a single page, or all pages tied.
    """

    l1: float
    l_inf: float
    tau: float

    @classmethod
    def between(cls, rank: NDArray[np.float64], truth: NDArray[np.float64]) -> Errors:
        """Compare two ranks that both sum to 1."""
        off = np.abs(rank - truth)
        step = _SAME / len(rank)
        return cls(float(off.sum()), float(off.max()), kendall_tau(np.rint(rank / step), np.rint(truth / step)))


def kendall_tau(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Kendall's tau-b of two rows of numbers; NaN if all numbers of one are equal.

    It is (concordant - discordant pairs) / sqrt(pairs untied in the first * pairs untied in the second).
    """
    levels, others = (np.unique(values, return_inverse=True)[1] for values in (first, second))
    n_pairs, n_tied = len(levels) * (len(levels) - 1) // 2, []
    for groups in (levels, others, levels * (len(levels) + 1) + others):
        counts = np.unique(groups, return_counts=True)[1]
        n_tied.append(int((counts * (counts - 1) // 2).sum()))
    untied = (n_pairs - n_tied[0]) * (n_pairs - n_tied[1])
    if untied == 0:
        return float("nan")
    n_discordant = int(_n_inversions(others[np.lexsort((others, levels))]))
    return (n_pairs - n_tied[0] - n_tied[1] + n_tied[2] - 2 * n_discordant) / math.sqrt(untied)


@allocating_kernel
def _n_inversions(values: Any) -> int:
    """Count the pairs in which the earlier value, an index below len(values), is greater: by a Fenwick tree."""
    counts = np.zeros(len(values) + 1, np.int64)  # of the values so far
    n_inversions = 0
    for k in range(len(values)):
        n_inversions += k
        at = values[k] + 1
        while at > 0:  # those that are not greater
            n_inversions -= counts[at]
            at -= at & -at
        at = values[k] + 1
        while at < len(counts):
            counts[at] += 1
            at += at & -at
    return n_inversions


@dataclass(frozen=True)
class EstimateRound:
    """One round: the number of pages fetched by its end, and the change of the estimate.

    `change` is the L1 change since the previous round (None for the first entry, before any fetch); `leaving` is the
    share of the rank on crawled pages that follows links to uncrawled ones. `errors` is set if the truth is known.
    """

    n_fetched: int
    n_frontier: int
    change: float | None
    leaving: float
    errors: Errors | None = None


@dataclass(frozen=True)
class SettlingForecast:
    """The recent change of an estimate, and how far off estimates with such a change were.

    `change` is None while too few pages have been fetched. `most_within` is None without a basis: if `change` is None,
    or if the domain has no links between its pages (`has_inner_links`). `leaving` is the share of the crawled pages'
    rank that follows links to uncrawled pages.

    This is experience from real domains, not a proof. The error has no bound: one uncrawled page that links to the
    domain could have more rank than all known pages. But estimates that have stopped changing were mostly close.
    EXPERIENCE maps the change of the estimate (L1) while the last n/5 pages were fetched to the error that such
    estimates were within (L1; measured by the benchmark global_rank).

    The forecast must hold for new kinds of domains. So each figure is the error that 95 % of the domains of the *worst*
    kind were within (hosts, universities, subjects, blogs, stretches of crawls: nine webs). Cross-validation by kind,
    with figures from the other kinds only: 97 % of the domains were within it (paper) and 96 % (frontier return); for
    the worst kind 85 % and 88 %. The text states nine in ten.

    There is no forecast without a basis: before n/5 pages, and at least 20, were fetched (errors up to 1.4, out of 2),
    and for domains without links between their own pages, whose local rank is meaningless (up to 0.9).

    Exception: pages that link to the domain but cannot be reached from it are never discovered. If the frontier is
    empty, more fetches cannot change the estimate.
    """

    change: float | None
    most_within: float | None
    leaving: float
    has_inner_links: bool = True

    def __str__(self) -> str:
        if not self.has_inner_links:
            basis = "not known: the pages of the domain do not link to each other, so there is nothing to compare with"
        elif self.most_within is None:
            basis = "not known: too few pages were fetched to see a trend"
        else:
            basis = (
                f"changed by {self.change:.2g} lately; nine in ten of {N_DOMAINS} real domains like this were within "
                f"{self.most_within:g} of the truth (L1; experience, no bound)"
            )
        return f"{basis}; {100 * self.leaving:.0f} % of the rank leads to pages not fetched"


def forecast(
    history: Sequence[EstimateRound], n_local: int, method: str, has_inner_links: bool = True
) -> SettlingForecast:
    """Return the forecast for an estimate with this history."""
    if method not in EXPERIENCE:
        raise unknown_name("estimation method", method, EXPERIENCE)
    change = recent_change(history, n_local)
    if change is None or not has_inner_links:
        return SettlingForecast(change, None, history[-1].leaving, has_inner_links)
    rows = EXPERIENCE[method]
    row = next((row for row in rows if change < row[0]), rows[-1])
    return SettlingForecast(change, row[1], history[-1].leaving)


def recent_change(history: Sequence[EstimateRound], n_local: int) -> float | None:
    """Return the sum of the changes (L1) while the last n/5 pages, and at least 20, were fetched; None if fewer were.

    It is 0 if the frontier is empty, because then nothing can change any more.
    """
    if history[-1].n_frontier == 0:
        return 0.0
    last, total = history[-1].n_fetched, 0.0
    for entry, before in zip(reversed(history), list(reversed(history))[1:], strict=False):
        total += entry.change or 0.0
        if last - before.n_fetched >= max(RECENT * n_local, MIN_RECENT):
            return total
    return None
