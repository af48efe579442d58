"""A new database, rebuilt from the intact data of the old one and of the archive.

The history of a crawl is a sequence of events, each at its *position*. An event is left out if

    its row cannot be read, or cannot have been written by a crawl
    the archive does not hold the page any more, or holds another one at its position
    it refers to a lost URL: the page would have fewer links, and each of the others too much weight

The history is consistent if each page becomes known before its own event. A page whose only link was on a page that was
left out is therefore recorded as known just before, as if a sitemap had listed it. So the certificate covers the
remaining pages and their links. Pages that were left out are recorded as known at the end: they are in the frontier.

Positions are assigned again; page ids, too, if URLs are lost, the seeds first.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.extract.near_duplicates import SIGNATURE_BYTES
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT, UnknownLinks
from orienteer.repair.salvage import ArchiveScan, Salvage
from orienteer.store.archive import Position
from orienteer.store.database import Database
from orienteer.store.detail_tables import SessionRow
from orienteer.store.folder_view import ARCHIVE_END
from orienteer.store.page_row import PageRow, page_ids
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from orienteer.store.schema import RANGES, RowRanges
from orienteer.store.visits import EpochRow, Revisits, Visit, VisitKind
from orienteer.url import canonical_url

_KNOWN, _PAGE, _VISIT = range(3)  # the order of events with the same position
_URLS_AT_ONCE = 10_000
_STATES = frozenset(PageState) - {PageState.KNOWN, PageState.IN_FLIGHT}
_NO_PAGE = ("http 404", "http 410")
_DERIVED = frozenset((ARCHIVE_END, "figures"))  # meta keys


_ROW_RANGES = RowRanges(PageRow._fields)
_SESSION_COLUMNS = ("stripped", "page", "digest", "is_same")
_EVENT_COLUMNS = ("time", "kind", "host", "detail")
_EVENT_RANGES = dict(RANGES) | {"kind": RANGES["event_kind"]}  # in other tables a kind is a number
_TEXTS = ("outcome", "content_type", "language", "title", "etag", "last_modified")
RENDERED_COLUMNS = (
    "why", "time", "url", "dom_file", "dom_offset", "dom_bytes", "view_file", "view_offset", "view_bytes",
    "n_words_sent", "n_words", "n_links_sent", "n_links", "n_parts", "cpu_s", "trouble", "sent_digest",
    "rendered_digest",
)  # fmt: skip
_ASSET_COLUMNS = (
    "id", "url", "epoch", "outcome", "status", "time", "content_type", "digest", "archive_file", "archive_offset",
    "archive_bytes", "credentials",
)  # fmt: skip
Offsets = set[tuple[int, int]]  # file and offset of records


@dataclass
class Rebuilt:
    """The result of a rebuild. `lost` are the URLs of pages that must be fetched again, with the reason."""

    n_pages: int = 0
    n_urls: int = 0
    n_urls_lost: int = 0
    n_made_known: int = 0  # pages recorded as known without a link to them
    lost: dict[str, str] = field(default_factory=dict)
    lost_assets: list[str] = field(default_factory=list)  # URLs of assets that must be fetched again
    used: set[tuple[int, int]] = field(default_factory=set)  # file and offset of the records that rows refer to

    @property
    def is_unchanged(self) -> bool:
        return not (self.lost or self.n_urls_lost or self.n_made_known or self.lost_assets)


class _Event(NamedTuple):
    position: int
    kind: int
    values: tuple[Any, ...]


class _UnusableRowError(Exception):
    """A row is left out; the message says why."""


def rebuild(old: Salvage, seeds: tuple[str, ...], scan: ArchiveScan, new: Database) -> Rebuilt:
    """Fill the new, empty database; nothing is committed here."""
    return _Rebuilding(old, scan, new).run(seeds)


class _Rebuilding:
    """One run of `rebuild`; `_position` is that of the next event, `_last_visit` that of the last visit."""

    def __init__(self, old: Salvage, scan: ArchiveScan, new: Database) -> None:
        self._old, self._scan, self._new = old, scan, new
        self.result = Rebuilt()
        self._numbers: NDArray[np.int64] = np.zeros(0, np.int64)  # new ids by old ones, -1: lost
        self._position, self._last_visit = 0, -1
        self._is_done: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._is_known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._is_visited: NDArray[np.bool_] = np.zeros(0, np.bool_)  # in this epoch
        self._lost_pages: list[int] = []

    def run(self, seeds: tuple[str, ...]) -> Rebuilt:
        self._number_urls(seeds)
        self._is_known[: len(seeds)] = True
        epochs = self._epochs()
        for event in self._events():
            while epochs and event.position >= epochs[0].position:
                self._begin(epochs.pop(0))
            self._apply(event)
        for epoch in epochs:
            self._begin(epoch)
        unknown = [page for page in self._lost_pages if not self._is_known[page] and not self._is_done[page]]
        if unknown:
            self._make_known(unknown)
        self._copy_other_tables()
        self._new.meta.set(ARCHIVE_END, self._scan.end)
        return self.result

    # -- URLs ---------------------------------------------------------------------------------------------------

    def _number_urls(self, seeds: tuple[str, ...]) -> None:
        seen = {url: number for number, url in enumerate(seeds)}
        batch, first = list(seeds), 0
        numbers = np.zeros(1024, np.int64)  # 0: lost, else one more than the new number
        n_old = 0
        for old, url in self._old.rows("url", "id", ("id", "url")):
            if old >= self._old.max_rows():  # ids are dense, so this one is damaged
                break
            n_old, numbers = old + 1, grown(numbers, old + 1)
            is_seed = old < len(seeds) and url == seeds[old]
            if not is_seed and (not isinstance(url, str) or canonical_url(url) != url or url in seen):
                continue  # this URL, or an earlier one that equals it, is damaged
            if url not in seen:
                seen[url] = len(seen)
                batch.append(url)
            numbers[old] = seen[url] + 1
            if len(batch) >= _URLS_AT_ONCE:
                self._new.urls.add(first, batch)
                first, batch = first + len(batch), []
        self._new.urls.add(first, batch)
        self._numbers = numbers[:n_old] - 1
        self._is_done, self._is_known, self._is_visited = np.zeros((3, len(seen)), np.bool_)
        self.result.n_urls, self.result.n_urls_lost = len(seen), int((self._numbers < 0).sum())

    def _id(self, old: Any) -> int:
        if not isinstance(old, int) or not 0 <= old < len(self._numbers) or self._numbers[old] < 0:
            raise _UnusableRowError("its URL, or one that it refers to, is lost")
        return int(self._numbers[old])

    def _optional_id(self, old: Any) -> int | None:
        return None if old is None else self._id(old)

    def _remaining_id(self, old: int | None) -> int | None:
        """Return the new id; None for None, or if the URL is lost."""
        try:
            return self._optional_id(old)
        except _UnusableRowError:
            return None

    def _ids(self, old: NDArray[np.uint32]) -> NDArray[np.uint32]:
        if old.max(initial=0) >= max(len(self._numbers), 1) or (self._numbers[old] < 0).any():
            raise _UnusableRowError("a URL that it links to is lost")
        return self._numbers[old].astype(np.uint32)

    def _remaining_ids(self, blob: Any) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """Return the new ids of the URLs that are not lost, and the mask of these."""
        old = page_ids([blob])
        remains = old < len(self._numbers)
        remains[remains] = self._numbers[old[remains]] >= 0
        return self._numbers[old[remains]].astype(np.uint32), remains

    # -- events -------------------------------------------------------------------------------------------------

    def _events(self) -> Iterator[_Event]:
        columns = PageRow._fields
        pages = (
            _Event(row[columns.index("position")], _PAGE, row) for row in self._old.rows("page", "position", columns)
        )
        known_rows = self._old.valid_rows("known", "position", ("position", "pages"))
        known = (_Event(row[0], _KNOWN, row) for row in known_rows)
        names = ("position", "page", "kind", "state", "time", "redirect_to")
        position = ("archive_file", "archive_offset", "archive_bytes")
        visits = (_Event(row[0], _VISIT, row) for row in self._old.valid_rows("visit", "position", (*names, *position)))
        return heapq.merge(known, pages, visits, key=lambda event: event[:2])

    def _apply(self, event: _Event) -> None:
        try:
            if event.kind == _KNOWN:
                pages, _ = self._remaining_ids(event.values[1])
                self._new.history.add_known(self._position, pages)
                self._is_known[pages] = True
                self._position += 1
            elif event.kind == _PAGE:
                self._apply_page(event.values)
            else:
                self._apply_visit(event.values)
        except (TypeError, ValueError, OverflowError, AttributeError):
            pass  # a damaged row is left out; pages that it made known are recorded as known when needed

    def _apply_page(self, values: tuple[Any, ...]) -> None:
        old = values[PageRow._fields.index("id")]
        try:
            row = self._row(values)
        except _UnusableRowError as error:
            return self._lose(old, str(error))
        except (TypeError, ValueError, OverflowError, AttributeError):
            return self._lose(old, "its row is damaged")
        if self._is_done[row.id]:
            return
        if not self._is_known[row.id]:
            self._make_known([row.id])
            self.result.n_made_known += 1
        self._new.pages.add(row._replace(position=self._position))
        self._is_done[row.id] = self._is_visited[row.id] = True
        self.result.n_pages += 1
        self._mark_known(row.links, row.redirect_to)
        if row.archived is not None:
            self.result.used.add(row.archived[:2])
        self._position += 1

    def _row(self, values: tuple[Any, ...]) -> PageRow:
        values = tuple(
            "" if value is None and name in _TEXTS else value
            for name, value in zip(PageRow._fields, values, strict=True)
        )
        _ROW_RANGES.check(values)
        row = PageRow.of_stored(values)
        if row.state not in _STATES or not isinstance(row.time, float) or not isinstance(row.outcome, str):
            raise ValueError("no valid row")
        if row.state == PageState.FAILED and row.outcome not in _NO_PAGE:  # versions before 0.2
            row = row._replace(state=PageState.SKIPPED if row.outcome == Outcome.UNWANTED_TYPE else PageState.BLOCKED)
        page = self._id(row.id)
        if row.archived is not None and not self._scan.holds(row.archived):
            raise _UnusableRowError("its record in the archive is lost")
        if row.archived is not None and not self._scan.holds(row.archived, self._new.urls.of(page)):
            raise _UnusableRowError("its record in the archive is of another page")
        return row._replace(
            id=page,
            redirect_to=self._optional_id(row.redirect_to),
            duplicate_of=self._optional_id(row.duplicate_of),
            near_duplicate_of=self._optional_id(row.near_duplicate_of),
            links=self._ids(row.links),
            outside=self._ids(row.outside),
        )

    def _apply_visit(self, values: tuple[Any, ...]) -> None:
        """Copy a visit, unless the row of its page was left out: then the page is visited again."""
        _, old, kind, state, time, redirect_to, *location = values
        try:
            page, target = self._id(old), self._optional_id(redirect_to)
        except _UnusableRowError:
            return
        row = self._new.pages.row(page) if self._is_done[page] else None
        is_blocked_now = VisitKind(kind) in (VisitKind.LEFT, VisitKind.UNREACHABLE, VisitKind.NOTHING)
        if row is None and not (is_blocked_now and state == PageState.BLOCKED):
            return
        # The page was new: the same event.
        is_first = row is not None and row.position == self._position - 1 != self._last_visit
        if self._is_visited[page] and not is_first:
            return  # the row of an epoch that began in between is lost
        self._is_visited[page] = True
        if not self._is_known[page]:
            self._make_known([page])
            self.result.n_made_known += 1
        position = self._position - 1 if is_first else self._position
        archived = None if None in location else Position(*location)
        if archived is not None and not self._scan.holds(archived):
            archived = None
        self._new.visits.add(Visit(position, page, int(kind), int(PageState(state)), float(time), target, archived))
        if archived is not None:
            self.result.used.add(archived[:2])
        if row is not None and state == PageState.FETCHED:
            self._mark_known(row.links, target)
        self._last_visit, self._position = position, position + 1

    def _lose(self, old: Any, why: str) -> None:
        """Return a page to the frontier, unless its URL is lost."""
        try:
            page = self._id(old)
        except _UnusableRowError:
            return
        self._lost_pages.append(page)
        self.result.lost[self._new.urls.of(page)] = why

    def _make_known(self, pages: Iterable[int]) -> None:
        ids = np.array(list(pages), np.uint32)
        self._new.history.add_known(self._position, ids)
        self._is_known[ids] = True
        self._position += 1

    def _mark_known(self, links: NDArray[np.uint32], target: int | None) -> None:
        self._is_known[links] = True
        if target is not None:
            self._is_known[target] = True

    # -- epochs -------------------------------------------------------------------------------------------------

    def _epochs(self) -> list[EpochRow]:
        """Return the epochs with remaining seeds; their trust is scaled to sum to 1 again."""
        epochs = []
        for row in self._old.valid_rows("epoch", "id", EpochRow._fields):
            try:
                number, began, ended, position, hops, seeds, trust, due = row
                seeds, remains = self._remaining_ids(seeds)
                weights = np.frombuffer(trust, "<f8")[remains]
                if not len(seeds) or not (weights > 0).all():
                    continue
                due, _ = self._remaining_ids(due)
                epoch = EpochRow(
                    int(number), float(began), ended, int(position), hops, seeds, weights / weights.sum(), due
                )
            except (TypeError, ValueError, IndexError):
                continue
            epochs.append(epoch)
        return sorted(epochs, key=lambda epoch: epoch.position)

    def _begin(self, epoch: EpochRow) -> None:
        self._new.epochs.add(epoch._replace(position=self._position))
        self._is_visited[:] = self._is_known[:] = False
        self._is_known[epoch.seeds] = True
        self._is_known[epoch.due] = True

    # -- other tables -------------------------------------------------------------------------------------------

    def _copy_unknown_links(self) -> None:
        """Copy the counts of unknown links. If rows of this table are lost, any page may have some: mark all."""
        n_lost = self._old.n_lost
        rows = list(self._of_pages("unknown", ("n", "why")))
        if self._old.n_lost == n_lost:
            for page, n, why in rows:
                self._new.details.set_unknown(page, UnknownLinks(n, why))
            return
        for page in np.flatnonzero(self._is_done).tolist():
            row = self._new.pages.row(page)
            if row is not None and row.state == PageState.FETCHED and row.redirect_to is None:
                self._new.details.set_unknown(page, UnknownLinks(UNKNOWN_COUNT, "the folder was damaged"))

    def _copy_other_tables(self) -> None:
        new = self._new
        self._copy_unknown_links()
        for stripped, page, digest, is_same in self._old.all_rows_of("session", _SESSION_COLUMNS):
            with suppress(_UnusableRowError):
                new.details.set_session(stripped, SessionRow(self._id(page), digest, bool(is_same)))
        for page, target in self._of_pages("canonical", ("target",)):
            with suppress(_UnusableRowError):
                new.details.set_canonical(page, self._id(target))
        for page, words in self._of_pages("words", ("words",)):
            new.details.set_words(page, words)
        for page, text in self._of_pages("added", ("added",)):
            new.details.set_added(page, Additions.of_json(text))
        for page, *values in self._of_pages("revisit", Revisits._fields[1:]):
            revisits = Revisits(page, *values)
            new.visits.set_revisits(revisits._replace(repeated=self._remaining_id(revisits.repeated)))
        for page, signature in self._of_pages("signature", ("signature",)):
            new.signatures.add(page, signature)
        assets = copy_assets(self._old, self._scan, new)
        self.result.lost_assets = assets.lost
        self.result.used |= assets.used | copy_rendered(self._of_pages("rendered", RENDERED_COLUMNS), self._scan, new)
        for time, kind, host, detail in self._old.valid_rows("event", "id", _EVENT_COLUMNS, _EVENT_RANGES):
            with suppress(TypeError, ValueError, RecursionError):
                new.meta.add_event(time, kind, host, **json.loads(detail))
        for key, value in self._old.all_rows_of("meta", ("key", "value")):
            with suppress(TypeError, ValueError, RecursionError):
                if key not in _DERIVED:
                    new.meta.set(str(key), json.loads(value))

    def _of_pages(self, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """Yield the usable rows of a table for pages that are done."""
        for old, *values in self._old.valid_rows(table, "page", ("page", *columns)):
            try:
                page = self._id(old)
                if table == "added":
                    Additions.of_json(values[0])
            except (_UnusableRowError, TypeError, ValueError, KeyError):
                continue
            if self._is_done[page] and not (table == "signature" and len(values[0]) != SIGNATURE_BYTES):
                yield page, *values


@dataclass
class CopiedAssets:
    """Copied rows of assets. `lost` are the URLs that the archive does not hold any more: they are requested again."""

    lost: list[str] = field(default_factory=list)
    used: Offsets = field(default_factory=set)


def copy_assets(old: Salvage, scan: ArchiveScan, new: Database) -> CopiedAssets:
    """Copy the rows of assets. A revisit is copied only if the record with its body is intact."""
    all_rows = map(_asset, old.valid_rows("part", "id", _ASSET_COLUMNS))
    rows = [row for row in all_rows if canonical_url(row.url) == row.url]
    contents = {row.digest for row in rows if row.archived is not None and scan.holds(row.archived, row.url)}
    copied = CopiedAssets()
    for row in rows:
        row = row._replace(id=new.assets.add(row.url, row.epoch, row.with_credentials))
        if row.archived is not None and not (scan.holds(row.archived) and row.digest in contents):
            copied.lost.append(row.url)
            continue
        if row.outcome:
            new.assets.finish(row)
        if row.archived is not None:
            copied.used.add(row.archived[:2])
    return copied


def _asset(values: tuple[Any, ...]) -> AssetRow:
    *fields, file, offset, size_bytes, credentials = values
    with_credentials = None if credentials is None else bool(credentials)
    return AssetRow._make((*fields, _position(file, offset, size_bytes), with_credentials))


def copy_rendered(rows: Iterable[tuple[Any, ...]], scan: ArchiveScan, new: Database) -> Offsets:
    """Copy the rows of rendered pages; a page whose document is lost counts as not rendered."""
    used: Offsets = set()
    for page, why, time, url, *rest in rows:
        dom, view = _position(*rest[:3]), _position(*rest[3:6])
        if dom is not None and not scan.holds(dom):
            continue
        view = None if view is None or not scan.holds(view) else view
        new.rendered.set(RenderedRow(page, why, time, url, dom, view, *rest[6:]))
        used.update(position[:2] for position in (dom, view) if position is not None)
    return used


def _position(file: int | None, offset: int | None, size_bytes: int | None) -> Position | None:
    return None if file is None or offset is None or size_bytes is None else Position(file, offset, size_bytes)
