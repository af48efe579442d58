"""Whether the database says of pages what the archive holds of them: each is read again, as the crawl has read it.

What is proved follows from the links in the database. This is what ties them to the archive, and so to the digests of
its files. Pages that are not in the archive are counted; nothing can be said of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orienteer.answers.answer import Request
from orienteer.answers.meaning import Verdict
from orienteer.extract.robot_rules import ANYBODY, robot_name
from orienteer.fetch.archive import ArchiveFetcher
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.progress import Progress, silent
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import session_of
from orienteer.wording import plain
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading, Received

_FEW = 3  # pages that are named
_EVERY = 100


@dataclass(frozen=True)
class ArchivedPages:
    """`n_read` pages were compared; `n_elsewhere` are in files that were not read. `n_differing` are not what the
    archive holds; `differing` are lines about the first of them."""

    n_read: int
    n_elsewhere: int
    n_differing: int
    differing: tuple[str, ...]


def compared_pages(
    folder: FolderView, path: Path, position: int, read_stored: bool = False, progress: Progress = silent
) -> ArchivedPages:
    """Read the pages again that were done before a position."""
    plan = CrawlPlan.of_folder(folder)
    comparing = _Comparing(folder.database, plan)
    fetcher = ArchiveFetcher(plan.fetch, path=str(path))
    n_read = n_elsewhere = 0
    differing = []
    n_pages = max(position, 1)
    try:
        for row in folder.database.archived_rows(position):
            if row.state not in (PageState.FETCHED, PageState.FAILED):
                continue
            if not read_stored and not folder.archive.path(row.archive_file or 0).exists():
                n_elsewhere += 1
                continue
            url = folder.database.url(row.id)
            fetcher.start(Request(url, row.id))
            (answer,) = fetcher.poll(0.0)
            trouble = comparing.trouble(row, url, read_answer(answer, comparing.reading))
            n_read += 1
            if trouble:
                differing.append(f"{plain(url, 200)}: {trouble}")
            if n_read % _EVERY == 0:
                progress("reading the archived pages", min(row.position, n_pages), n_pages)
    finally:
        fetcher.close()
    return ArchivedPages(n_read, n_elsewhere, len(differing), tuple(differing[:_FEW]))


class _Comparing:
    def __init__(self, database: DatabaseView, plan: CrawlPlan) -> None:
        self._database = database
        self._has_hooks = bool(plan.crawl.hooks)
        robot = robot_name(plan.fetch.user_agent) or ANYBODY
        self.reading = Reading(signs=False, records=False, robot=robot)

    def trouble(self, row: PageRow, url: str, found: Received) -> str:
        """What the database says of a page that its record does not; "" where all is as it says."""
        verdict = found.meaning.verdict
        if row.state == PageState.FAILED:
            return "" if verdict is Verdict.FAILED else f"the database says {row.outcome}, the archive {found.reason}"
        if row.outcome == Outcome.REDIRECT:
            return self._redirect_trouble(row, found)
        if verdict is not Verdict.FETCHED:
            return f"the database says that it was fetched, the archive {found.reason}"
        if row.digest is not None and found.digest is not None and row.digest != found.digest:
            return "its content in the archive is another than the database says"
        return "" if row.redirect_to is not None else self._link_trouble(row, found)

    def _redirect_trouble(self, row: PageRow, found: Received) -> str:
        target = None if row.redirect_to is None else self._database.url(row.redirect_to)
        if found.meaning.verdict is Verdict.REDIRECT and (found.meaning.target == target or _has_session(target)):
            return ""
        return f"it does not redirect to {plain(str(target), 150)} in the archive"

    def _link_trouble(self, row: PageRow, found: Received) -> str:
        there = set(found.meaning.links)
        noted = set(self._database.urls([*row.links.tolist(), *row.outside.tolist()]))
        added = {url for url in noted - there if not _has_session(url)}
        left_out = {url for url in there - noted if not _has_session(url)}
        if added and not self._has_hooks:  # hooks may have added them
            return f"the database has a link to {plain(min(added), 150)}, which is not on the archived page"
        if left_out and self._database.unknown(row.id).n != NOBODY_KNOWS:
            return f"the archived page has a link to {plain(min(left_out), 150)}, which is not in the database"
        return ""


def _has_session(url: str | None) -> bool:
    """Such links may count as links to another page, which was found to be the same."""
    return url is not None and session_of(url) is not None
