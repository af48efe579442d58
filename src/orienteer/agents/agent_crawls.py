"""The crawls available to an agent, by name."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from orienteer.errors import InputError, unknown_name
from orienteer.inspect.crawl_status import CrawlStatus, FolderWatcher
from orienteer.store.folder_view import FolderView
from orienteer.web.served_crawl import ServedCrawl


class AgentCrawl:
    """A crawl folder, read by several threads."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.served = ServedCrawl(path)
        self._watcher = FolderWatcher(path)
        self._lock = threading.Lock()

    def status(self) -> CrawlStatus:
        """Return the current status; the watcher counts only what is new since the last call."""
        with self._lock:
            return self._watcher.status()


class AgentCrawls:
    """One or several crawls; the name may be omitted if there is only one."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._crawls: dict[str, AgentCrawl] = {}
        for path in folders:
            FolderView.open(path).close()  # raises an error if there is no crawl
            name = self._free_name(path.resolve().name)
            self._crawls[name] = AgentCrawl(name, path)
        if not self._crawls:
            raise InputError("name a crawl folder, or several")

    def named(self, name: str | None) -> AgentCrawl:
        if name is None and len(self._crawls) == 1:
            return next(iter(self._crawls.values()))
        if name is None:
            raise InputError(f"which crawl? Name one of: {', '.join(self._crawls)}")
        if name not in self._crawls:
            raise unknown_name("crawl", name[:100], self._crawls)
        return self._crawls[name]

    def all(self) -> list[AgentCrawl]:
        return list(self._crawls.values())

    def close(self) -> None:
        for crawl in self._crawls.values():
            crawl.served.close()

    def _free_name(self, name: str) -> str:
        n = 2
        free = name
        while free in self._crawls:
            free, n = f"{name}-{n}", n + 1
        return free
