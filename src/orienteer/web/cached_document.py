"""Documents that take long to make from a crawl folder: made by a thread, and cached until the crawl changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.progress import Progress
from orienteer.store.folder_view import FolderView

T = TypeVar("T")


class NotReadyError(CrawlFolderError):
    """The requested data is still being read or made; a later request gets it."""


class DocumentState(NamedTuple, Generic[T]):
    """The last document, None before there is one; the progress of the next one, and the reason if there is none."""

    value: T | None
    doing: str = ""
    problem: str = ""

    def expect(self) -> T:
        """Return the document; a CrawlFolderError says why there is none, or that it is not ready yet."""
        if self.value is not None:
            return self.value
        if self.problem:
            raise CrawlFolderError(self.problem)
        raise NotReadyError(f"This is being made: {self.doing or 'starting'}. The page reloads soon.")


class CachedDocument(Generic[T]):
    """A document of a crawl folder, for many requests at once; `make` gets the folder and reports its progress.

    After a document was made, it may be out of date for `pause` times as long as that took, at least `least_pause_s`.
    Without a pause it is never out of date. Making ends when `ending` is set, as the server shuts down.
    """

    def __init__(
        self,
        folder: Path,
        make: Callable[[Path, Progress], T],
        ending: threading.Event,
        pause: float = 0.0,
        least_pause_s: float = 0.0,
    ) -> None:
        self._folder, self._make, self._ending = folder, make, ending
        self._pause, self._least_pause_s = pause, least_pause_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._made: tuple[T, int] | None = None  # with its position
        self._doing = self._problem = ""
        self._next_s = 0.0  # until then the document may be out of date

    def current(self, timeout_s: float) -> DocumentState[T]:
        """Return the document; wait up to `timeout_s` if there is none that may be used.

        A problem is returned once; the next call tries again.
        """
        with self._lock:
            thread, made = self._thread, self._made
            is_idle = thread is None or not thread.is_alive()
            if is_idle and not self._problem and (made is None or self._is_behind(made[1])):
                thread = self._thread = threading.Thread(target=self._run, name="document", daemon=True)
                self._doing = "starting"
                if not self._pause:
                    made = self._made = None
                thread.start()
        if thread is not None and made is None:
            thread.join(timeout_s)
        problem, self._problem = self._problem, ""
        return DocumentState(None if self._made is None else self._made[0], self._doing, problem)

    def _is_behind(self, position: int) -> bool:
        return time.monotonic() >= self._next_s and self._position() != position

    def _position(self) -> int:
        with FolderView.open(self._folder) as folder:
            return folder.database.history.next_position()

    def _run(self) -> None:
        started = time.monotonic()
        try:
            position = self._position()
            self._made = self._make(self._folder, self._update), position
        except OrienteerError as error:
            self._problem = str(error)
        except _EndedError:
            pass
        except Exception as error:
            self._problem = f"it cannot be made: {error!r}"
            raise
        finally:
            self._next_s = time.monotonic() + max(self._pause * (time.monotonic() - started), self._least_pause_s)
            self._doing = ""

    def _update(self, stage: str, done: int, total: int) -> None:
        if self._ending.is_set():
            raise _EndedError
        self._doing = f"{stage}, {done:,} of {total:,}" if total else stage


class _EndedError(Exception):
    """The server shuts down, so the document is abandoned."""
