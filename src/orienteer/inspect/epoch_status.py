"""What came of each epoch of a crawl, told from its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.store.database import Database
from orienteer.store.visits import ASKED, named_visits

FIRST_CRAWL = "first_crawl"  # in the database: its pages by kind of visit, as they were when the second epoch began

_ASKED = frozenset(kind.words for kind in ASKED)


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
    def n_asked(self) -> int:
        """Pages for which a host was asked."""
        return sum(n for kind, n in self.visits.items() if kind in _ASKED)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"n_asked": self.n_asked}


def epochs_of(database: Database, n_seeds: int, began: float | None) -> list[EpochStatus]:
    """The first crawl and all epochs after it; nothing while there are none."""
    rows = database.epochs()
    if not rows:
        return []
    first = {str(kind): int(n) for kind, n in (database.get(FIRST_CRAWL) or {}).items()}
    found = [EpochStatus(0, began, None, n_seeds, 0, first, 0)]
    ends = [row.position for row in rows[1:]] + [None]
    for row, end in zip(rows, ends, strict=True):
        visits = named_visits(database.visit_counts(row.position, end))
        unsent_bytes = database.unsent_bytes(row.position, end)
        found.append(EpochStatus(row.id, row.began, row.ended, row.n_seeds, row.n_due, visits, unsent_bytes))
    return found
