"""What the crawl has of every page: rows and archive. In an epoch, what is found is held against what is known.

In the first crawl every page is new: its answer goes into the archive, its row into the database. In an epoch a page
may be known, and `revisiting.verdict` says what follows:

    new, changed                 as in the first crawl; the row of a changed page takes the place of the old one
    unchanged, not modified      the row stays; a *revisit* record in the archive points to the one with the content
    carried                      nothing is asked: the row stands
    missing, out of reach        the row stays: a page is not forgotten for one bad day
    gone                         the row says so: it was missing often and long enough

Nothing leaves the archive. What hooks added to a page stays as long as its row; where a page has not changed and the
hooks ran well, what they say now takes its place. What comes back is what the Crawl is to hear: a row of the page as it
is today, which need not be the row that is kept.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from orienteer.ledger.revisiting import FOR_THE_TIME_BEING, RefreshSettings, is_gone, noted, verdict
from orienteer.pages.added import Additions
from orienteer.pages.states import PageState
from orienteer.pages.unknown import ALL_KNOWN, UnknownLinks
from orienteer.store.archive import Position
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import NO_LINKS, PageRow
from orienteer.store.record import Revisited
from orienteer.store.shown_tables import RenderedRow
from orienteer.store.visits import EpochRow, Revisits, Visit, VisitKind
from orienteer.workers.received import Received

_IS_ENTERED = frozenset((VisitKind.NEW, VisitKind.NOTHING, VisitKind.CHANGED, VisitKind.GONE))
_PLACE_AT = PageRow._fields.index("archive_file")  # the fields of a Position follow each other in a row
_SAYS_NOTHING = frozenset((VisitKind.NEW, VisitKind.NOTHING, VisitKind.OUT_OF_REACH))  # about how often a page changes


class Library:
    """The rows and the archive of a crawl folder; `epoch` is None in the first crawl."""

    def __init__(
        self, folder: CrawlFolder, epoch: EpochRow | None, settings: RefreshSettings, archives: bool = True
    ) -> None:
        self.epoch = epoch
        self.counts: Counter[VisitKind] = Counter()
        # By page, of answers that stand in the archive before they are entered, or are known not to: imported ones.
        self.places: dict[int, Position | None] = {}
        self._archive = folder.archive
        self._database = folder.database
        self._settings = settings
        self._archives = archives
        self._stands = np.zeros(0, np.bool_)
        if epoch is not None:
            self.counts.update(self._database.visit_counts(epoch.position))
            self._stands = self._standing(epoch)

    def stands(self, page: int) -> bool:
        """Whether the page is known and not due: there is no need to ask for it."""
        return page < len(self._stands) and bool(self._stands[page])

    def before(self, page: int) -> PageRow | None:
        """What was known of a page before this epoch."""
        return None if self.epoch is None else self._database.page(page)

    def request_headers(self, page: int) -> tuple[tuple[str, str], ...]:
        """What to send so that the server need not send again what is here already."""
        known = self.before(page)
        if known is None or known.state != PageState.FETCHED or known.digest is None:
            return ()
        if self._database.rendered_page(page) is not None:
            return ()  # what scripts make of it may have changed, though it has not
        headers = (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified))
        return tuple((name, value) for name, value in headers if value)

    def has_moved_for_now(self, page: int, status: int) -> bool:
        """Whether a redirect with this status leads away from a page that had a content: it may be back soon."""
        known = self.before(page)
        return known is not None and known.digest is not None and status in FOR_THE_TIME_BEING

    def enter(
        self,
        found: PageRow,
        answer: Received | None,
        added: Additions | None = None,
        unknown: UnknownLinks = ALL_KNOWN,
    ) -> PageRow:
        """Take in what came of a page; `found` is its row if it were new, without its place in the archive.

        `added` is what hooks made of it; None where none ran. `unknown` is what is not known of its links.
        """
        if self.epoch is None:
            self._database.add_page(_placed(found, self._archived(found, answer)))
            if unknown.n:
                self._database.set_unknown(found.id, unknown)
            if added:
                self._database.set_added(found.id, added)
            self._keep_shown(found.id, answer)
            return found
        before = self.before(found.id)
        kind = verdict(before, found)
        if before is not None and kind not in _SAYS_NOTHING:
            kind = self._note(before, found, kind, self.epoch.began)
        if kind is VisitKind.UNCHANGED and before is not None:
            place = self._archived_again(before, found, answer)
            self._take_validators(before, found.etag, found.last_modified)
        else:
            place = self._archived(found, answer)
        if kind in _IS_ENTERED and before is None:
            self._database.add_page(_placed(found, place))
        elif kind in _IS_ENTERED and before is not None:
            self._database.change_page(_placed(found, place)._replace(position=before.position))
        if kind in _IS_ENTERED or kind is VisitKind.UNCHANGED:
            self._database.set_unknown(found.id, unknown)
        if kind in _IS_ENTERED or (kind is VisitKind.UNCHANGED and added is not None and added.is_whole):
            self._database.set_added(found.id, added)
        if kind in _IS_ENTERED:
            self._database.unset_rendered(found.id)
            self._keep_shown(found.id, answer)
        told = found
        if kind is VisitKind.MISSING and found.duplicate_of is not None:
            if found.redirect_to is None:  # a copy with other links: nobody will know these tomorrow
                told = found._replace(state=PageState.BLOCKED, links=NO_LINKS, relevance=None)
        self._visited(told, kind, found.time, place)
        return told

    def confirm(self, before: PageRow, answer: Received, position: int) -> PageRow:
        """The server says that a page has not been modified."""
        assert self.epoch is not None
        self._note(before, before, VisitKind.NOT_MODIFIED, self.epoch.began)
        earlier = self._earlier(before)
        place = None
        if earlier is not None and answer.revisited is not None:
            place = self._archive.append_revisit(answer.revisited, earlier, not_modified=True)
        self._take_validators(before, answer.etag or before.etag, answer.last_modified or before.last_modified)
        told = before._replace(position=position)
        self._visited(told, VisitKind.NOT_MODIFIED, answer.started_at, place)
        return told

    def carry(self, page: int, position: int) -> PageRow:
        """The page stands as it is known, without being asked for."""
        before = self._database.page(page)
        assert before is not None
        told = before._replace(position=position)
        self._visited(told, VisitKind.CARRIED, time.time(), None)
        return told

    def n_unknown(self, told: PageRow) -> int:
        """How many links of a page the Crawl is told not to know: of a page that is today as its row has it."""
        kept = self._database.page(told.id)
        if kept is None or kept.state != told.state or told.redirect_to is not None:
            return 0
        return self._database.unknown(told.id).n

    def leave(self, page: int, position: int) -> PageRow:
        """The page is farther away than this epoch goes; whatever is known of it stays."""
        told = PageRow(page, position, PageState.BLOCKED)
        self._visited(told, VisitKind.LEFT, time.time(), None)
        return told

    def _standing(self, epoch: EpochRow) -> NDArray[np.bool_]:
        stands = np.zeros(self._database.n_urls(), np.bool_)
        seen = self._database.seen_pages()
        stands[seen.pages[seen.states != PageState.BLOCKED]] = True
        stands[epoch.due] = False
        return stands

    def _note(self, before: PageRow, found: PageRow, kind: VisitKind, now: float) -> VisitKind:
        """Count a visit of a page that was known; what it comes to: one missing for long enough is gone."""
        known = self._database.revisits(before.id) or Revisits(before.id, before.time, before.time)
        after = noted(known, kind, now)
        if kind is VisitKind.MISSING and is_gone(after, self._settings, now):
            kind = VisitKind.CHANGED if found.state == PageState.FETCHED else VisitKind.GONE
            after = noted(known, kind, now)
        self._database.set_revisits(after)
        return kind

    def _visited(self, told: PageRow, kind: VisitKind, at: float, place: Position | None) -> None:
        visit = Visit(told.position, told.id, int(kind), int(told.state), at, told.redirect_to, place)
        self._database.add_visit(visit)
        self.counts[kind] += 1

    def _archived(self, found: PageRow, answer: Received | None) -> Position | None:
        """What was received goes into the archive, if it is whole, and not there yet."""
        if found.id in self.places:
            return self.places.pop(found.id)
        if answer is None or answer.record is None or not self._archives:
            return None
        return self._archive.append_member(answer.record)

    def _keep_shown(self, page: int, answer: Received | None) -> None:
        """What a browser made of a page: its records go into the archive, behind that of the page."""
        shown = None if answer is None else answer.shown
        if answer is None or shown is None:
            return
        dom, view = (
            None if record is None or not self._archives else self._archive.append_member(record)
            for record in (shown.dom, shown.view)
        )
        self._database.set_rendered(
            RenderedRow(page, shown.why, answer.started_at, shown.url, dom, view, *shown[4:])
        )  # fmt: skip

    def _archived_again(self, before: PageRow, found: PageRow, answer: Received | None) -> Position | None:
        """The same was received again: a record that says so, if it was the same to the byte."""
        earlier = self._earlier(before)
        response = None if answer is None else answer.revisited
        if response is None or earlier is None or earlier.payload_sha1 != response.payload_sha1:
            return self._archived(found, answer)  # compressed otherwise, say
        return self._archive.append_revisit(response, earlier, not_modified=False)

    def _earlier(self, before: PageRow) -> Revisited | None:
        """The record that holds the content of a page, if there is one."""
        if before.archived is None or before.digest is None or not self._archives:
            return None
        body = self._archive.read(before.archived).body
        return Revisited(self._database.url(before.id), before.time, hashlib.sha1(body).digest())

    def _take_validators(self, before: PageRow, etag: str, last_modified: str) -> None:
        if (before.etag, before.last_modified) != (etag, last_modified):
            self._database.change_page(before._replace(etag=etag, last_modified=last_modified))


def _placed(row: PageRow, place: Position | None) -> PageRow:
    if place is None:
        return row
    return PageRow._make((*row[:_PLACE_AT], *place, *row[_PLACE_AT + len(place) :]))
