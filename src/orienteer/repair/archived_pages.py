"""Add pages that are in the archive and not in the database, as if they had just been fetched.

They were archived after the database was last written (it was restored from a backup, or its log was lost), or their
rows were lost. Only pages in the frontier are added, in the order of the archive, and in several passes, since their
links add pages to the frontier. During a refresh only responses received since its beginning are added.
"""

from __future__ import annotations

from orienteer.errors import CrawlFolderError
from orienteer.fetch.archive import archived_response
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.responses.response import Request
from orienteer.responses.verdict import VerdictKind
from orienteer.store.archive import Position
from orienteer.store.folder import CrawlFolder

_PAGES_PER_COMMIT = 500
_NOW = 0.0  # no requests are sent, so politeness needs no clock
_NOT_FINAL = frozenset((VerdictKind.TRY_AGAIN, VerdictKind.NOT_MODIFIED))


def add_archived_pages(
    folder: CrawlFolder, plan: CrawlPlan, positions: list[Position], progress: Progress = silent
) -> int:
    """Add the pages of these records as far as possible; return their number."""
    if not positions:
        return 0
    adder = _Adder(Ledger(folder, plan))
    n_added, n_before = 0, -1
    while positions and n_added > n_before:
        n_before, remaining = n_added, []
        for position in positions:
            if not adder.add(position):
                remaining.append(position)
                continue
            n_added += 1
            progress("adding pages", n_added, len(positions))
            if n_added % _PAGES_PER_COMMIT == 0:
                adder.ledger.acknowledge()
        positions = remaining
    if n_added:
        adder.ledger.acknowledge()
    return n_added


class _Adder:
    """Adds archived pages to the ledger; `add` returns whether the page was in the frontier, and was added."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._intake = Intake(ledger)
        self._began = 0.0 if ledger.epoch is None else ledger.epoch.began

    def add(self, position: Position) -> bool:
        ledger = self.ledger
        try:
            archived = ledger.folder.archive.read(position)
        except CrawlFolderError:
            return False
        page = ledger.seen.find(archived.url)
        if page is None or page not in ledger.crawl.frontier or archived.time < self._began:
            return False
        response = archived_response(Request(archived.url, page), archived, ledger.plan.fetch)
        (read,) = self._intake.read([response])
        if read.verdict.kind in _NOT_FINAL:
            return False
        ledger.crawl.take(page)
        ledger.page_store.locations[page] = position
        self._intake.record_response(page, read, _NOW)
        return True
