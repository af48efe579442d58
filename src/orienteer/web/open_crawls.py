"""The crawls of a library that are open: made when first asked for, closed when nobody has asked for a long time.

A crawl that was renamed or deleted is closed as soon as the last answer from it is over; answers without an end are
told to end. Which folder a name stands for is looked at each time, since a shell may rename and delete, too.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from orienteer.library.library import Library
from orienteer.web.served_archive import ServedArchive
from orienteer.web.served_crawl import ServedCrawl

MOST_OPEN = 64  # an open one has a search index mapped, and the map of its hosts in memory

_Identity = tuple[int, ...]


@dataclass
class OpenCrawl:
    """The application of a crawl, of which folder it is, and how many answers from it are under way."""

    app: FastAPI
    identity: _Identity
    n_users: int = 0
    is_current: bool = True

    @property
    def crawl(self) -> ServedCrawl:
        crawl = self.app.state.crawl
        assert isinstance(crawl, ServedCrawl)
        return crawl


class OpenCrawls:
    """Many requests ask at once. `make` makes the application of a crawl, from its name and folder."""

    def __init__(self, library: Library, make: Callable[[str, Path], FastAPI], most_open: int = MOST_OPEN) -> None:
        self._library = library
        self._make = make
        self._most_open = most_open
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenCrawl] = OrderedDict()  # the one asked for last is last
        self._is_ending = False

    def get(self, name: str) -> ServedCrawl:
        """A crawl by its name, for a moment: whoever reads longer takes `using`. NotInLibraryError if it is none."""
        with self.using(name) as crawl:
            return crawl

    @contextmanager
    def using(self, name: str) -> Iterator[ServedCrawl]:
        """The same; it is not closed meanwhile."""
        opened = self.borrow(name)
        try:
            yield opened.crawl
        finally:
            self.give_back(opened)

    @contextmanager
    def archive_of(self, name: str) -> Iterator[ServedArchive]:
        """What a crawl has archived."""
        with self.using(name) as crawl:
            yield crawl.archive

    def borrow(self, name: str) -> OpenCrawl:
        """An open crawl, until it is given back."""
        path = self._library.path_of(name)
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
            retired += self._too_many()
        for each in retired:
            each.crawl.close()
        return opened

    def give_back(self, opened: OpenCrawl) -> None:
        with self._lock:
            opened.n_users -= 1
            is_over = not opened.is_current and not opened.n_users
        if is_over:
            opened.crawl.close()

    def forget(self, name: str) -> None:
        """The crawl of this name is to be renamed or deleted, or has been."""
        with self._lock:
            retired = self._retire(name)
        for each in retired:
            each.crawl.close()

    def end(self) -> None:
        """Let answers without an end come to one."""
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
        """Take a crawl out; what is returned has nobody left to wait for, and is to be closed."""
        opened = self._open.pop(name, None)
        if opened is None:
            return []
        opened.is_current = False
        opened.crawl.end()
        return [] if opened.n_users else [opened]

    def _too_many(self) -> list[OpenCrawl]:
        """Those that nobody has asked for longest, as many as there are too many; those in use stay."""
        idle = [name for name, opened in self._open.items() if not opened.n_users]
        n_surplus = max(0, len(self._open) - self._most_open)
        return [each for name in idle[:n_surplus] for each in self._retire(name)]


def _identity(path: Path) -> _Identity:
    """Tells one folder from another that has its name later."""
    found = []
    for each in (path, path / "crawl.toml"):
        try:
            stat = each.stat()
        except OSError:
            continue
        found += [stat.st_dev, stat.st_ino]
    return tuple(found)
