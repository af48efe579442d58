"""Check that a crawl folder agrees with its archive, and compute the bounds that the archive alone supports."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from orienteer.errors import CrawlFolderError
from orienteer.graph.proved import Certificate, percent
from orienteer.inspect.archived_pages import Records, RowCheck
from orienteer.inspect.library_certificate import library_certificate
from orienteer.inspect.status_text import interval
from orienteer.inspect.unclaimed_records import UnclaimedRecords
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.progress import Progress, silent
from orienteer.responses.verdict import LOST_REDIRECTS
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.visits import Visit, VisitKind
from orienteer.wording import counted, plain, tally

_FEW = 3  # problems that are listed
_EVERY = 100
NOT_READ = "in object storage, not read"
_ROW_UNCHANGED = (VisitKind.MISSING, VisitKind.UNREACHABLE, VisitKind.LEFT)


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
    record that confirms it, by the reason.
    """

    n_read: int
    n_remote: int
    problems: tuple[str, ...]
    unchecked: dict[str, tuple[int, ...]]

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
    end = database.next_position() if until is None else until
    records = Records(folder, plan, read_stored)
    rows = RowCheck(folder, plan, records)
    problems = _Problems()
    problems.add(database.schema_problem())
    problems.add(_seed_problem(database, plan))
    if n := database.n_with_impossible_links():
        problems.add(f"{counted(n, 'page')} that were not fetched have links in the database")
    problems.add(_end_problem(folder))
    unclaimed = UnclaimedRecords(folder, rows, records, plan.scope.max_depth is not None)
    for line in unclaimed.problems():
        problems.add(line)
    rows.widen_past_scope(unclaimed.redirects)
    n_read = n_remote = 0
    not_read: list[int] = []
    for row in database.archived_rows(end):
        if not records.can_be_read(row.archive_file or 0):
            n_remote += 1
            if _needs_record(row.state, row.outcome, database.unknown(row.id).n):
                not_read.append(row.id)
            continue
        url = database.url(row.id)
        if problem := rows.problem(row, url):
            problems.add(f"{plain(url, 200)}: {problem}")
        n_read += 1
        if n_read % _EVERY == 0:
            progress("reading the archived pages", min(row.position, end), end)
    for page, problem in rows.last_problems():
        problems.add(f"{plain(database.url(page), 200)}: {problem}")
    for line in _visit_problems(database, end):
        problems.add(line)
    unchecked = pages_without_record(database, end)
    if not_read:
        unchecked[NOT_READ] = tuple(sorted(not_read))
    for why, pages in rows.unchecked.items():
        unchecked[why] = tuple(sorted(set(pages)))
    return ArchiveCheck(n_read, n_remote, problems.lines(), unchecked)


def pages_without_record(database: DatabaseView, end: int) -> dict[str, tuple[int, ...]]:
    """Return the pages done before a position that count as fetched and have no record, by their state.

    They include lost redirects without unknown links in the database.
    """
    pages_by_state: dict[str, list[int]] = {}
    for page, state, outcome, n_unknown in database.unarchived_until(end):
        if state in COUNTS_AS_FETCHED:
            pages_by_state.setdefault(PageState(state).name.lower(), []).append(page)
        elif outcome in LOST_REDIRECTS and n_unknown != UNKNOWN_COUNT:
            pages_by_state.setdefault("redirect", []).append(page)
    return {why: tuple(pages) for why, pages in sorted(pages_by_state.items())}


def pages_in_files(database: DatabaseView, end: int, files: Collection[int]) -> tuple[int, ...]:
    """Return the pages done before a position that count as fetched with records in these files of the archive."""
    rows = database.archived_rows(end) if files else ()
    return tuple(
        sorted(
            row.id
            for row in rows
            if row.archive_file in files and _needs_record(row.state, row.outcome, database.unknown(row.id).n)
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
    if not database.next_position() or tuple(database.urls_between(0, len(seeds))) == seeds:
        return ""
    return "the seeds of the settings are not those of the database"


def _end_problem(folder: FolderView) -> str:
    """Check the acknowledged end of the archive, which is stored together with the rows of its records."""
    claimed, end = folder.database.claimed_records(), folder.archive.end
    try:
        folder.archive.expect_short_tail()
    except CrawlFolderError as error:
        with FolderView.open(folder.path) as now:  # a running crawl has acknowledged more by now
            if now.archive.end == end:
                return str(error)
    if not end.size_bytes and folder.archive.numbers() and folder.database.next_position():
        return "nothing of the archive is acknowledged, although pages are done"
    ends = claimed[:, 1] + claimed[:, 2]
    is_behind = (claimed[:, 0] > end.file) | ((claimed[:, 0] == end.file) & (ends > end.size_bytes))
    return "the database has records behind the end of the archive" if is_behind.any() else ""


def _visit_problems(database: DatabaseView, end: int) -> list[str]:
    """Return the visits of the last refresh that contradict the rows of their pages."""
    epoch = database.last_epoch()
    visits = () if epoch is None else database.visits_between(epoch.position, end)
    return [
        f"{plain(database.url(visit.page), 200)}: its row contradicts its visit in the last refresh"
        for visit in visits
        if not _agrees(visit, database)
    ]


def _agrees(visit: Visit, database: DatabaseView) -> bool:
    if visit.kind in _ROW_UNCHANGED:
        is_missing = visit.kind == VisitKind.MISSING  # its record is compared with the visit
        return visit.state == PageState.BLOCKED or (is_missing and visit.archived is not None)
    row = database.page(visit.page)
    return row is not None and (visit.state, visit.redirect_to) == (row.state, row.redirect_to)
