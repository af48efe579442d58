"""A served crawl folder: read by many requests at once, while other processes crawl and index.

It has all that the pages of the crawl need, in `app.state.crawl` of their application.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request

from orienteer.errors import CrawlFolderError
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.progress import Progress
from orienteer.store.lock import holder_of
from orienteer.web.cached_document import CachedDocument
from orienteer.web.crawl_watch import CrawlWatch
from orienteer.web.icons import Icons
from orienteer.web.served_archive import ServedArchive

if TYPE_CHECKING:
    from orienteer.search.search_index import SearchIndex

T = TypeVar("T")

_State = tuple[int, ...]

_TIMEOUT_S, _POLL_S = 2.0, 0.05  # for an index that is being written


@dataclass
class _Lease:
    """An open index, its version, and the number of searches that use it."""

    index: SearchIndex
    state: _State
    n_users: int = 0
    is_current: bool = True


class ServedCrawl:
    """A crawl folder by its path, with its jobs: by default those of a folder outside any library.

    `ending` is set when the server shuts down; streaming responses poll it.
    """

    def __init__(self, path: Path, jobs: CrawlJobs | None = None) -> None:
        self.path = path
        self.ending = threading.Event()
        self.archive = ServedArchive(path, self.ending)
        self.icons = Icons(self.archive)
        self.jobs = jobs or CrawlJobs.of_folder(path)
        self.watch = CrawlWatch(path, self.jobs)
        self._documents: dict[Any, CachedDocument[Any]] = {}
        self._lock = threading.Lock()
        self._lease: _Lease | None = None
        self._is_closed = False

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.resolve().name

    def document(self, make: Callable[[Path, Progress], T], **pauses: float) -> CachedDocument[T]:
        """Return the cached document that this function makes; `pauses` are those of a CachedDocument."""
        with self._lock:
            if make not in self._documents:
                self._documents[make] = CachedDocument(self.path, make, self.ending, **pauses)
            return self._documents[make]

    @contextmanager
    def searching(self) -> Iterator[SearchIndex]:
        """Yield the newest search index. An older one is closed when the last search in it has ended."""
        lease = self._borrow()
        try:
            yield lease.index
        finally:
            with self._lock:
                lease.n_users -= 1
                _close_if_done(lease)

    def end(self) -> None:
        """End all streaming responses."""
        self.ending.set()

    def close(self) -> None:
        self.end()
        self.archive.close()
        with self._lock:
            self._is_closed = True
            self._retire()

    def _borrow(self) -> _Lease:
        from orienteer.search.search_index import SearchIndex

        with self._lock:
            state = self._index_state()
            if self._lease is None or (state and state != self._lease.state):
                try:
                    index = SearchIndex.open(self.path) if self._lease else self._first_index()
                except CrawlFolderError:
                    # While an index is rebuilt, there is none for a moment; the old one, already removed, stays in use.
                    if self._lease is None:
                        raise
                else:
                    self._retire()
                    self._lease = _Lease(index, state)
            lease = self._lease
            lease.n_users += 1
            if self._is_closed:  # a request still uses this crawl; the index is closed after it
                self._retire()
            return lease

    def _first_index(self) -> SearchIndex:
        """Open the index for the first time; wait briefly for an index that is being written."""
        from orienteer.search.search_index import SearchIndex
        from orienteer.store.page_texts import index_folder

        until = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                return SearchIndex.open(self.path)
            except CrawlFolderError:
                if holder_of(index_folder(self.path)) is None:
                    return SearchIndex.open(self.path)  # the writer may just have finished
                if time.monotonic() > until:
                    raise
            time.sleep(_POLL_S)

    def _retire(self) -> None:
        if self._lease is not None:
            self._lease.is_current = False
            _close_if_done(self._lease)
            self._lease = None

    def _index_state(self) -> _State:
        """Return a value that changes with every index written; empty if there is no complete index."""
        from orienteer.search.page_columns import FILE
        from orienteer.store.page_texts import TEXTS, index_folder

        index = index_folder(self.path)
        try:
            columns, texts = (index / FILE).stat(), (index / TEXTS).stat()
        except OSError:
            return ()
        return (columns.st_ino, columns.st_mtime_ns, columns.st_size, texts.st_ino)


def served_crawl(request: Request) -> ServedCrawl:
    """Return the crawl whose pages are requested."""
    crawl = request.app.state.crawl
    assert isinstance(crawl, ServedCrawl)
    return crawl


def _close_if_done(lease: _Lease) -> None:
    if not lease.is_current and not lease.n_users:
        lease.index.close()
