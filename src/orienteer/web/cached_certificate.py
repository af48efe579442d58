"""The certificate of a crawl, cached until the crawl changes. Making it takes as long as replaying the crawl."""

from __future__ import annotations

import threading
from pathlib import Path

from orienteer.certificates.facts import Facts
from orienteer.certificates.gathering import facts_of_folder
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.web.served_archive import StillReadingError

_TIMEOUT_S = 3.0


class StillMakingError(StillReadingError):
    """The certificate is being made by a thread."""

    def __init__(self) -> None:
        CrawlFolderError.__init__(
            self, "The certificate is being made: every figure is computed again. This page reloads soon."
        )


class CachedCertificate:
    """The cached certificate of a crawl, for many requests at once; one thread makes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._made: tuple[int, Facts | OrienteerError] | None = None  # with its position

    def facts(self) -> Facts:
        """Return the facts of the certificate; an OrienteerError if it is impossible, or not ready yet."""
        if holder_of(self._path) is not None:
            raise CrawlFolderError("The crawl is running. A certificate can be made when it has stopped.")
        position = self._position()
        with self._lock:
            if (found := self._found(position)) is None and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._make, args=(position,), name="certificate", daemon=True)
                self._thread.start()
            thread = self._thread
        if found is None:
            assert thread is not None
            thread.join(_TIMEOUT_S)
            found = self._found(position)
        if found is None:
            raise StillMakingError
        if isinstance(found, OrienteerError):
            self._made = None  # the next request tries again
            raise found
        return found

    def _found(self, position: int) -> Facts | OrienteerError | None:
        made = self._made
        return made[1] if made is not None and made[0] == position else None

    def _make(self, position: int) -> None:
        try:
            self._made = position, facts_of_folder(self._path)
        except OrienteerError as error:
            self._made = position, error
        except Exception as error:
            self._made = position, CrawlFolderError(f"The certificate cannot be made: {error}")
            raise

    def _position(self) -> int:
        with FolderView.open(self._path) as folder:
            return folder.database.history.next_position()
