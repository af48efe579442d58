"""How far off an estimate may still be: experience from real domains, no proof.

Nothing bounds the error: one uncrawled page that links to the domain could be worth more than all that is known. But
estimates that have stopped changing were mostly close. EXPERIENCE tells, for how much the estimate changed (L1) while
the last n/5 pages were fetched, what error such estimates were within (L1; the benchmark global_rank measures it).

It must hold for kinds of domains that nobody has looked at. So a figure is what 95 in 100 domains of the *worst* kind
were within (hosts, universities, subjects, blogs, stretches of crawls: nine webs), and it was tried on each kind with
figures of the others only: 97 in 100 domains were within it (paper) and 96 (frontier return); of the worst kind 85 and
88. What is said is nine in ten.

Nothing is said where there is no basis: before n/5 pages were fetched, 20 at least (errors up to 1.4, out of 2), and of
domains without links between their own pages, whose own rank says nothing (up to 0.9).

There are exceptions: a domain that outside pages link to which its own pages do not lead to never learns of them. Where
the frontier is empty, nothing more can be learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orienteer.errors import unknown_name
from orienteer.graph.estimation.history import Round

RECENT = 0.2  # of the domain's pages: the fetches that tell whether an estimate has settled
MIN_RECENT = 20  # pages: fewer tell nothing

# For each method: changes below the first figure, nine in ten domains within the second. More change never promises
# less error, though the sample would sometimes have it so.
EXPERIENCE = {
    "paper": ((0.1, 0.68), (2.0, 0.76)),
    "frontier-return": ((0.005, 0.36), (2.0, 0.54)),
}
N_DOMAINS = 182


@dataclass(frozen=True)
class Outlook:
    """What experience says of an estimate: how much it changed lately, and how far off such estimates were.

    `change` is None while too few pages have been fetched to tell. `most_within` is None where there is no experience
    to go by: then, and for a domain without links between its pages (`has_inner_links`). `leaving` is the share of the
    crawled pages' rank that follows links to pages nobody has looked at.
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


def outlook(history: Sequence[Round], n_local: int, method: str, has_inner_links: bool = True) -> Outlook:
    """What may be expected of an estimate with this history."""
    if method not in EXPERIENCE:
        raise unknown_name("estimation method", method, EXPERIENCE)
    change = recent_change(history, n_local)
    if change is None or not has_inner_links:
        return Outlook(change, None, history[-1].leaving, has_inner_links)
    rows = EXPERIENCE[method]
    row = next((row for row in rows if change < row[0]), rows[-1])
    return Outlook(change, row[1], history[-1].leaving)


def recent_change(history: Sequence[Round], n_local: int) -> float | None:
    """The changes (L1) of the rounds that fetched the last n/5 pages, 20 at least, added up; None where fewer were.

    Where the frontier is empty nothing can change any more, so it is 0.
    """
    if history[-1].n_frontier == 0:
        return 0.0
    last, total = history[-1].n_fetched, 0.0
    for entry, before in zip(reversed(history), list(reversed(history))[1:], strict=False):
        total += entry.change or 0.0
        if last - before.n_fetched >= max(RECENT * n_local, MIN_RECENT):
            return total
    return None
