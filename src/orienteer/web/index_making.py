"""The index of a crawl, made at the push of a button."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError
from orienteer.live.control import StartedIndexing
from orienteer.search.index_files import index_folder
from orienteer.store.lock import holder_of


class MakingNow(NamedTuple):
    """Whether somebody is making an index just now, and why the one that was started last came to nothing."""

    is_running: bool
    trouble: str | None


class IndexMaking:
    """Starts `orienteer index DIR` as a process of its own; it outlives the server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._started: StartedIndexing | None = None

    def now(self) -> MakingNow:
        started = self._started
        is_ours = started is not None and not started.has_ended
        is_running = is_ours or holder_of(index_folder(self._path)) is not None
        return MakingNow(is_running, None if started is None or is_running else started.trouble())

    def start(self) -> None:
        """Begin, unless somebody has."""
        with self._lock:
            if self.now().is_running:
                raise CrawlFolderError(f"{self._path}: the index is being made already")
            self._started = StartedIndexing(self._path)
