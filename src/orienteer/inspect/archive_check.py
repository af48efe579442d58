"""Check that a crawl folder agrees with its archive, and compute the bounds that the archive alone supports.

A row of crawl.db has one record, the newest of its page. Other records are legitimate: assets, screenshots, versions of
pages that have changed since, responses of a refresh that were unchanged, or by which a page was missing. A response
that is newer than that of the row, and that no visit explains, was removed from the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.kinds import HTML_TYPES
from orienteer.graph.proved import Certificate, percent
from orienteer.inspect.archived_pages import SAME_TIME_S, Records, RowCheck
from orienteer.inspect.snapshot import library_certificate
from orienteer.inspect.status_text import interval
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.revisiting import TEMPORARY_REDIRECTS
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.progress import Progress, silent
from orienteer.responses.verdict import LOST_REDIRECTS, VerdictKind
from orienteer.store.archive import Position
from orienteer.store.archive_members import Member, whole_members
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.record import DOM, RecordDescription, describe_record
from orienteer.store.visits import Visit, VisitKind
from orienteer.url import session_of
from orienteer.wording import counted, plain, tally
from orienteer.workers.fetch_result import FetchResult

RENDERED_AGAIN, COPY, REDIRECTED = "rendered again", "a copy of another page for now", "a redirect for now"
LATER = "a later response, not acknowledged"
_OF_PAGES = (VerdictKind.FETCHED, VerdictKind.REDIRECT, VerdictKind.FAILED)
_OK = 200
_FEW = 3  # problems that are listed
_EVERY = 100
NOT_READ = "in object storage, not read"
_ROW_UNCHANGED = (VisitKind.MISSING, VisitKind.UNREACHABLE, VisitKind.LEFT)


class UnclaimedRecords:
    """Checks the records that no row of a page done before the position `until` refers to.

    Later rows are not compared with the archive, so a record that one of them claims may be that of an earlier page.
    `redirects` are (URL, target) of older responses of seeds.
    """

    def __init__(self, folder: FolderView, rows: RowCheck, records: Records, until: int) -> None:
        self._folder, self._database = folder, folder.database
        self._rows, self._records = rows, records
        self._until = until
        self._has_depth_limit = CrawlPlan.of_folder(folder).scope.max_depth is not None
        self.redirects: list[tuple[str, str]] = []
        visits = folder.database.visits.between(0, 2**63 - 1)
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
            row = None if page is None else self._database.pages.row(page)
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
        if any(asset.archived == location for asset in self._database.assets.at(url)):
            return ""  # an import recognizes assets only at its end
        return "it is in the archive, and the database has no row for it"

    def _document_problem(self, record: RecordDescription, location: Position, row: PageRow) -> str:
        """Check that a rendered document is that of the row, or older."""
        if not record.url.startswith(DOM) or row.state != PageState.FETCHED or row.archived is None:
            return ""
        rendered = self._database.rendered.row(row.id)
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
            if row.archived is None or self._database.rendered.row(row.id) is None:
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
        archive, claimed = self._folder.archive, self._database.pages.claimed_records(self._until)
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


@dataclass(frozen=True)
class CheckedBounds:
    """Bounds that hold without relying on unchecked rows.

    Such pages count as not fetched in `lower`, and as pages with unknown links in `upper`. `unchecked` counts them by
    the reason.
    """

    lower: float
    upper: float
    unchecked: dict[str, int]

    @property
    def n_unchecked(self) -> int:
        return sum(self.unchecked.values())

    def describe(self, proved: Certificate) -> str:
        """Describe what is proved by the archive and, where that differs, by the folder."""
        if not self.n_unchecked:
            return f"proved: {interval(proved)}"
        return (
            f"proved from the archive: at least {percent(self.lower)}, at most {percent(self.upper, up=True)}; "
            f"according to the folder, which counts {counted(self.n_unchecked, 'page')} that the archive does not "
            f"confirm ({tally(self.unchecked, 4)}): {interval(proved)}"
        )


@dataclass(frozen=True)
class ArchiveCheck:
    """`n_read` records were compared with their rows; `n_remote` are in object storage, and were not read.

    `problems` are lines about the first contradictions. `unchecked` are the pages that count as fetched without a
    record that confirms it, by the reason. `anchors` are the route fields that records assume to be anchors.
    """

    n_read: int
    n_remote: int
    problems: tuple[str, ...]
    unchecked: dict[str, tuple[int, ...]]
    anchors: frozenset[str] = frozenset()

    @property
    def note(self) -> str:
        """Which records were not read, in one line; "" if all were."""
        if not self.n_remote:
            return ""
        return f"{counted(self.n_remote, 'page')} in object storage not read again; --read-remote does so"


def check_archive(
    folder: FolderView, until: int | None = None, read_stored: bool = False, progress: Progress = silent
) -> ArchiveCheck:
    """Read all records again, and compare them with the rows of the pages done before the position `until`."""
    database, plan = folder.database, CrawlPlan.of_folder(folder)
    end = database.history.next_position() if until is None else until
    records = Records(folder, plan, read_stored)
    rows = RowCheck(folder, plan, records)
    problems = _Problems()
    problems.add(database.connection.schema_problem())
    problems.add(_seed_problem(database, plan))
    if n := database.pages.n_with_impossible_links():
        problems.add(f"{counted(n, 'page')} that were not fetched have links in the database")
    problems.add(_end_problem(folder))
    unclaimed = UnclaimedRecords(folder, rows, records, end)
    for line in unclaimed.problems():
        problems.add(line)
    rows.widen_past_scope(unclaimed.redirects)
    n_read = n_remote = 0
    not_read: list[int] = []
    for row in database.pages.archived_until(end):
        if not records.can_be_read(row.archive_file or 0):
            n_remote += 1
            if _needs_record(row.state, row.outcome, database.details.unknown(row.id).n):
                not_read.append(row.id)
            continue
        url = database.urls.of(row.id)
        if problem := rows.problem(row, url):
            problems.add(f"{plain(url, 200)}: {problem}")
        n_read += 1
        if n_read % _EVERY == 0:
            progress("reading the archived pages", min(row.position, end), end)
    for page, problem in rows.last_problems():
        problems.add(f"{plain(database.urls.of(page), 200)}: {problem}")
    for line in _visit_problems(database, end):
        problems.add(line)
    unchecked = pages_without_record(database, end)
    if not_read:
        unchecked[NOT_READ] = tuple(sorted(not_read))
    for why, pages in rows.unchecked.items():
        unchecked[why] = tuple(sorted(set(pages)))
    return ArchiveCheck(n_read, n_remote, problems.lines(), unchecked, frozenset(rows.anchors))


def pages_without_record(database: DatabaseView, end: int) -> dict[str, tuple[int, ...]]:
    """Return the pages done before a position that count as fetched and have no record, by their state.

    They include lost redirects without unknown links in the database.
    """
    pages_by_state: dict[str, list[int]] = {}
    for page, state, outcome, n_unknown in database.pages.unarchived_until(end):
        if state in COUNTS_AS_FETCHED:
            pages_by_state.setdefault(PageState(state).name.lower(), []).append(page)
        elif outcome in LOST_REDIRECTS and n_unknown != UNKNOWN_COUNT:
            pages_by_state.setdefault("redirect", []).append(page)
    return {why: tuple(pages) for why, pages in sorted(pages_by_state.items())}


def pages_in_files(database: DatabaseView, end: int, files: Collection[int]) -> tuple[int, ...]:
    """Return the pages done before a position that count as fetched with records in these files of the archive."""
    rows = database.pages.archived_until(end) if files else ()
    return tuple(
        sorted(
            row.id
            for row in rows
            if row.archive_file in files and _needs_record(row.state, row.outcome, database.details.unknown(row.id).n)
        )
    )


def _needs_record(state: int, outcome: str, n_unknown: int) -> bool:
    """Whether the bounds count a page as fetched, or a lost redirect as one whose links are known."""
    return state in COUNTS_AS_FETCHED or (outcome in LOST_REDIRECTS and n_unknown != UNKNOWN_COUNT)


def checked_bounds(
    database: DatabaseView, plan: CrawlPlan, proved: Certificate, unchecked: dict[str, tuple[int, ...]],
    until: int | None = None,
) -> CheckedBounds:  # fmt: skip
    """Return the bounds that the archive supports, given those that follow from the rows (`proved`)."""
    counts = {why: len(pages) for why, pages in unchecked.items() if pages}
    pages = np.unique(np.array([page for pages in unchecked.values() for page in pages], np.int64))
    if len(pages) == 0:
        return CheckedBounds(proved.lower, proved.upper, {})
    lower = library_certificate(database, plan, until=until, not_fetched=pages).lower
    upper = library_certificate(database, plan, until=until, links_unknown=pages).upper
    return CheckedBounds(min(lower, proved.lower), max(upper, proved.upper), counts)


class _Problems:
    """The first few problems, and the number of all."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._n = 0

    def add(self, line: str) -> None:
        if line:
            self._n += 1
            self._lines += [line] if self._n <= _FEW else []

    def lines(self) -> tuple[str, ...]:
        n_more = self._n - len(self._lines)
        more = [f"{counted(n_more, 'more page')} contradict the archive"] if n_more else []
        return (*self._lines, *more)


