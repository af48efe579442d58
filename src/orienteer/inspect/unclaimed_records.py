"""Check the records of the archive that belong to no row of crawl.db.

A row has one record, the newest of its page. Other records are legitimate: assets, screenshots, versions of pages that
have changed since, responses of a refresh that were unchanged, or by which a page was missing. A response that is newer
than that of the row, and that no visit explains, was removed from the database.
"""

from __future__ import annotations

from collections.abc import Iterator

from orienteer.errors import CrawlFolderError
from orienteer.inspect.archived_pages import SAME_TIME_S, Records, RowCheck
from orienteer.ledger.revisiting import TEMPORARY_REDIRECTS
from orienteer.pages.states import PageState
from orienteer.responses.reading import HTML_TYPES
from orienteer.responses.verdict import VerdictKind
from orienteer.store.archive import Position
from orienteer.store.archive_members import Member, whole_members
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.record import DOM, RecordDescription, describe_record
from orienteer.store.visits import Visit, VisitKind
from orienteer.url import session_of
from orienteer.wording import plain
from orienteer.workers.fetch_result import FetchResult

RENDERED_AGAIN, COPY, REDIRECTED = "rendered again", "a copy of another page for now", "a redirect for now"
LATER = "a later response, not acknowledged"
_OF_PAGES = (VerdictKind.FETCHED, VerdictKind.REDIRECT, VerdictKind.FAILED)
_OK = 200


