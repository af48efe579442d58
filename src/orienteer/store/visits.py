"""What comes of a page in an epoch, when pages are looked at that may have been seen before."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.store.archive import Position


class VisitKind(IntEnum):
    """What was found, beside what was known. Of a page that is *kept*, all that was known stays as it was.

    A page is `MISSING` when it answers that there is no such page, or has moved for the time being; it is kept until
    that has gone on for long enough: then it is `GONE`, and its links are forgotten.
    """

    NEW = 0  # fetched for the first time
    CHANGED = 1  # another content, another redirect, or back after it was gone
    UNCHANGED = 2  # the same content was sent again
    NOT_MODIFIED = 3  # the server said that it is the same: nothing was sent
    CARRIED = 4  # not asked for: it was seen not long ago, or changes rarely
    MISSING = 5  # kept
    GONE = 6
    OUT_OF_REACH = 7  # the host is down, robots.txt forbids it, an error: kept
    NOTHING = 8  # seen for the first time, and there is no page, or none for us
    LEFT = 9  # farther from the start than this epoch goes: nothing is said of it

    @property
    def words(self) -> str:
        """`NOT_MODIFIED` as people write it: `not modified`."""
        return self.name.lower().replace("_", " ")


# Visits for which a host was asked, or should have been.
ASKED = frozenset(VisitKind) - {VisitKind.CARRIED, VisitKind.LEFT}


def named_visits(counts: Mapping[VisitKind, int]) -> dict[str, int]:
    """How many visits there were of each kind, by its name in plain words."""
    return {kind.words: counts[kind] for kind in sorted(counts)}


class Visit(NamedTuple):
    """A page in an epoch. `state` (a PageState) and `redirect_to` are what the Crawl has heard."""

    position: int
    page: int
    kind: int
    state: int
    time: float
    redirect_to: int | None = None
    archived: Position | None = None


class Revisits(NamedTuple):
    """What was seen of a page each time that it was asked for again. Times are Unix times.

    `checked` is when its content was last seen to be the known one, or to have changed; `n_checks` counts that from the
    second time on, `n_changes` those with a change. `n_missing` counts since `missing_since`, 0 once it is back.
    """

    page: int
    first_time: float
    checked: float
    n_checks: int = 0
    n_changes: int = 0
    n_missing: int = 0
    missing_since: float | None = None


class EpochHead(NamedTuple):
    """An epoch after the first crawl in a few figures; `ended` is None while it is not over."""

    id: int
    began: float
    ended: float | None
    position: int
    n_seeds: int
    n_due: int


class EpochRow(NamedTuple):
    """An epoch after the first crawl; `hops` None: as far as the links go. `ended` is None while it is not over."""

    id: int
    began: float
    ended: float | None
    position: int
    hops: int | None
    seeds: NDArray[np.uint32]
    trust: NDArray[np.float64]
    due: NDArray[np.uint32]
