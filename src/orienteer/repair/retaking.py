"""Pages that the archive holds and the database does not know of: they are taken in as if they had just come.

They were archived after the database was last written (an older one was put back, its log was lost), or their rows were
lost. Only what the crawl knows of and waits for is taken in, in the order of the archive, again and again as pages
become known by it. In a refresh that was under way, only what came since it began.
"""

from __future__ import annotations

from orienteer.answers.answer import Request
from orienteer.answers.meaning import Verdict
from orienteer.errors import CrawlFolderError
from orienteer.fetch.archive import archived_answer
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.store.archive import Position
from orienteer.store.folder import CrawlFolder

_PAGES_PER_COMMIT = 500
_NOW = 0.0  # nobody is asked, so no host need rest
_TO_BE_ASKED_AGAIN = frozenset((Verdict.TRY_AGAIN, Verdict.NOT_MODIFIED))


def retake(folder: CrawlFolder, plan: CrawlPlan, places: list[Position], progress: Progress = silent) -> int:
    """How many of these records were taken in."""
    if not places:
        return 0
    taking = _Taking(Ledger(folder, plan))
    n_taken, n_before = 0, -1
    while places and n_taken > n_before:
        n_before, left = n_taken, []
        for place in places:
            if not taking.take(place):
                left.append(place)
                continue
            n_taken += 1
            progress("taking in pages", n_taken, len(places))
            if n_taken % _PAGES_PER_COMMIT == 0:
                taking.ledger.acknowledge()
        places = left
    if n_taken:
        taking.ledger.acknowledge()
    return n_taken


class _Taking:
    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._intake = Intake(ledger)
        self._began = 0.0 if ledger.epoch is None else ledger.epoch.began

    def take(self, place: Position) -> bool:
        ledger = self.ledger
        try:
            archived = ledger.folder.archive.read(place)
        except CrawlFolderError:
            return False
        page = ledger.seen.find(archived.url)
        if page is None or page not in ledger.crawl.frontier or archived.time < self._began:
            return False
        answer = archived_answer(Request(archived.url, page), archived, ledger.plan.fetch)
        (read,) = self._intake.read([answer])
        if read.meaning.verdict in _TO_BE_ASKED_AGAIN:
            return False
        ledger.crawl.take(page)
        ledger.library.places[page] = place
        self._intake.take_in(page, read, _NOW)
        return True
