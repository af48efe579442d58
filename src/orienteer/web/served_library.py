"""A served library, with its jobs and its open crawls.

A crawl is opened at the first request, and closed when it was not used for the longest time.

A crawl that was renamed or deleted is closed after its last response; its streaming responses are ended. Each request
checks which folder the name belongs to, since crawls can also be renamed and deleted in a shell.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request

from orienteer.library.jobs import Job, Jobs
from orienteer.library.library import Library
from orienteer.web.served_archive import ServedArchive
from orienteer.web.served_crawl import ServedCrawl

MAX_OPEN = 64  # each has a memory-mapped search index, and the map of its hosts in memory

_Identity = tuple[int, ...]


@dataclass
class OpenCrawl:
    """The application of a crawl, the identity of its folder, and the number of its responses in flight."""

    app: FastAPI
    identity: _Identity
    n_users: int = 0
    is_current: bool = True

    @property
    def crawl(self) -> ServedCrawl:
        crawl = self.app.state.crawl
        assert isinstance(crawl, ServedCrawl)
        return crawl


class ServedLibrary:
    """A library for many requests at once. `make` creates the application of a crawl from name and folder."""

    def __init__(
        self, library: Library, jobs: Jobs, make: Callable[[str, Path], FastAPI], max_open: int = MAX_OPEN
    ) -> None:
        self.library = library
        self.jobs = jobs
        self._make = make
        self._max_open = max_open
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenCrawl] = OrderedDict()  # by last use, the newest last
        self._is_ending = False

    def get(self, name: str) -> ServedCrawl:
        """Return a crawl for a short use; `using` is for longer ones. NotInLibraryError if there is none."""
        with self.using(name) as crawl:
            return crawl

    @contextmanager
    def using(self, name: str) -> Iterator[ServedCrawl]:
        """Yield a crawl, which is not closed meanwhile."""
        opened = self.borrow(name)
        try:
            yield opened.crawl
        finally:
            self.release(opened)

    @contextmanager
    def archive_of(self, name: str) -> Iterator[ServedArchive]:
        """Yield the archive of a crawl."""
        with self.using(name) as crawl:
            yield crawl.archive

    def borrow(self, name: str) -> OpenCrawl:
        """Return an open crawl, which is not closed before `release`."""
        path = self.library.path_of(name)
        with self._lock:
            opened = self._open.get(name)
            retired = [] if opened is None or opened.identity == _identity(path) else self._retire(name)
            if name not in self._open:
                self._open[name] = OpenCrawl(self._make(name, path), _identity(path))
            opened = self._open[name]
            opened.n_users += 1
            self._open.move_to_end(name)
            if self._is_ending:
                opened.crawl.end()
            retired += self._retire_surplus()
        for each in retired:
            each.crawl.close()
        return opened

    def release(self, opened: OpenCrawl) -> None:
        with self._lock:
            opened.n_users -= 1
            is_over = not opened.is_current and not opened.n_users
        if is_over:
            opened.crawl.close()

    def stop(self, id: str) -> Job:
        """Ask a job to stop, and return it."""
        self.jobs.stop(id)
        return self.jobs.get(id)

    def rename(self, name: str, new: str) -> None:
        self.forget(name)
        self.library.rename(name, new)
        self.forget(name)  # a request may have opened it in between

    def delete(self, name: str) -> None:
        self.forget(name)
        self.library.delete(name)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Close the crawl of this name, before and after it is renamed or deleted."""
        with self._lock:
            retired = self._retire(name)
        for each in retired:
            each.crawl.close()

    def end(self) -> None:
        """End all streaming responses."""
        with self._lock:
            self._is_ending = True
            for opened in self._open.values():
                opened.crawl.end()

    def close(self) -> None:
        self.end()
        with self._lock:
            opened, self._open = list(self._open.values()), OrderedDict()
        for each in opened:
            each.crawl.close()

    def _retire(self, name: str) -> list[OpenCrawl]:
        """Remove a crawl; return it if it has no responses in flight, so that the caller closes it."""
        opened = self._open.pop(name, None)
        if opened is None:
            return []
        opened.is_current = False
        opened.crawl.end()
        return [] if opened.n_users else [opened]

    def _retire_surplus(self) -> list[OpenCrawl]:
        """Remove the least recently used crawls beyond the limit, except those in use."""
        idle = [name for name, opened in self._open.items() if not opened.n_users]
        n_surplus = max(0, len(self._open) - self._max_open)
        return [each for name in idle[:n_surplus] for each in self._retire(name)]


def served_library(request: Request) -> ServedLibrary:
    """Return the library of an application, or of the crawl whose application it is."""
    library = request.app.state.library
    assert isinstance(library, ServedLibrary)
    return library


def _identity(path: Path) -> _Identity:
    """Return a value that differs for a later folder of the same name."""
    identity = []
    for each in (path, path / "crawl.toml"):
        try:
            stat = each.stat()
        except OSError:
            continue
        identity += [stat.st_dev, stat.st_ino]
    return tuple(identity)
