"""Lookups in the archive of a served crawl folder.

Reading a large archive for the first time takes minutes. A thread does it, and lookups meanwhile raise
NotReadyError with the progress. Afterwards each lookup of a page first reads the records appended since. Lists of
search results use only what has been read; for them the archive is read periodically, in at most a tenth of the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.inspect.captures import ArchivedContent, Captures, StaleCapturesError
from orienteer.progress import Progress
from orienteer.web.cached_document import NotReadyError

_TIMEOUT_S = 3.0
_MIN_PAUSE_S, _PAUSE_FACTOR = 10.0, 10.0  # the pause after a read, in seconds and in multiples of its CPU time


class ServedArchive:
    """The archive of a crawl folder, for many requests at once; reading stops when `ending` is set."""

    def __init__(self, path: Path, ending: threading.Event) -> None:
        self._path = path
        self._ending = ending
        self._lock = threading.Lock()
        self._captures: Captures | None = None
        self._thread: threading.Thread | None = None
        self._is_read = self._is_partly_read = False
        self._reads_stored = False
        self._is_closed = False
        self._due = 0.0
        self._share = 0.0
        self._problem: OrienteerError | None = None

    @contextmanager
    def reading(self, fresh: bool = False) -> Iterator[Captures]:
        """Yield the captures of the archive; with `fresh`, including the newest ones."""
        if self._is_closed:
            raise CrawlFolderError("The archive was closed meanwhile. Try again.")
        if fresh or not self._is_read:
            self._update(with_stored=True).join(_TIMEOUT_S)
        if not self._is_read:
            share = f"{100 * self._share:.0f} %"
            raise self._problem or NotReadyError(
                f"The archive is being read for the first time: {share} so far. Try again soon."
            )
        assert self._captures is not None
        try:
            yield self._captures
        except StaleCapturesError:
            self._is_read = self._is_partly_read = False
            self._captures.invalidate()
            raise CrawlFolderError("The archive has been replaced and is being read again. Try again soon.") from None

    def have_views(self, urls: list[str]) -> list[bool]:
        """Return which of these pages have a screenshot; none of them before the archive has been read."""
        captures = self._captures
        if self._is_closed:
            return [False] * len(urls)
        self._read_if_due()
        if captures is None or not self._is_partly_read:
            return [False] * len(urls)
        try:
            return [captures.newest_view(url) is not None for url in urls]
        except CrawlFolderError:
            return [False] * len(urls)

    def view_of(self, url: str) -> ArchivedContent | None:
        """Return the newest screenshot of a page, if any."""
        with self.reading() as captures:
            row = captures.newest_view(url)
            return None if row is None else captures.content(row)

    def local_content(self, url: str) -> ArchivedContent | None:
        """Return the newest capture of a URL; None if there is none, or it is not yet read, or not on this machine."""
        captures = self._captures
        self._read_if_due()
        if captures is None or not self._is_partly_read:
            return None
        try:
            row = captures.nearest(url, time.time())
            return None if row is None or not captures.is_local(row) else captures.content(row)
        except CrawlFolderError:
            return None

    @property
    def is_known(self) -> bool:
        """Whether the files on this machine have been read."""
        return self._is_partly_read

    def close(self) -> None:
        self._is_closed = True
        self._ending.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
            if self._captures is not None:
                self._captures.close()
                self._captures = None

    def _read_if_due(self) -> None:
        """Start to read the files on this machine, unless the pause since the last read is not over."""
        if not self._is_read and time.monotonic() >= self._due:
            self._update(with_stored=False)

    def _update(self, with_stored: bool) -> threading.Thread:
        """Return the thread that reads new records; start it if none is running."""
        with self._lock:
            if self._thread is not None and with_stored and not self._reads_stored:
                self._thread.join(_TIMEOUT_S)
            if self._thread is None or not self._thread.is_alive():
                self._reads_stored = with_stored
                self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
                self._thread.start()
            return self._thread

    def _run(self) -> None:
        began = time.thread_time()
        try:
            self._captures = self._captures or Captures(self._path)
            self._captures.update(self._progress(), self._reads_stored, self._ending.is_set)
            self._is_partly_read = not self._ending.is_set()
            self._is_read = self._is_read or (self._reads_stored and self._is_partly_read)
            self._problem = None
        except OrienteerError as error:
            self._problem = error
        finally:
            self._due = time.monotonic() + max(_MIN_PAUSE_S, _PAUSE_FACTOR * (time.thread_time() - began))

    def _progress(self) -> Progress:
        def report(_: str, n_done: int, n_all: int) -> None:
            self._share = n_done / n_all if n_all else 0.0

        return report
