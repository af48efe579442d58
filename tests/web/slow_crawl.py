"""A crawl that takes some seconds: `orienteer crawl` as a process, on a web of its own on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orienteer.store.lock import holder_of
from tests.cli.live_process import wait_until
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, CrawlProcess
from tests.faults.webs import RoughWeb

# Slow enough to be watched: a few pages a second and host, written down at once.
_SLOW: dict[str, dict[str, Any]] = {
    "crawl": {"commit_every_s": 0.1, "workers": 4, "robots": True},
    "politeness": {"delay_s": 0.02, "connections": 1},
}


class SlowCrawl:
    """The web, and the command that crawls it into `folder`."""

    def __init__(self, web: FakeWeb, folder: Path, *options: object) -> None:
        self.web = web
        self.folder = folder
        self._command = CrawlCommand(web.address, web.site.seeds, folder, *options, **_SLOW)

    @contextmanager
    def running(self) -> Iterator[CrawlProcess]:
        """A running crawl with some pages fetched; killed at the end if it still runs."""
        with self._command.started() as process:
            wait_until(lambda: (self.folder / "course.jsonl").exists() or process.poll() is not None)
            yield process

    def begun(self, code: int = 3) -> None:
        """Run it to its end."""
        self._command.run(code)


@contextmanager
def slow_web(n_pages: int = 1500, latency_s: tuple[float, float] = (0.1, 0.2)) -> Iterator[FakeWeb]:
    with FakeWeb(RoughWeb(n_pages, latency_s)) as web:
        yield web


def stop_holder(folder: Path, kill: Callable[[int, int], None], number: int) -> None:
    """End the crawl that a test has left running in its own folder."""
    process = holder_of(folder)
    if process:
        kill(process, number)
        wait_until(lambda: holder_of(folder) is None)
