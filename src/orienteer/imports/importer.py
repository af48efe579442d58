"""Tells a crawl what a collection has, as if it had been fetched just now, in a sensible order.

    1. from the seeds on, link by link, pages come in the order in which they are discovered
    2. pages that no link leads to count as named by a sitemap, and so do URLs from lists; then on as before

What the collection has no answer for stays in the frontier: a crawl that goes on asks for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Verdict
from orienteer.imports.collection import Collection, Spool
from orienteer.imports.reading_ahead import Answered, ToTell, answered, how_to_read, survived
from orienteer.imports.shown_pages import IMPORTED, ShownPages
from orienteer.imports.wat import page_of
from orienteer.ledger.intake import Intake
from orienteer.live.figures import Watch
from orienteer.pages.outcome import Outcome
from orienteer.processes.pool import Failed, Pool
from orienteer.progress import Progress
from orienteer.store.archive import Position
from orienteer.store.shown_tables import PartRow, RenderedRow
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading, Received

_URLS_AT_ONCE = 10_000
_PAGES_PER_COMMIT = 1_000
_TURNS_AHEAD = 1_000
_Thing = TypeVar("_Thing")

_COUNTED = ("n_words_sent", "n_words", "n_links_sent", "n_links", "trouble")
_NOW = 0.0  # nobody is asked, so no host need rest


class Told(NamedTuple):
    """How many pages no link leads to, how many URLs of lists were new, how many of both are outside the scope.

    `n_parts` are no pages, but shown with them.
    """

    n_unlinked: int
    n_listed: int
    n_outside: int
    n_parts: int


class _Found(NamedTuple):
    """A page that is known to the crawl, and its place in the collection."""

    page: int
    url: str
    place: int


class Importer:
    """Goes through a collection for a crawl that has just begun; `pool` reads its answers."""

    def __init__(
        self, intake: Intake, watch: Watch, collection: Collection, shown: ShownPages, spool: Spool,
        pool: Pool[ToTell, Answered], progress: Progress,
    ) -> None:  # fmt: skip
        self._intake, self._ledger = intake, intake.ledger
        self._watch = watch
        self._collection = collection
        self._shown = shown
        self._spool = spool
        self._pool = pool
        self._how = how_to_read(intake)
        self._progress = progress
        self._is_part = shown.parts_of(collection)
        self._is_told = bytearray(len(collection))
        self._n_told = 0
        self._urls: deque[str] = deque()  # of the pages that are looked at next
        self._next_page = 0  # the first of them
        self._turns: deque[tuple[_Found, bool]] = deque()  # whose turn comes, and whether they are read ahead

    def run(self, listed: Iterable[str]) -> Told:
        """`listed` are URLs that are known without an answer."""
        self._go_on()
        n_unlinked, n_outside = self._tell_unlinked()
        n_listed = 0
        for urls in _batched(listed, _URLS_AT_ONCE):
            inside = self._inside(urls)
            if inside:
                n_listed += self._ledger.discovered(inside)
            n_outside += len(urls) - len(inside)
        return Told(n_unlinked, n_listed, n_outside, self._add_parts())

    def _add_parts(self) -> int:
        """What pages are shown with, whatever the scope is; how many there are."""
        database, n_parts = self._ledger.database, 0
        for place, is_part in enumerate(self._is_part):
            entry = self._collection.entry(place)
            is_left = is_part and not self._is_told[place]
            if entry.archived is not None and (is_left or entry.outcome is Outcome.UNWANTED_TYPE):
                url = self._collection.urls[place]
                row = PartRow(database.add_part(url, 0), url, 0, str(Outcome.OK), entry.status, entry.time)
                digest = self._collection.digest(place)
                database.end_part(row._replace(content_type=entry.content_type, digest=digest, archived=entry.archived))
                n_parts += 1
        return n_parts

    def _tell_unlinked(self) -> tuple[int, int]:
        n_unlinked = n_outside = 0
        for places in _batched(self._unlinked(), _URLS_AT_ONCE):
            urls = [self._collection.urls[place] for place in places]
            inside = self._inside(urls)
            n_outside += len(urls) - len(inside)
            if inside:
                self._ledger.discovered(inside)
            pages = zip(map(self._ledger.seen.find, urls), urls, places, strict=True)
            found = (_Found(page, url, place) for page, url, place in pages if page is not None)
            n_unlinked += self._tell_all(partial(next, found, None))
            self._go_on()
        return n_unlinked, n_outside

    def _unlinked(self) -> Iterator[int]:
        """What a page is: nobody misses an image or an error that no page speaks of, or a frame."""
        for place in range(len(self._collection)):
            if not self._is_told[place] and not self._is_part[place] and self._collection.entry(place).is_page:
                yield place

    def _inside(self, urls: Iterable[str]) -> list[str]:
        some = list(urls)
        return [url for url, is_inside in zip(some, self._ledger.scope.contains(some), strict=True) if is_inside]

    def _go_on(self) -> None:
        """Tell all pages that are known by now, in the order of their discovery, and those that become known by it."""
        self._tell_all(self._next_discovered)

    def _next_discovered(self) -> _Found | None:
        """The next page that is known and has an answer; None while there is none."""
        seen, database = self._ledger.seen, self._ledger.database
        while self._next_page < len(seen):
            if not self._urls:
                end = min(self._next_page + _URLS_AT_ONCE, len(seen))
                self._urls.extend(database.urls_between(self._next_page, end))
            page, url = self._next_page, self._urls.popleft()
            self._next_page += 1
            if (place := self._collection.find(url)) is not None:
                return _Found(page, url, place)
        return None

    def _tell_all(self, next_page: Callable[[], _Found | None]) -> int:
        """Tell page after page, until there is no next one; how many were told. Some are read ahead meanwhile."""
        n_told = 0
        while True:
            while not self._turns or (self._pool.has_room and len(self._turns) < _TURNS_AHEAD):
                if (found := next_page()) is None:
                    break
                self._line_up(found)
            if not self._turns:
                return n_told
            n_told += self._tell(self._turns.popleft())

    def _line_up(self, found: _Found) -> None:
        """A page whose turn will come; it is read ahead, unless it seems that it will not be told."""
        if self._is_told[found.place]:
            return
        archived = self._collection.entry(found.place).told_from
        is_read_ahead = archived is not None and found.page in self._ledger.crawl.frontier
        if archived is not None and is_read_ahead:
            self._pool.put(self._to_tell(Request(found.url, found.page), archived))
        self._turns.append((found, is_read_ahead))

    def _tell(self, turn: tuple[_Found, bool]) -> bool:
        """Whether it was told: what is outside the scope, or not known yet, does not wait for it."""
        (page, url, place), is_read_ahead = turn
        read = self._pool.take() if is_read_ahead else None
        if self._is_told[place] or page not in self._ledger.crawl.frontier:
            return False
        self._is_told[place] = True
        self._ledger.crawl.take(page)
        self._take_in(Request(url, page), place, read)
        self._n_told += 1
        if self._n_told % _PAGES_PER_COMMIT == 0:
            self._ledger.acknowledge()
        if self._watch.is_due():
            self._watch.look()
            self._progress("taking in pages", self._n_told, len(self._collection))
        return True

    def _take_in(self, request: Request, place: int, read: Answered | Failed | None) -> None:
        """`read` is None for an answer that was not read ahead."""
        entry = self._collection.entry(place)
        archived = self._ledger.library.places[request.page] = entry.told_from
        if archived is not None:
            if read is None:
                read = answered(self._ledger.folder.archive, *self._how, self._to_tell(request, archived))
            answer, n_bytes = survived(request, read)
            self._intake.n_bytes += n_bytes
            self._intake.completed([answer])
        elif entry.spooled is not None:
            headers, content = page_of(self._spool.read(entry.spooled), request.url)
            fetched = Fetched(request, entry.outcome, entry.status, headers=headers, started_at=entry.time)
            answer = read_answer(fetched, Reading(records=False))
            if answer.meaning.verdict is Verdict.FETCHED:
                unknown = content.why_uncounted or answer.meaning.unknown
                answer.meaning = replace(answer.meaning, page=content, unknown=unknown)
                answer.digest = self._collection.digest(place) or answer.digest
        else:
            stated = Headers([("Content-Type", entry.content_type)])
            fetched = Fetched(request, entry.outcome, entry.status, headers=stated, started_at=entry.time)
            answer = read_answer(fetched, Reading(records=False))
        self._intake.take_in(request.page, answer, _NOW)
        if archived is not None and answer.meaning.verdict is Verdict.FETCHED:
            self._keep_shown(request, answer)

    def _to_tell(self, request: Request, archived: Position) -> ToTell:
        document = self._shown.documents.get(request.url)
        return ToTell(request, archived, None if document is None else document.place)

    def _keep_shown(self, request: Request, answer: Received) -> None:
        """What a browser made of a page, if somebody kept it."""
        document, view = self._shown.documents.get(request.url), self._shown.views.get(request.url)
        if document is None and view is None:
            return
        row = RenderedRow(request.page, IMPORTED, answer.started_at, request.url)
        if answer.shown is not None:
            row = row._replace(**{name: getattr(answer.shown, name) for name in _COUNTED}, url=answer.shown.url)
        dom_at, view_at = (None if thing is None else thing.place for thing in (document, view))
        self._ledger.database.set_rendered(row._replace(dom=dom_at, view=view_at))


def _batched(things: Iterable[_Thing], n: int) -> Iterator[list[_Thing]]:
    """As itertools.batched, which is younger than the oldest Python here."""
    rest = iter(things)
    while some := list(islice(rest, n)):
        yield some
