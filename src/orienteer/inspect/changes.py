"""What was new, changed and gone in the epochs of a crawl, the newest first.

A page that is missing is not gone yet (see `ledger/revisiting`), and is told when it is. In the first crawl every page
is new; of those, the pages are told that are still there.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.inspect.epoch_status import FIRST_CRAWL
from orienteer.pages.states import PageState
from orienteer.store.database_view import DatabaseView
from orienteer.store.epoch_tables import SeenChange
from orienteer.store.visits import VisitKind
from orienteer.wording import plain

KINDS = {kind.words: kind for kind in (VisitKind.NEW, VisitKind.CHANGED, VisitKind.GONE)}


@dataclass(frozen=True)
class EpochChanges:
    """How many pages were new, changed and gone in an epoch; 0 is the first crawl.

    `ended` is None while the epoch is not over; of the first crawl it is not known.
    """

    epoch: int
    began: float | None
    ended: float | None
    new: int
    changed: int
    gone: int

    @property
    def n_all(self) -> int:
        return self.new + self.changed + self.gone

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """A page that was `new`, `changed` or `gone` in an epoch. Its title is the one that it has now.

    `redirects_to` is where it has led since then. `outcome` is what came of the last attempt to get it.
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

    def in_words(self) -> str:
        """What happened, in a sentence; what a changed page says now is told by `changed_text`."""
        if self.kind == "gone":
            return f"The page is gone ({self.outcome})."
        if self.redirects_to is not None:
            return f"It redirects to {plain(self.redirects_to, 300)}" + (" now." if self.kind == "changed" else ".")
        return "The page is new." if self.kind == "new" else "The page has changed."


class _Stretch(NamedTuple):
    """The positions of an epoch, which ends before `end`."""

    epoch: int
    first: int
    end: int | None


def epoch_changes(database: DatabaseView) -> list[EpochChanges]:
    """The figures of all epochs, the newest first."""
    heads = {head.id: head for head in database.epochs()}
    found = []
    for stretch in _stretches(database):
        if stretch.epoch == 0:
            times = database.times()
            began, ended, visits = None if times is None else times[0], None, _first_visits(database, bool(heads))
        else:
            head = heads[stretch.epoch]
            began, ended = head.began, head.ended
            visits = database.visit_counts(stretch.first, stretch.end)
        counts = {name: visits.get(kind, 0) for name, kind in KINDS.items()}
        found.append(EpochChanges(stretch.epoch, began, ended, **counts))
    return found


def changes(
    database: DatabaseView, epoch: int | None = None, kinds: Collection[str] = tuple(KINDS), limit: int | None = None
) -> Iterator[Change]:
    """The changes of one epoch, or of all of them; at most so many, the newest first."""
    stretches = _stretches(database)
    wanted = [stretch for stretch in stretches if epoch in (None, stretch.epoch)]
    if not wanted:
        raise InputError(f"there is no epoch {epoch}; the last one is {stretches[0].epoch}")
    return islice(_all_changes(database, wanted, [KINDS[kind] for kind in kinds], limit), limit)


def crawl_id(database: DatabaseView) -> uuid.UUID:
    """A name for the crawl that no other has: where and when it began."""
    times = database.times()
    if times is None:
        return uuid.NAMESPACE_URL
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{_encodable(database.url(0))} {times[0]:.3f}")


def change_id(crawl: uuid.UUID, change: Change) -> uuid.UUID:
    """The same for the same page and epoch, whenever it is asked for."""
    return uuid.uuid5(crawl, f"{change.epoch} {_encodable(change.url)}")


def _encodable(url: str) -> str:
    return url.encode("utf-8", "replace").decode()


def _all_changes(
    database: DatabaseView, stretches: list[_Stretch], kinds: list[VisitKind], limit: int | None
) -> Iterator[Change]:
    for stretch in stretches:
        if stretch.epoch:
            seen = database.visits_of_kinds(kinds, stretch.first, stretch.end, limit)
        else:
            seen = database.first_fetched(stretch.end, limit) if VisitKind.NEW in kinds else iter(())
        for one in seen:
            yield _change(database, stretch.epoch, one)


def _change(database: DatabaseView, epoch: int, seen: SeenChange) -> Change:
    target = None if seen.redirect_to is None else database.url(seen.redirect_to)
    url, kind = database.url(seen.page), VisitKind(seen.kind).words
    return Change(epoch, kind, seen.page, url, seen.title, seen.time, target, seen.outcome)


def _stretches(database: DatabaseView) -> list[_Stretch]:
    """The newest first; the last one is the first crawl."""
    heads = database.epochs()
    firsts = [(0, 0), *((head.id, head.position) for head in heads)]
    ends: list[int | None] = [*(head.position for head in heads), None]
    return [_Stretch(epoch, first, end) for (epoch, first), end in zip(firsts, ends, strict=True)][::-1]


def _first_visits(database: DatabaseView, has_epochs: bool) -> dict[VisitKind, int]:
    """What the first crawl came to: it was written down when the next epoch began."""
    if has_epochs:
        first = database.get(FIRST_CRAWL) or {}
        return {VisitKind.NEW: int(first.get(VisitKind.NEW.words, 0))}
    return {VisitKind.NEW: database.counts().by_state.get(PageState.FETCHED, 0)}
