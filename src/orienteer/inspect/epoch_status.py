"""The results of each epoch of a crawl, from its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.visits import REQUESTED, named_visits

FIRST_CRAWL = "first_crawl"  # in the database: its pages by kind of visit, as they were when the second epoch began

_REQUESTED = frozenset(kind.words for kind in REQUESTED)


@dataclass(frozen=True)
class EpochStatus:
    """`number` 0 is the first crawl, all of whose pages are new. `visits` are counted by kind (see VisitKind).

    `unsent_bytes` need not be sent, because the page was not modified. `ended` is None while the epoch is not over, and
    for the first crawl.
    """

    number: int
    began: float | None
    ended: float | None
    n_seeds: int
    n_due: int
    visits: dict[str, int]
    unsent_bytes: int

    @property
    def n_requested(self) -> int:
        """The number of pages that took a request."""
        return sum(n for kind, n in self.visits.items() if kind in _REQUESTED)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"n_requested": self.n_requested}


def first_crawl(database: Database) -> dict[str, int]:
    """Return the pages of the first crawl by kind of visit; nothing if it was not refreshed."""
    counts = database.meta.get(FIRST_CRAWL) or {}
    if not isinstance(counts, dict) or not all(isinstance(n, int) and n >= 0 for n in counts.values()):
        raise damaged(database.path, f"{FIRST_CRAWL} does not count visits")
    return counts


def epochs_of(database: Database, n_seeds: int, began: float | None) -> list[EpochStatus]:
    """Return the first crawl and all epochs after it; nothing while there are none."""
    rows = database.epochs.all()
    if not rows:
        return []
    result = [EpochStatus(0, began, None, n_seeds, 0, first_crawl(database), 0)]
    ends = [row.position for row in rows[1:]] + [None]
    for row, end in zip(rows, ends, strict=True):
        visits = named_visits(database.visits.counts(row.position, end))
        unsent_bytes = database.visits.unsent_bytes(row.position, end)
        result.append(EpochStatus(row.id, row.began, row.ended, row.n_seeds, row.n_due, visits, unsent_bytes))
    return result