def _seed_problem(database: DatabaseView, plan: CrawlPlan) -> str:
    """Check that the seeds have the first numbers, since the trust refers to these."""
    seeds = plan.crawl.seeds
    if not database.history.next_position() or tuple(database.urls.between(0, len(seeds))) == seeds:
        return ""
    return "the seeds of the settings are not those of the database"


def _end_problem(folder: FolderView) -> str:
    """Check the acknowledged end of the archive, which is stored together with the rows of its records."""
    claimed, end = folder.database.pages.claimed_records(), folder.archive.end
    try:
        folder.archive.expect_short_tail()
    except CrawlFolderError as error:
        with FolderView.open(folder.path) as now:  # a running crawl has acknowledged more by now
            if now.archive.end == end:
                return str(error)
    if not end.size_bytes and folder.archive.numbers() and folder.database.history.next_position():
        return "nothing of the archive is acknowledged, although pages are done"
    ends = claimed[:, 1] + claimed[:, 2]
    is_behind = (claimed[:, 0] > end.file) | ((claimed[:, 0] == end.file) & (ends > end.size_bytes))
    return "the database has records behind the end of the archive" if is_behind.any() else ""


def _visit_problems(database: DatabaseView, end: int) -> list[str]:
    """Return the visits of the last refresh that contradict the rows of their pages."""
    epoch = database.epochs.last()
    visits = () if epoch is None else database.visits.between(epoch.position, end)
    return [
        f"{plain(database.urls.of(visit.page), 200)}: its row contradicts its visit in the last refresh"
        for visit in visits
        if not _agrees(visit, database)
    ]


def _agrees(visit: Visit, database: DatabaseView) -> bool:
    if visit.kind in _ROW_UNCHANGED:
        is_missing = visit.kind == VisitKind.MISSING  # its record is compared with the visit
        return visit.state == PageState.BLOCKED or (is_missing and visit.archived is not None)
    row = database.pages.row(visit.page)
    return row is not None and (visit.state, visit.redirect_to) == (row.state, row.redirect_to)