class UnclaimedRecords:
    """Checks the records that no row refers to; `redirects` are (URL, target) of older responses of seeds."""

    def __init__(self, folder: FolderView, rows: RowCheck, records: Records, has_depth_limit: bool) -> None:
        self._folder, self._database = folder, folder.database
        self._rows, self._records = rows, records
        self._has_depth_limit = has_depth_limit
        self.redirects: list[tuple[str, str]] = []
        visits = folder.database.visits_between(0, 2**63 - 1)
        self._visits = {visit.archived: visit for visit in visits if visit.archived is not None}
        self._seeds = set(rows.names_of_seeds())

    def problems(self) -> Iterator[str]:
        for file, member in self._members():
            try:
                record = describe_record(member.packed)
            except ValueError:
                continue  # the header of the file
            if record.is_asset or record.kind == "revisit":
                continue
            location = Position(file, member.offset, len(member.packed))
            url = record.url.removeprefix(DOM) if record.kind == "resource" else record.url
            page = self._rows.seen.find(url) if url.startswith("http") else None
            row = None if page is None else self._database.page(page)
            problem = self._problem(record, url, location, row, is_known=page is not None)
            if problem:
                yield f"{plain(url, 200)}: {problem}"

    def _problem(
        self, record: RecordDescription, url: str, location: Position, row: PageRow | None, is_known: bool
    ) -> str:
        if location[:2] >= self._folder.archive.end:
            if row is not None and not self._repeats(record, url, location, row):
                self._rows.mark_unchecked(LATER, row.id)
            return ""
        if record.kind == "resource":
            return "" if row is None else self._document_problem(record, location, row)
        if row is None:
            return self._rowless_problem(record, url, location, is_known)
        if record.time <= row.time + SAME_TIME_S and (row.archived is not None or record.time < row.time - SAME_TIME_S):
            self._add_older(row.id, url, location)
            return ""
        visit = self._visits.get(location)
        if visit is None or visit.page != row.id:
            return "the archive has a newer response than the database"
        try:
            return self._visit_problem(visit, row, url, self._records.read(row.id, url, location, rendered=False))
        except CrawlFolderError as error:
            return str(error)

    def _repeats(self, record: RecordDescription, url: str, location: Position, row: PageRow) -> bool:
        """Whether a record behind the acknowledged end, as a killed crawl leaves some, says what the row says."""
        if record.kind == "resource":
            return not record.url.startswith(DOM)  # of an unchanged page it is not archived
        found = self._records.read(row.id, url, location, rendered=False)
        return found.verdict.kind not in _OF_PAGES or self._is_as_before(row, url, found)

    def _rowless_problem(self, record: RecordDescription, url: str, location: Position, is_known: bool) -> str:
        """Check a record of a page without a row: it must be outside the scope, or too deep.

        An import has rows of redirects and errors only where a link leads to them.
        """
        is_page = record.status == _OK and record.content_type.partition(";")[0].strip().lower() in HTML_TYPES
        if not (is_page or is_known) or self._has_depth_limit or not self._rows.final_scope.contains([url])[0]:
            return ""
        if any(asset.archived == location for asset in self._database.assets_at(url)):
            return ""  # an import recognizes assets only at its end
        return "it is in the archive, and the database has no row for it"

    def _document_problem(self, record: RecordDescription, location: Position, row: PageRow) -> str:
        """Check that a rendered document is that of the row, or older."""
        if not record.url.startswith(DOM) or row.state != PageState.FETCHED or row.archived is None:
            return ""
        rendered = self._database.rendered_page(row.id)
        own = None if rendered is None else rendered.dom
        if (
            own == location
            or record.time < row.time - SAME_TIME_S
            or (own is not None and self._is_as_new(own, record))
        ):
            return ""
        return "the archive has a rendered document that the database omits"

    def _is_as_new(self, own: Position, record: RecordDescription) -> bool:
        """Whether the record at `own` is a rendered document, and not older than `record`."""
        document = self._folder.archive.read_description(own)[1]
        return document.url.startswith(DOM) and document.time >= record.time - SAME_TIME_S

    def _visit_problem(self, visit: Visit, row: PageRow, url: str, record: FetchResult) -> str:
        """Check that a newer response than that of the row agrees with its visit."""
        verdict, kind = record.verdict.kind, visit.kind
        if kind == VisitKind.UNCHANGED and self._is_as_before(row, url, record):
            return ""
        if kind == VisitKind.MISSING and self._is_missing(visit, record):
            return ""
        if kind == VisitKind.UNREACHABLE and verdict not in (VerdictKind.FETCHED, VerdictKind.FAILED):
            if verdict is VerdictKind.REDIRECT:  # out of the scope, or into a loop of redirects at that time
                self._rows.mark_unchecked(REDIRECTED, row.id)
            return ""
        return "the archive has a newer response, which contradicts its visit in the database"

    def _is_as_before(self, row: PageRow, url: str, record: FetchResult) -> bool:
        verdict = record.verdict.kind
        if verdict is VerdictKind.FETCHED:
            if row.digest == record.digest:
                return True
            if row.archived is None or self._database.rendered_page(row.id) is None:
                return False
            sent_before = self._records.read(row.id, url, row.archived, rendered=False)
            if sent_before.digest != record.digest:  # the rendered documents were compared; the second is not archived
                self._rows.mark_unchecked(RENDERED_AGAIN, row.id)
            return True
        if verdict is VerdictKind.REDIRECT:
            target = record.verdict.target
            return target is not None and row.redirect_to in self._rows.names_of(target)
        return row.state == (PageState.FAILED if verdict is VerdictKind.FAILED else PageState.BLOCKED)

    def _is_missing(self, visit: Visit, record: FetchResult) -> bool:
        verdict = record.verdict.kind
        if verdict is VerdictKind.FAILED:
            return visit.state == PageState.FAILED
        if verdict is VerdictKind.REDIRECT:
            is_temporary = record.status in TEMPORARY_REDIRECTS
            return is_temporary and (visit.state == PageState.BLOCKED or visit.redirect_to is not None)
        if verdict is VerdictKind.FETCHED:
            self._rows.mark_unchecked(COPY, visit.page)  # or it has changed: that depends on the pages at that time
        return verdict is VerdictKind.FETCHED

    def _add_older(self, page: int, url: str, location: Position) -> None:
        """Collect the redirects of seeds, and the sessions, of older responses."""
        is_seed = url in self._seeds
        if not is_seed and session_of(url) is None:
            return
        try:
            record = self._records.read(page, url, location, rendered=False)
        except CrawlFolderError:
            return
        self._rows.sessions.add(url, record.sessionless_digest)
        if record.verdict.target is not None:
            self.redirects.append((url, record.verdict.target))
            self._seeds.add(record.verdict.target)

    def _members(self) -> Iterator[tuple[int, Member]]:
        """Yield the records between and behind those of rows, with the numbers of their files."""
        archive, claimed = self._folder.archive, self._database.claimed_records()
        for file in archive.numbers():
            if not self._records.can_be_read(file) or not (archive.path(file).exists() or file in archive.stored.files):
                continue
            own = claimed[claimed[:, 0] == file]
            with archive.local_copy(file) as path:
                at = 0
                for offset, size_bytes in [*own[:, 1:].tolist(), (path.stat().st_size, 0)]:
                    if offset > at:
                        yield from ((file, member) for member in whole_members(path, at, offset))
                    at = max(at, offset + size_bytes)
