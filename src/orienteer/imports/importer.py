"""Tells a crawl what a collection has, as if it had been fetched just now, in a sensible order.

    1. from the seeds on, link by link, pages come in the order in which they are discovered
    2. pages that no link leads to count as named by a sitemap, and so do URLs from lists; then on as before

What the collection has no answer for stays in the frontier: a crawl that goes on asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeVar

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Verdict
from orienteer.fetch.archive import archived_answer
from orienteer.imports.collection import Collection, Entry, Spool
from orienteer.imports.wat import page_of
from orienteer.ledger.intake import Intake
from orienteer.live.figures import Watch
from orienteer.progress import Progress
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading

_URLS_AT_ONCE = 10_000
_PAGES_PER_COMMIT = 1_000
_Thing = TypeVar("_Thing")

_NOW = 0.0  # nobody is asked, so no host need rest


class Told(NamedTuple):
    """How many pages no link leads to, how many URLs of lists were new, how many of both are outside the scope."""

    n_unlinked: int
    n_listed: int
    n_outside: int


class Importer:
    """Goes through a collection for a crawl that has just begun."""

    def __init__(self, intake: Intake, watch: Watch, collection: Collection, spool: Spool, progress: Progress) -> None:
        self._intake, self._ledger = intake, intake.ledger
        self._watch = watch
        self._collection = collection
        self._spool = spool
        self._progress = progress
        self._is_told = bytearray(len(collection))
        self._n_told = 0
        self._next_page = 0  # the first whose turn has not come yet

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
        return Told(n_unlinked, n_listed, n_outside)

    def _tell_unlinked(self) -> tuple[int, int]:
        n_unlinked = n_outside = 0
        for places in _batched(self._unlinked(), _URLS_AT_ONCE):
            urls = [self._collection.urls[place] for place in places]
            inside = self._inside(urls)
            n_outside += len(urls) - len(inside)
            if inside:
                self._ledger.discovered(inside)
            for place, url in zip(places, urls, strict=True):
                page = self._ledger.seen.find(url)
                if page is not None and not self._is_told[place]:
                    n_unlinked += self._tell(page, url, place)
            self._go_on()
        return n_unlinked, n_outside

    def _unlinked(self) -> Iterator[int]:
        """What a page is: nobody misses an image or an error that no page speaks of."""
        for place in range(len(self._collection)):
            if not self._is_told[place] and self._collection.entry(place).is_page:
                yield place

    def _inside(self, urls: Iterable[str]) -> list[str]:
        some = list(urls)
        return [url for url, is_inside in zip(some, self._ledger.scope.contains(some), strict=True) if is_inside]

    def _go_on(self) -> None:
        """Tell all pages that are known by now, in the order of their discovery, and those that become known by it."""
        while self._next_page < len(self._ledger.seen):
            end = min(self._next_page + _URLS_AT_ONCE, len(self._ledger.seen))
            urls = self._ledger.database.urls_between(self._next_page, end)
            for page, url in enumerate(urls, self._next_page):
                place = self._collection.find(url)
                if place is not None and not self._is_told[place]:
                    self._tell(page, url, place)
            self._next_page = end

    def _tell(self, page: int, url: str, place: int) -> bool:
        """Whether it was told: what is outside the scope, or not known yet, does not wait for it."""
        if page not in self._ledger.crawl.frontier:
            return False
        self._is_told[place] = True
        self._ledger.crawl.take(page)
        self._take_in(page, url, place, self._collection.entry(place))
        self._n_told += 1
        if self._n_told % _PAGES_PER_COMMIT == 0:
            self._ledger.acknowledge()
        if self._watch.is_due():
            self._watch.look()
            self._progress("taking in pages", self._n_told, len(self._collection))
        return True

    def _take_in(self, page: int, url: str, place: int, entry: Entry) -> None:
        request = Request(url, page)
        self._ledger.library.places[page] = entry.archived
        if entry.archived is not None:
            archived = self._ledger.folder.archive.read(entry.archived)
            answer = archived_answer(request, archived, self._ledger.plan.fetch)
            self._intake.n_bytes += len(answer.body)
            (read,) = self._intake.read([answer])
        elif entry.spooled is not None:
            headers, content = page_of(self._spool.read(entry.spooled), url)
            answer = Fetched(request, entry.outcome, entry.status, headers=headers, started_at=entry.time)
            read = read_answer(answer, Reading(records=False))
            if read.meaning.verdict is Verdict.FETCHED:
                read.meaning = replace(read.meaning, page=content)
                read.digest = self._collection.digest(place) or read.digest
        else:
            stated = Headers([("Content-Type", entry.content_type)])
            answer = Fetched(request, entry.outcome, entry.status, headers=stated, started_at=entry.time)
            read = read_answer(answer, Reading(records=False))
        self._intake.take_in(page, read, _NOW)


def _batched(things: Iterable[_Thing], n: int) -> Iterator[list[_Thing]]:
    """As itertools.batched, which is younger than the oldest Python here."""
    rest = iter(things)
    while some := list(islice(rest, n)):
        yield some
