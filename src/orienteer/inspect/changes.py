"""Which pages were new, changed, missing and gone in each epoch of a crawl, and which are missing now.

A page whose response says that it does not exist is missing at once, and gone later (see `ledger/revisiting`). It is
listed in the first epoch in which it is missing. In the first crawl every page is new; it lists those that still exist.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.inspect.tallies import first_crawl
from orienteer.pages.states import PageState
from orienteer.store.database import Database, DatabaseView
from orienteer.store.visit_tables import SeenChange
from orienteer.store.visits import VisitKind
from orienteer.wording import moment, plain

KINDS = {kind.words: kind for kind in (VisitKind.NEW, VisitKind.CHANGED, VisitKind.MISSING, VisitKind.GONE)}


@dataclass(frozen=True)
class EpochChanges:
    """How many pages were new, changed, missing for the first time and gone in an epoch; 0 is the first crawl.

    `ended` is None while the epoch is not over, and for the first crawl, where it is not stored.
    """

    epoch: int
    began: float | None
    ended: float | None
    new: int
    changed: int
    missing: int
    gone: int

    @property
    def n_all(self) -> int:
        return self.new + self.changed + self.missing + self.gone

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class MissingPage:
    """A page that has been missing `since` a refresh, and is not deleted yet (see `ledger/revisiting`).

    `outcome` is that of its last request: `http 404`, say. It was missing `n_times`.
    """

    url: str
    title: str
    outcome: str
    since: float
    n_times: int
    page: int = -1

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self)
        del facts["page"]
        return facts

    def describe(self) -> str:
        """`https://example.org/old: http 404, missing since 2026-01-31 09:00:00 UTC`."""
        return f"{plain(self.url, 300)}: {plain(self.outcome, 100)}, missing since {moment(self.since)}"


def missing_pages(database: Database) -> list[MissingPage]:
    """Return all pages that are missing now, those missing longest first."""
    result = []
    for seen in database.visits.missing():
        row = database.pages.row(seen.page)
        title, outcome = "" if row is None else row.title, seen.missing_as or VisitKind.MISSING.words
        since = seen.missing_since or 0.0
        result.append(MissingPage(database.urls.of(seen.page), title, outcome, since, seen.n_missing, seen.page))
    return result


@dataclass(frozen=True)
class Change:
    """A page that was `new`, `changed`, `missing` or `gone` in an epoch, with its present title.

    `redirects_to` is the target it has had since then. `outcome` is that of its last request.
    """

    epoch: int
    kind: str
    page: int
    url: str
    title: str
    time: float
    redirects_to: str | None
    outcome: str

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self)
        del facts["page"]
        return facts

    def describe(self) -> str:
        """Describe the change in a sentence; `text_changes` adds the new text."""
        if self.kind == "gone":
            return f"The page is gone ({self.outcome})."
        if self.kind == "missing":
            return f"The page is missing ({self.outcome}); its last version stays for now."
        if self.redirects_to is not None:
            return f"It redirects to {plain(self.redirects_to, 300)}" + (" now." if self.kind == "changed" else ".")
        return "The page is new." if self.kind == "new" else "The page has changed."


class _EpochSpan(NamedTuple):
    """The positions of an epoch, which ends before `end`; the epoch before it begins at `before`."""

    epoch: int
    first: int
    end: int | None
    before: int


def epoch_changes(database: DatabaseView) -> list[EpochChanges]:
    """Return the figures of all epochs, the newest first."""
    heads = {head.id: head for head in database.epochs.all()}
    result = []
    for span in _epoch_spans(database):
        if span.epoch == 0:
            times = database.history.times()
            began, ended, visits = None if times is None else times[0], None, _first_visits(database, bool(heads))
        else:
            head = heads[span.epoch]
            began, ended = head.began, head.ended
            visits = database.visits.counts(span.first, span.end)
            visits[VisitKind.MISSING] = sum(1 for _ in database.visits.newly_missing(*span[1:]))
        counts = {name: visits.get(kind, 0) for name, kind in KINDS.items()}
        result.append(EpochChanges(span.epoch, began, ended, **counts))
    return result


def changes(
    database: DatabaseView, epoch: int | None = None, kinds: Collection[str] = tuple(KINDS), limit: int | None = None
) -> Iterator[Change]:
    """Yield the changes of one epoch, or of all of them; at most `limit`, the newest first."""
    spans = _epoch_spans(database)
    selected = [span for span in spans if epoch in (None, span.epoch)]
    if not selected:
        raise InputError(f"there is no epoch {epoch}; the last one is {spans[0].epoch}")
    return islice(_all_changes(database, selected, [KINDS[kind] for kind in kinds], limit), limit)


def crawl_id(database: DatabaseView) -> uuid.UUID:
    """Return a unique id of the crawl, from its first URL and time."""
    times = database.history.times()
    if times is None:
        return uuid.NAMESPACE_URL
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{_encodable(database.urls.of(0))} {times[0]:.3f}")


def change_id(crawl: uuid.UUID, change: Change) -> uuid.UUID:
    """Return a stable id of the change, from the page and the epoch."""
    return uuid.uuid5(crawl, f"{change.epoch} {_encodable(change.url)}")


def _encodable(url: str) -> str:
    return url.encode("utf-8", "replace").decode()


def _all_changes(
    database: DatabaseView, spans: list[_EpochSpan], kinds: list[VisitKind], limit: int | None
) -> Iterator[Change]:
    for span in spans:
        seen: Iterable[SeenChange]
        if span.epoch:
            others = [kind for kind in kinds if kind is not VisitKind.MISSING]
            seen = database.visits.of_kinds(others, span.first, span.end, limit) if others else ()
            if VisitKind.MISSING in kinds:
                missing = database.visits.newly_missing(*span[1:])
                seen = heapq.merge(seen, missing, key=lambda one: one.position, reverse=True)
        else:
            seen = database.visits.first_fetched(span.end, limit) if VisitKind.NEW in kinds else iter(())
        for one in seen:
            yield _change(database, span.epoch, one)


def _change(database: DatabaseView, epoch: int, seen: SeenChange) -> Change:
    target = None if seen.redirect_to is None else database.urls.of(seen.redirect_to)
    url, kind = database.urls.of(seen.page), VisitKind(seen.kind).words
    return Change(epoch, kind, seen.page, url, seen.title, seen.time, target, seen.outcome)


def _epoch_spans(database: DatabaseView) -> list[_EpochSpan]:
    """Return the epochs, the newest first; the last one is the first crawl."""
    heads = database.epochs.all()
    firsts = [(0, 0), *((head.id, head.position) for head in heads)]
    ends: list[int | None] = [*(head.position for head in heads), None]
    previous = [0, *(first for _, first in firsts)]
    pairs = zip(firsts, ends, previous, strict=False)
    return [_EpochSpan(epoch, first, end, before) for (epoch, first), end, before in pairs][::-1]


def _first_visits(database: DatabaseView, has_epochs: bool) -> dict[VisitKind, int]:
    """Return the visits of the first crawl, which were stored when the next epoch began."""
    if has_epochs:
        return {VisitKind.NEW: first_crawl(database).get(VisitKind.NEW.words, 0)}
    return {VisitKind.NEW: database.pages.counts().by_state.get(PageState.FETCHED, 0)}
