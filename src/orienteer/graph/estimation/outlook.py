"""How far off an estimate may still be: experience from real domains, no proof.

Nothing bounds the error: one uncrawled page that links to the domain could be worth more than all that is known. But
estimates that have stopped changing were mostly close. EXPERIENCE tells, for how much the estimate changed (L1) while
the last n/5 pages were fetched, what error was left on real domains (L1; the benchmark global_rank measures it anew).
There are exceptions: a domain that outside pages link to which its own pages do not lead to never learns of them; of 78
domains one was at an error of 1.0, out of 2, all along. Where the frontier is empty, nothing more can be learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orienteer.errors import unknown_name
from orienteer.graph.estimation.history import Round

RECENT = 0.2  # of the domain's pages: the fetches that tell whether an estimate has settled
MIN_RECENT = 20  # pages: fewer tell nothing

# For each method: changes below (the first), half of the domains within (the second), nine in ten within (the third).
# More change never promises less error, though the sample would sometimes have it so.
EXPERIENCE = {
    "paper": (
        (0.002, 0.03, 0.31),
        (0.005, 0.05, 0.31),
        (0.01, 0.06, 0.35),
        (0.02, 0.17, 0.44),
        (0.05, 0.22, 0.46),
        (0.1, 0.29, 0.50),
        (0.2, 0.31, 0.53),
        (2.0, 0.35, 0.55),
    ),
    "frontier-return": (
        (0.002, 0.02, 0.14),
        (0.005, 0.03, 0.21),
        (0.01, 0.04, 0.25),
        (0.02, 0.07, 0.41),
        (0.05, 0.13, 0.41),
        (0.1, 0.16, 0.41),
        (0.2, 0.21, 0.41),
        (2.0, 0.26, 0.49),
    ),
}
N_DOMAINS = 78


@dataclass(frozen=True)
class Outlook:
    """What experience says of an estimate: how much it changed lately, and how far off such estimates were.

    `change` is None while too few pages have been fetched to tell; then the last row of EXPERIENCE holds. `leaving` is
    the share of the crawled pages' rank that follows links to pages nobody has looked at.
    """

    change: float | None
    half_within: float
    most_within: float
    leaving: float

    def __str__(self) -> str:
        lately = "too few pages for a trend" if self.change is None else f"changed by {self.change:.2g} lately"
        return (
            f"{lately}; of {N_DOMAINS} real domains like this half were within {self.half_within:g} of the truth, nine "
            f"in ten within {self.most_within:g} (L1; experience, no bound); {100 * self.leaving:.0f} % of the rank "
            "leads to pages not fetched"
        )


def outlook(history: Sequence[Round], n_local: int, method: str) -> Outlook:
    """What may be expected of an estimate with this history."""
    if method not in EXPERIENCE:
        raise unknown_name("estimation method", method, EXPERIENCE)
    change = recent_change(history, n_local)
    rows = EXPERIENCE[method]
    row = rows[-1] if change is None else next((row for row in rows if change < row[0]), rows[-1])
    return Outlook(change, row[1], row[2], history[-1].leaving)


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
