"""Visits: the outcomes of pages in an epoch, compared with the stored version of the page."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.store.archive import Position


class VisitKind(IntEnum):
    """The result of a visit. "Stored" below: the stored version of the page stays unchanged.

    A page is `MISSING` when the server answers that it does not exist, or redirects temporarily. It stays stored until
    it was missing for long enough: then it is `GONE`, and its links are deleted.
    """

    NEW = 0  # fetched for the first time
    CHANGED = 1  # new content, another redirect, or back after it was gone
    UNCHANGED = 2  # the same content was sent again
    NOT_MODIFIED = 3  # the server answered 304: nothing was sent
    CARRIED = 4  # not requested, since it was not due; stored
    MISSING = 5  # stored
    GONE = 6
    UNREACHABLE = 7  # the host is down, robots.txt forbids it, an error; stored
    NOTHING = 8  # a new URL without a page that can be fetched
    LEFT = 9  # more links from the start than the limit of this epoch; stored

    @property
    def words(self) -> str:
        """The name for messages: `not modified`."""
        return self.name.lower().replace("_", " ")


# Visits with a request, or for which one was due.
REQUESTED = frozenset(VisitKind) - {VisitKind.CARRIED, VisitKind.LEFT}


def named_visits(counts: Mapping[VisitKind, int]) -> dict[str, int]:
    """Return the number of visits of each kind, by its name for messages."""
    return {kind.words: counts[kind] for kind in sorted(counts)}


class Visit(NamedTuple):
    """A visit of a page. `state` (a PageState) and `redirect_to` are what the Crawl received."""

    position: int
    page: int
    kind: int
    state: int
    time: float
    redirect_to: int | None = None
    archived: Position | None = None


class Revisits(NamedTuple):
    """The history of the visits of a page. Times are Unix times.

    `checked` is the time of the last comparison of its content; `n_checks` counts the comparisons, without the first
    fetch, and `n_changes` those with a change. `n_missing` counts since `missing_since`, and is 0 once the page is
    back. `repeated` is the page of which this one was last a duplicate, before it changed. `missing_as` is the last
    outcome of a missing page: `http 404`, `redirect`, `a copy of another page`; None if it is not missing, or unknown.
    `former_digest` is the digest of what the server sent before the last change; None if it is unknown.
    """

    page: int
    first_time: float
    checked: float
    n_checks: int = 0
    n_changes: int = 0
    n_missing: int = 0
    missing_since: float | None = None
    repeated: int | None = None
    missing_as: str | None = None
    former_digest: bytes | None = None


class EpochHead(NamedTuple):
    """A summary of an epoch after the first crawl; `ended` is None while it is running."""

    id: int
    began: float
    ended: float | None
    position: int
    n_seeds: int
    n_due: int


class EpochRow(NamedTuple):
    """An epoch after the first crawl; `hops` None: no limit. `ended` is None while it is running."""

    id: int
    began: float
    ended: float | None
    position: int
    hops: int | None
    seeds: NDArray[np.uint32]
    trust: NDArray[np.float64]
    due: NDArray[np.uint32]
