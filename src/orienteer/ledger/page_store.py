"""The rows and archive records of all pages. In an epoch each response is compared with the stored page.

In the first crawl every page is new: its response goes into the archive, its row into the database. In an epoch a page
may be known, and `revisiting.verdict` decides what follows:

    new, changed                 as in the first crawl; the row of a changed page replaces the old one
    unchanged, not modified      the row stays; a *revisit* record in the archive points to the one with the content.
                                 The row is replaced if it is outdated all the same: the page was rendered for the
                                 first time, or its links have other targets in the crawl
    carried                      no request; the row stays
    missing, unreachable         the row stays: one failed revisit never deletes a page
    gone                         the row is replaced: the page was missing often and long enough

Nothing is deleted from the archive. Additions of hooks stay as long as the row of a page; for an unchanged page they
are replaced if all hooks succeeded. The methods return the row to apply to the Crawl: the page as it is now, which may
differ from the row in the database.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.extract import near_duplicates
from orienteer.extract.links import SCRIPTED
from orienteer.ledger.revisiting import (
    TEMPORARY_REDIRECTS,
    ContentDigests,
    after_visit,
    is_gone,
    is_same_content,
    keeps_rendering,
    verdict,
)
from orienteer.ledger.settings import RefreshSettings
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.pages.states import PageState
from orienteer.pages.unknown import ALL_KNOWN, UnknownLinks
from orienteer.responses.body import BodyError, unpacked
from orienteer.responses.reading import is_html
from orienteer.responses.verdict import VerdictKind
from orienteer.store.archive import Position
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import NO_LINKS, PageRow
from orienteer.store.record import EarlierRecord
from orienteer.store.visits import EpochRow, Revisits, Visit, VisitKind
from orienteer.workers.fetch_result import FetchResult

_WRITES_ROW = frozenset((VisitKind.NEW, VisitKind.NOTHING, VisitKind.CHANGED, VisitKind.GONE))
_LOCATION_FIELD = PageRow._fields.index("archive_file")  # the fields of a Position are adjacent in a row
_MAX_CONTENT_BYTES = 64 << 20  # unpacked
_ALWAYS_RENDERED = frozenset((RenderReason.LEARNED, RenderReason.REQUESTED, RenderReason.ROUTE))
_RENDER_REASONS = {str(reason): reason for reason in RenderReason}
_UNINFORMATIVE = frozenset((VisitKind.NEW, VisitKind.NOTHING, VisitKind.UNREACHABLE))  # about how often a page changes


class PageStore:
    """The rows and the archive of a crawl folder; `epoch` is None in the first crawl."""

    def __init__(
        self, folder: CrawlFolder, epoch: EpochRow | None, settings: RefreshSettings, archives: bool = True
    ) -> None:
        self.epoch = epoch
        self.counts: Counter[VisitKind] = Counter()
        # By page, for imports: the positions of responses that are archived already, None for those that are not.
        self.locations: dict[int, Position | None] = {}
        self._archive = folder.archive
        self._database = folder.database
        self._settings = settings
        self._archives = archives
        self._fresh = np.zeros(0, np.bool_)
        if epoch is not None:
            self.counts.update(self._database.visits.counts(epoch.position))
            self._fresh = self._fresh_pages(epoch)

    def is_fresh(self, page: int) -> bool:
        """Whether the page is known and not due, so that no request is needed."""
        return page < len(self._fresh) and bool(self._fresh[page])

    def earlier_row(self, page: int) -> PageRow | None:
        """Return the row of a page before this epoch, if any."""
        return None if self.epoch is None else self._database.pages.row(page)

    def request_headers(self, page: int, render: RenderReason = RenderReason.NONE) -> tuple[tuple[str, str], ...]:
        """Return the headers of a conditional request; none if the page cannot be confirmed.

        There are none for a page that will be rendered, either: the browser needs its content, and scripts may render
        it differently although the response of the server is unchanged.
        """
        known = self.earlier_row(page)
        if known is None or known.state != PageState.FETCHED or known.digest is None:
            return ()
        if self._is_to_be_rendered(known, render):
            return ()
        headers = (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified))
        return tuple((name, value) for name, value in headers if value)

    def _is_to_be_rendered(self, known: PageRow, render: RenderReason) -> bool:
        if render is RenderReason.NONE or not is_html(known.content_type):
            return False
        if render in _ALWAYS_RENDERED or self._database.rendered.row(known.id) is not None:
            return True
        return SCRIPTED in self._database.details.unknown(known.id).why

    def render_reason(self, page: int) -> RenderReason:
        """Return why the stored form of a page was rendered, if it was; the reasons of imports count as REQUESTED."""
        rendered = None if self.epoch is None else self._database.rendered.row(page)
        if rendered is None:
            return RenderReason.NONE
        return _RENDER_REASONS.get(rendered.why, RenderReason.REQUESTED)

    def is_same(self, known: PageRow, response: FetchResult) -> bool:
        """Whether a fetched page has the stored content."""
        return is_same_content(self._content_before(known), _content_of(response))

    def is_same_form(self, known: PageRow, response: FetchResult) -> bool:
        """Whether a fetched page has the stored content, and was rendered both times or not at all."""
        was_rendered = self._database.rendered.row(known.id) is not None
        return was_rendered == (response.rendered is not None) and self.is_same(known, response)

    def has_content(self, page: int, digest: bytes | None) -> bool:
        """Whether the stored row has the content with this digest; in an epoch it may have earlier content."""
        known = self.earlier_row(page)
        return self.epoch is None or (known is not None and known.digest == digest)

    def keeps_rendering(self, known: PageRow, response: FetchResult) -> bool:
        """Whether the page is unchanged, and its stored rendering is better than the new one."""
        return keeps_rendering(self._content_before(known), _content_of(response))

    def _content_before(self, known: PageRow) -> ContentDigests:
        rendered = self._database.rendered.row(known.id)
        if rendered is None:
            return ContentDigests(known.digest)
        return ContentDigests(rendered.sent_digest or self._archived_digest(known), rendered.rendered_digest, True)

    def _archived_digest(self, known: PageRow) -> bytes | None:
        """Compute the digest of the response from the archive: rows of version 0.2 lack it."""
        if known.archived is None:
            return None
        try:
            page = self._archive.read(known.archived)
            content = unpacked(page.body, page.headers.get_all("content-encoding"), _MAX_CONTENT_BYTES)
        except (CrawlFolderError, BodyError):
            return None
        return near_duplicates.digest(content)

    def is_temporary_redirect(self, page: int, status: int) -> bool:
        """Whether this status is a temporary redirect of a page with stored content, which may come back."""
        known = self.earlier_row(page)
        return known is not None and known.digest is not None and status in TEMPORARY_REDIRECTS

    def record(
        self,
        current: PageRow,
        response: FetchResult | None,
        added: Additions | None = None,
        unknown: UnknownLinks = ALL_KNOWN,
    ) -> PageRow:
        """Store the outcome of a page; `current` is its row as for a new page, without its position in the archive.

        `added` has the additions of hooks; None if no hook ran. `unknown` describes the links that are not known.
        """
        if self.epoch is None:
            self._database.pages.add(current, self._archive_response(current, response))
            if unknown.n:
                self._database.details.set_unknown(current.id, unknown)
            if added:
                self._database.details.set_added(current.id, added)
            self._store_rendered(current.id, response)
            return current
        before = self.earlier_row(current.id)
        kind = verdict(
            before,
            current,
            self._has_same_content(before, current, response),
            self._is_suspicious_copy(before, current, response),
        )
        if before is not None and kind not in _UNINFORMATIVE:
            kind = self._update_revisits(before, current, kind, self.epoch.began)
        writes_row = kind in _WRITES_ROW
        if kind is VisitKind.UNCHANGED and before is not None:
            location = self._archive_revisit(before, current, response)
            writes_row = self._needs_new_row(before, current, response)
            if writes_row:
                self._replace_same(before, current, location)
            else:
                self._set_validators(before, current.etag, current.last_modified)
        else:
            location = self._archive_response(current, response)
            if writes_row and before is None:
                self._database.pages.add(current, location)
            elif writes_row and before is not None:
                self._database.pages.change(_with_location(current, location)._replace(position=before.position))
        if writes_row or kind is VisitKind.UNCHANGED:
            self._database.details.set_unknown(current.id, unknown)
        if writes_row or (kind is VisitKind.UNCHANGED and added is not None and added.is_complete):
            self._database.details.set_added(current.id, added)
        if writes_row:
            self._database.rendered.delete(current.id)
            self._store_rendered(current.id, response)
        if kind is VisitKind.MISSING and current.duplicate_of is not None:
            if current.redirect_to is None:  # a copy with other links, which its row does not store
                current = current._replace(state=PageState.BLOCKED, links=NO_LINKS, relevance=None)
        self._add_visit(current, kind, current.time, location)
        return current

    def _has_same_content(self, before: PageRow | None, current: PageRow, response: FetchResult | None) -> bool | None:
        """Whether a fetched page has the same content as before; None if comparing the rows is enough."""
        if before is None or response is None:
            return None
        if (before.state, current.state) != (PageState.FETCHED, PageState.FETCHED):
            return None
        if current.digest is None and (response.rendered is None or before.digest is None):
            return None  # redirects, by the server or by a script
        return self.is_same(before, response)

    def _is_suspicious_copy(self, before: PageRow | None, current: PageRow, response: FetchResult | None) -> bool:
        """Whether a page that now repeats another one indicates an error of the server.

        It does not if both are URLs of one page, which change together, nor if the response is only the common shell
        of pages that scripts generate.
        """
        if before is None or response is None or current.duplicate_of is None:
            return True
        if self._with_original(before.id) & self._with_original(current.duplicate_of):
            return False
        if self._formerly_had(before.id, _content_of(response).sent):
            return False  # its own former content is back, for example after an outage
        if self._formerly_had(current.duplicate_of, self._content_before(before).sent):
            return False  # both were one page before the other one changed
        page = response.verdict.page
        is_unrendered = response.rendered is None and page is not None and page.is_suspect
        return not (is_unrendered and self._database.rendered.row(before.id) is not None)

    def _formerly_had(self, page: int, digest: bytes | None) -> bool:
        """Whether the response for a page had this digest before its last change; False if either is unknown."""
        seen = self._database.visits.revisits(page)
        return digest is not None and seen is not None and seen.former_digest == digest

    def _with_original(self, page: int) -> set[int]:
        """Return the page and, if it was a copy at its last visit, the original."""
        seen = self._database.visits.revisits(page)
        return {page} if seen is None or seen.repeated is None else {page, seen.repeated}

    def _needs_new_row(self, before: PageRow, current: PageRow, response: FetchResult | None) -> bool:
        """Whether the row of an unchanged page is outdated: it has been rendered, or has other links or aliases."""
        if before.state != PageState.FETCHED or response is None:
            return False
        stored, new = self._database.rendered.row(before.id), response.rendered
        if new is not None and (stored is None or (stored.rendered_digest is None and new.rendered_digest)):
            return True
        aliases = (before.redirect_to, before.duplicate_of), (current.redirect_to, current.duplicate_of)
        return aliases[0] != aliases[1] or not np.array_equal(before.links, current.links)

    def _replace_same(self, before: PageRow, current: PageRow, location: Position | None) -> None:
        """Replace the row of an unchanged page; the archive position of its content stays."""
        row = current._replace(position=before.position)
        if before.archived is not None:
            row = _with_location(row._replace(time=before.time), before.archived)
        else:
            row = _with_location(row, location)
        self._database.pages.change(row)

    def confirm(self, before: PageRow, response: FetchResult, position: int) -> PageRow:
        """Keep the row of a page whose response is 304, or has the stored content."""
        assert self.epoch is not None
        is_sent = response.verdict.kind is not VerdictKind.NOT_MODIFIED
        kind = VisitKind.UNCHANGED if is_sent else VisitKind.NOT_MODIFIED
        self._update_revisits(before, before, kind, self.epoch.began)
        if is_sent:
            location = self._archive_revisit(before, before, response)
            self._add_sent_digest(before.id, response)
        else:
            earlier, location = self._earlier_record(before), None
            if earlier is not None and response.revisit is not None:
                location = self._archive.append_revisit(response.revisit, earlier, not_modified=True)
        self._set_validators(before, response.etag or before.etag, response.last_modified or before.last_modified)
        current = before._replace(position=position)
        self._add_visit(current, kind, response.started_at, location)
        return current

    def _add_sent_digest(self, page: int, response: FetchResult) -> None:
        """Add the digest of the response to a row of version 0.2, which lacks it."""
        rendered, sent = self._database.rendered.row(page), _content_of(response).sent
        if rendered is not None and rendered.sent_digest is None and sent is not None:
            self._database.rendered.set(rendered._replace(sent_digest=sent))

    def keep(self, page: int, position: int) -> PageRow:
        """Keep the row of a page without a request."""
        before = self._database.pages.row(page)
        assert before is not None
        current = before._replace(position=position)
        self._add_visit(current, VisitKind.CARRIED, time.time(), None)
        return current

    def n_unknown(self, current: PageRow) -> int:
        """Return how many links of a page the Crawl must count as unknown; 0 unless its stored row is current."""
        row = self._database.pages.row(current.id)
        if row is None or row.state != current.state or current.redirect_to is not None:
            return 0
        return self._database.details.unknown(current.id).n

    def skip(self, page: int, position: int) -> PageRow:
        """Skip a page beyond the depth of this epoch; its row stays."""
        current = PageRow(page, position, PageState.BLOCKED)
        self._add_visit(current, VisitKind.LEFT, time.time(), None)
        return current

    def _fresh_pages(self, epoch: EpochRow) -> NDArray[np.bool_]:
        is_fresh = np.zeros(self._database.urls.count(), np.bool_)
        seen = self._database.visits.seen_pages()
        is_fresh[seen.pages[seen.states != PageState.BLOCKED]] = True
        is_fresh[epoch.due] = False
        return is_fresh

    def _update_revisits(self, before: PageRow, current: PageRow, kind: VisitKind, now: float) -> VisitKind:
        """Record a visit of a known page; return its kind, GONE if the page was missing often and long enough."""
        known = self._database.visits.revisits(before.id) or Revisits(before.id, before.time, before.time)
        missing_as = "a copy of another page" if current.outcome == Outcome.OK else current.outcome
        after = after_visit(known, kind, now, before.duplicate_of, missing_as)
        if kind is VisitKind.MISSING and is_gone(after, self._settings, now):
            kind = VisitKind.CHANGED if current.state == PageState.FETCHED else VisitKind.GONE
            after = after_visit(known, kind, now, before.duplicate_of)
        if kind is VisitKind.CHANGED:
            after = after._replace(former_digest=self._content_before(before).sent)
        self._database.visits.set_revisits(after)
        return kind

    def _add_visit(self, current: PageRow, kind: VisitKind, at: float, location: Position | None) -> None:
        visit = Visit(current.position, current.id, int(kind), int(current.state), at, current.redirect_to, location)
        self._database.visits.add(visit)
        self.counts[kind] += 1

    def _archive_response(self, current: PageRow, response: FetchResult | None) -> Position | None:
        """Append the response to the archive, if it is complete and not archived yet."""
        if current.id in self.locations:
            return self.locations.pop(current.id)
        if response is None or response.record is None or not self._archives:
            return None
        return self._archive.append_member(response.record)

    def _store_rendered(self, page: int, response: FetchResult | None) -> None:
        """Store the result of rendering; its records follow that of the page in the archive."""
        rendering = None if response is None else response.rendered
        if response is None or rendering is None:
            return
        dom, view = (
            None if record is None or not self._archives else self._archive.append_member(record)
            for record in response.rendered_records
        )
        self._database.rendered.set(rendering._replace(page=page, dom=dom, view=view))

    def _archive_revisit(self, before: PageRow, current: PageRow, response: FetchResult | None) -> Position | None:
        """Append a revisit record for an unchanged response, if its bytes are identical."""
        earlier = self._earlier_record(before)
        unchanged = None if response is None else response.revisit
        if unchanged is None or earlier is None or earlier.payload_sha1 != unchanged.payload_sha1:
            return self._archive_response(current, response)  # for example, compressed differently
        return self._archive.append_revisit(unchanged, earlier, not_modified=False)

    def _earlier_record(self, before: PageRow) -> EarlierRecord | None:
        """Return the record with the content of a page, if there is one."""
        if before.archived is None or not self._archives:
            return None
        if before.digest is None and self._database.rendered.row(before.id) is None:
            return None
        body = self._archive.read(before.archived).body
        return EarlierRecord(self._database.urls.of(before.id), before.time, hashlib.sha1(body).digest())

    def _set_validators(self, before: PageRow, etag: str, last_modified: str) -> None:
        if (before.etag, before.last_modified) != (etag, last_modified):
            self._database.pages.change(before._replace(etag=etag, last_modified=last_modified))


def _with_location(row: PageRow, location: Position | None) -> PageRow:
    if location is None:
        return row
    return PageRow._make((*row[:_LOCATION_FIELD], *location, *row[_LOCATION_FIELD + len(location) :]))


def _content_of(response: FetchResult) -> ContentDigests:
    """Return the digests that identify the content of a fetched page."""
    rendering = response.rendered
    return (
        ContentDigests(response.digest)
        if rendering is None
        else ContentDigests(rendering.sent_digest, rendering.rendered_digest, True)
    )
