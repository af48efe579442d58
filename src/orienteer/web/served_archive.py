"""The archive of a crawl folder, as the pages in the browser look things up in it.

Reading a large archive for the first time takes minutes: a thread does it, and who asks meanwhile is told how far it
is. From then on each look at a page reads what was appended. Lists of results only ask for what is known: for them the
archive is read now and then, in a tenth of the time.
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

_PATIENCE_S = 3.0
_LEAST_PAUSE_S, _TIMES_AS_LONG = 10.0, 10.0


class StillReadingError(CrawlFolderError):
    """The archive is being read for the first time; `share` of it has been."""

    def __init__(self, share: float) -> None:
        super().__init__(f"The archive is being read for the first time: {100 * share:.0f} % so far. Try again soon.")


class ServedArchive:
    """Many requests look things up at once; it ends when `ending` is set."""

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
        self._trouble: OrienteerError | None = None

    @contextmanager
    def reading(self, fresh: bool = False) -> Iterator[Captures]:
        """What is archived; with `fresh`, also what was appended a moment ago."""
        if self._is_closed:
            raise CrawlFolderError("The archive was closed meanwhile. Try again.")
        if fresh or not self._is_read:
            self._update(with_stored=True).join(_PATIENCE_S)
        if not self._is_read:
            raise self._trouble or StillReadingError(self._share)
        assert self._captures is not None
        try:
            yield self._captures
        except StaleCapturesError:
            self._is_read = self._is_partly_read = False
            self._captures.forget()
            raise CrawlFolderError("The archive is not what it was, and is being read again. Try again soon.") from None

    def have_views(self, urls: list[str]) -> list[bool]:
        """Which of these pages have a picture; none while that is not known."""
        captures = self._captures
        if self._is_closed:
            return [False] * len(urls)
        self._read_now_and_then()
        if captures is None or not self._is_partly_read:
            return [False] * len(urls)
        try:
            return [captures.newest_view(url) is not None for url in urls]
        except CrawlFolderError:
            return [False] * len(urls)

    def view_of(self, url: str) -> ArchivedContent | None:
        """The newest picture of a page."""
        with self.reading() as captures:
            row = captures.newest_view(url)
            return None if row is None else captures.content(row)

    def local_content(self, url: str) -> ArchivedContent | None:
        """What was archived last at a URL; None where nothing was, or it is not known yet, or not on this machine."""
        captures = self._captures
        self._read_now_and_then()
        if captures is None or not self._is_partly_read:
            return None
        try:
            row = captures.nearest(url, time.time())
            return None if row is None or not captures.is_here(row) else captures.content(row)
        except CrawlFolderError:
            return None

    @property
    def is_known(self) -> bool:
        """Whether what is on this machine has been read."""
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

    def _read_now_and_then(self) -> None:
        """Read what is on this machine, unless that was done a moment ago."""
        if not self._is_read and time.monotonic() >= self._due:
            self._update(with_stored=False)

    def _update(self, with_stored: bool) -> threading.Thread:
        """A thread that reads what is new, the one that does so already if there is one."""
        with self._lock:
            if self._thread is not None and with_stored and not self._reads_stored:
                self._thread.join(_PATIENCE_S)
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
            self._trouble = None
        except OrienteerError as error:
            self._trouble = error
        finally:
            self._due = time.monotonic() + max(_LEAST_PAUSE_S, _TIMES_AS_LONG * (time.thread_time() - began))

    def _progress(self) -> Progress:
        def told(_: str, n_done: int, n_all: int) -> None:
            self._share = n_done / n_all if n_all else 0.0

        return told
