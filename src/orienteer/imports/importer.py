"""Replays the responses of a collection to a crawl, as if they had just been fetched.

    1. pages are added in the order of their discovery by links, starting from the seeds
    2. pages without in-links count as listed in a sitemap, and so do URLs from lists; then their links are followed

URLs without a response in the collection stay in the frontier, for the crawl to fetch. Responses are parsed ahead of
the import, in several processes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from orienteer.extract import near_duplicates
from orienteer.extract.page import MAX_TEXT_CHARS
from orienteer.fetch.archive import archived_response
from orienteer.fetch.settings import FetchSettings
from orienteer.imports.collection import IMPORTED, BrowserCaptures, Collection, Spool
from orienteer.imports.wat import page_of
from orienteer.inspect.archived_page import archive_to_read, warn_skipped
from orienteer.ledger.intake import Intake
from orienteer.live.figures import ProgressWatch
from orienteer.pages.outcome import Outcome
from orienteer.processes.pool import Failed, ProcessPool
from orienteer.progress import Progress
from orienteer.responses.headers import Headers
from orienteer.responses.rendered import rendered_document_of
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.verdict import VerdictKind
from orienteer.store.archive import Archive, Position
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response

_URLS_AT_ONCE = 10_000
_PAGES_PER_COMMIT = 1_000
_MAX_QUEUED = 1_000
_T = TypeVar("_T")

_NOW = 0.0  # no requests are sent, so politeness needs no clock


class ReadTask(NamedTuple):
    """A response to parse: the position of its record, and of its rendered document or text, if there is one."""

    request: PageRequest
    position: Position
    rendered: Position | None = None


class ReadResult(NamedTuple):
    """A parsed response; `n_bytes` is the size of its body."""

    response: FetchResult
    n_bytes: int


@contextmanager
def archive_reader(
    folder: Path, settings: FetchSettings, reading: ReadSettings
) -> Iterator[Callable[[ReadTask], ReadResult]]:
    """Return a function for a pool that parses responses in the archive of this folder, with these settings."""
    with closing(archive_to_read(folder)) as archive:
        yield lambda task: read_archived(archive, settings, reading, task)


def read_arguments(intake: Intake) -> tuple[FetchSettings, ReadSettings]:
    """Return the settings for `archive_reader`: no records are made, since the responses are archived already."""
    return intake.ledger.plan.fetch, replace(intake.reading, records=False)


def read_archived(archive: Archive, settings: FetchSettings, reading: ReadSettings, task: ReadTask) -> ReadResult:
    response = archived_response(task.request, archive.read(task.position), settings)
    rendered = None if task.rendered is None else archive.read_resource(task.rendered)[1]
    if rendered is not None and rendered.content_type.startswith("text/html"):
        response = replace(response, rendered=rendered_document_of(rendered.body, task.request.url))
    result = read_response(response, reading)
    if rendered is not None and response.rendered is None:
        _set_text(result, rendered.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS], reading)
    return ReadResult(result, len(response.body))


def _set_text(result: FetchResult, text: str, reading: ReadSettings) -> None:
    """Use the text after rendering for duplicate detection, and as the text of the page. Links stay unchanged."""
    page = result.verdict.page
    if page is None:
        return
    result.digest = near_duplicates.digest(text.encode("utf-8", "replace"))
    result.sessionless_digest = None
    if reading.signatures:
        result.signature = near_duplicates.signature(text)
    if reading.texts or reading.full_responses:
        result.verdict = replace(result.verdict, page=replace(page, text=text))


def result_or_failure(request: PageRequest, read: ReadResult | Failed) -> ReadResult:
    """Return the result; if the page crashed its process, an unreadable page, with a warning."""
    if not isinstance(read, Failed):
        return read
    warn_skipped(request.url, read)
    return ReadResult(read_response(Response(request, Outcome.UNREADABLE), ReadSettings(records=False)), 0)


class AddedCounts(NamedTuple):
    """The numbers of pages without in-links, of new URLs from lists, of pages and URLs of these that are outside the
    scope, and of assets."""

    n_unlinked: int
    n_listed: int
    n_outside: int
    n_assets: int


class _FoundResponse(NamedTuple):
    """A page that the crawl knows, and the index of its response in the collection."""

    page: int
    url: str
    response_index: int


class Importer:
    """Adds the responses of a collection to a new crawl; `pool` parses them."""

    def __init__(
        self, intake: Intake, watch: ProgressWatch, collection: Collection, captures: BrowserCaptures, spool: Spool,
        pool: ProcessPool[ReadTask, ReadResult], progress: Progress,
    ) -> None:  # fmt: skip
        self._intake, self._ledger = intake, intake.ledger
        self._watch = watch
        self._collection = collection
        self._captures = captures
        self._spool = spool
        self._pool = pool
        self._read_arguments = read_arguments(intake)
        self._progress = progress
        self._is_asset = captures.asset_mask(collection)
        self._is_added = bytearray(len(collection))
        self._n_added = 0
        self._urls: deque[str] = deque()  # of the next pages, from `_next_page` on
        self._next_page = 0
        self._queue: deque[tuple[_FoundResponse, bool]] = deque()  # next responses, and whether the pool reads them

    def run(self, listed: Iterable[str]) -> AddedCounts:
        """Add all responses, and the `listed` URLs, which have none."""
        self._add_discovered()
        n_unlinked, n_outside = self._add_unlinked()
        n_listed = 0
        for urls in _batched(listed, _URLS_AT_ONCE):
            inside = self._inside(urls)
            if inside:
                n_listed += self._ledger.discover(inside)
            n_outside += len(urls) - len(inside)
        return AddedCounts(n_unlinked, n_listed, n_outside, self._add_assets())

    def _add_assets(self) -> int:
        """Add all assets, inside and outside the scope; return their number."""
        database, n_assets = self._ledger.database, 0
        for index, is_asset in enumerate(self._is_asset):
            entry = self._collection.entry(index)
            is_unused = is_asset and not self._is_added[index]
            if entry.archived is not None and (is_unused or entry.outcome is Outcome.UNWANTED_TYPE):
                url = self._collection.urls[index]
                row = AssetRow(database.assets.add(url, 0, None), url, 0, str(Outcome.OK), entry.status, entry.time)
                digest = self._collection.digest(index)
                database.assets.finish(
                    row._replace(content_type=entry.content_type, digest=digest, archived=entry.archived)
                )
                n_assets += 1
        return n_assets

    def _add_unlinked(self) -> tuple[int, int]:
        n_unlinked = n_outside = 0
        for indexes in _batched(self._unlinked(), _URLS_AT_ONCE):
            urls = [self._collection.urls[index] for index in indexes]
            inside = self._inside(urls)
            n_outside += len(urls) - len(inside)
            if inside:
                self._ledger.discover(inside)
            pages = zip(map(self._ledger.seen.find, urls), urls, indexes, strict=True)
            found = (_FoundResponse(page, url, index) for page, url, index in pages if page is not None)
            n_unlinked += self._add_all(partial(next, found, None))
            self._add_discovered()
        return n_unlinked, n_outside

    def _unlinked(self) -> Iterator[int]:
        """Yield the indexes of pages that are not added yet; assets, errors and frames are excluded."""
        for index in range(len(self._collection)):
            if not self._is_added[index] and not self._is_asset[index] and self._collection.entry(index).is_page:
                yield index

    def _inside(self, urls: Iterable[str]) -> list[str]:
        batch = list(urls)
        return [url for url, is_inside in zip(batch, self._ledger.scope.contains(batch), strict=True) if is_inside]

    def _add_discovered(self) -> None:
        """Add all known pages in the order of their discovery, and the pages that they link to."""
        self._add_all(self._next_discovered)

    def _next_discovered(self) -> _FoundResponse | None:
        """Return the next known page with a response; None if there is none yet."""
        seen, database = self._ledger.seen, self._ledger.database
        while self._next_page < len(seen):
            if not self._urls:
                end = min(self._next_page + _URLS_AT_ONCE, len(seen))
                self._urls.extend(database.urls.between(self._next_page, end))
            page, url = self._next_page, self._urls.popleft()
            self._next_page += 1
            if (index := self._collection.find(url)) is not None:
                return _FoundResponse(page, url, index)
        return None

    def _add_all(self, next_page: Callable[[], _FoundResponse | None]) -> int:
        """Add pages until `next_page` returns None; return how many were added. The pool reads ahead."""
        n_added = 0
        while True:
            while not self._queue or (self._pool.has_room and len(self._queue) < _MAX_QUEUED):
                if (found := next_page()) is None:
                    break
                self._enqueue(found)
            if not self._queue:
                return n_added
            n_added += self._add(self._queue.popleft())

    def _enqueue(self, found: _FoundResponse) -> None:
        """Append a page to the queue; the pool reads it ahead if it is in the frontier now."""
        if self._is_added[found.response_index]:
            return
        archived = self._collection.entry(found.response_index).source_record
        is_read_ahead = archived is not None and found.page in self._ledger.crawl.frontier
        if archived is not None and is_read_ahead:
            self._pool.put(self._read_task(PageRequest(found.url, found.page), archived))
        self._queue.append((found, is_read_ahead))

    def _add(self, queued: tuple[_FoundResponse, bool]) -> bool:
        """Add a page, and return whether it was added: only pages in the frontier are."""
        (page, url, index), is_read_ahead = queued
        read = self._pool.take() if is_read_ahead else None
        if self._is_added[index] or page not in self._ledger.crawl.frontier:
            return False
        self._is_added[index] = True
        self._ledger.crawl.take(page)
        self._add_response(PageRequest(url, page), index, read)
        self._n_added += 1
        if self._n_added % _PAGES_PER_COMMIT == 0:
            self._ledger.acknowledge()
        if self._watch.is_due():
            self._watch.update()
            self._progress("adding pages", self._n_added, len(self._collection))
        return True

    def _add_response(self, request: PageRequest, index: int, read: ReadResult | Failed | None) -> None:
        """Add a response; `read` is None if it was not read ahead."""
        entry = self._collection.entry(index)
        archived = self._ledger.page_store.locations[request.page] = entry.source_record
        if archived is not None:
            if read is None:
                read = read_archived(
                    self._ledger.folder.archive, *self._read_arguments, self._read_task(request, archived)
                )
            response, n_bytes = result_or_failure(request, read)
            self._intake.n_bytes += n_bytes
            self._intake.completed([response])
        elif entry.spooled is not None:
            headers, content = page_of(self._spool.read(entry.spooled), request.url)
            fetched = Response(request, entry.outcome, entry.status, headers=headers, started_at=entry.time)
            response = read_response(fetched, ReadSettings(records=False))
            if response.verdict.kind is VerdictKind.FETCHED:
                unknown = content.why_uncounted or response.verdict.unknown
                response.verdict = replace(response.verdict, page=content, unknown=unknown)
                response.digest = self._collection.digest(index) or response.digest
        else:
            stated = Headers([("Content-Type", entry.content_type)])
            fetched = Response(request, entry.outcome, entry.status, headers=stated, started_at=entry.time)
            response = read_response(fetched, ReadSettings(records=False))
        self._intake.record_response(request.page, response, _NOW)
        if archived is not None and response.verdict.kind is VerdictKind.FETCHED:
            self._store_rendering(request, response)

    def _read_task(self, request: PageRequest, archived: Position) -> ReadTask:
        document = self._captures.documents.get(request.url)
        return ReadTask(request, archived, None if document is None else document.position)

    def _store_rendering(self, request: PageRequest, response: FetchResult) -> None:
        """Store the rendered document and the screenshot of a page, if the collection has them."""
        document, view = self._captures.documents.get(request.url), self._captures.views.get(request.url)
        if document is None and view is None:
            return
        row = response.rendered or RenderedRow(request.page, IMPORTED, response.started_at, request.url)
        dom_at, view_at = (None if capture is None else capture.position for capture in (document, view))
        self._ledger.database.rendered.set(row._replace(why=IMPORTED, dom=dom_at, view=view_at, rendered_digest=None))


def _batched(items: Iterable[_T], n: int) -> Iterator[list[_T]]:
    """Return the same as itertools.batched, which Python 3.11 does not have."""
    iterator = iter(items)
    while batch := list(islice(iterator, n)):
        yield batch
