"""Kill a crawl at random moments, run the same command again, and see whether anything acknowledged has suffered."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import place_of
from tests.faults.crawl_process import CrawlCommand, CrawlProcess, acknowledged

_LOOK_EVERY_S = 0.0005


@dataclass
class Ordeal:
    """What a crawl went through until it came to its end.

    The URL of a page that was acknowledged at a kill stands in `lost` if it was not any more afterwards, in `changed`
    if its row was another, and in `asked_again` if the page was asked for once more.
    """

    n_runs: int = 0
    kills: Counter[str] = field(default_factory=Counter)  # by moment
    n_acknowledged: list[int] = field(default_factory=list)  # after each run
    restart_s: list[float] = field(default_factory=list)  # from a command on a folder begun before to its first request
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    asked_again: list[str] = field(default_factory=list)

    @property
    def n_kills(self) -> int:
        return sum(self.kills.values())


class Killer:
    """Runs a command again and again until it comes to its end, and kills it on the way."""

    def __init__(self, command: CrawlCommand, web: FakeWeb, duration_s: float, rng: random.Random) -> None:
        """`duration_s` is how long the command takes when it is left alone."""
        self.command = command
        self.web = web
        self.duration_s = duration_s
        self.rng = rng
        self.ordeal = Ordeal()
        self._safe: dict[str, tuple[Any, ...]] = {}  # the rows that are acknowledged

    def run(self, n_kills: int, moments: Sequence[str] = ()) -> Ordeal:
        """Kill it so many times, unless it ends before; at each of the moments (all, if none are named) in turn."""
        names = moments or list(MOMENTS)
        has_ended = False
        while not has_ended:
            is_left_alone = self.ordeal.n_kills >= n_kills
            has_ended = self._run(None if is_left_alone else names[self.ordeal.n_runs % len(names)])
        return self.ordeal

    def _run(self, moment: str | None) -> bool:
        """Run it once; whether it came to its end."""
        n_before, started = len(self.web.requests), time.time()
        self.ordeal.n_runs += 1
        with self.command.started() as process:
            if moment is not None and self._moment(moment)(self, process):
                process.kill()
                self.ordeal.kills[moment] += 1
            code, said = process.ended()
        assert moment is not None or code == 0, said
        requests = self.web.requests[n_before:]
        if self._safe and requests:
            self.ordeal.restart_s.append(requests[0][0] - started)
        self._compare({(host, target) for _, host, target in requests})
        return code == 0

    @staticmethod
    def _moment(name: str) -> Callable[[Killer, CrawlProcess], bool]:
        return Killer._among_workers if name == AMONG_WORKERS else MOMENTS[name]

    def _compare(self, asked: set[tuple[str, str]]) -> None:
        """See what has become of the acknowledged pages in a run with these requests."""
        now, before, ordeal = acknowledged(self.command.folder), self._safe, self.ordeal
        ordeal.n_acknowledged.append(len(now))
        ordeal.lost += [url for url in before if url not in now]
        ordeal.changed += [url for url, row in before.items() if now.get(url, row) != row]
        ordeal.asked_again += [url for url in before if place_of(url) in asked]
        self._safe = now

    # -- moments: each waits for one; whether the process lives to see it ----------------------------------------

    def _any_time(self, process: CrawlProcess) -> bool:
        return _lives_on(process, self.rng.uniform(0, self.duration_s))

    def _folder_made(self, process: CrawlProcess) -> bool:
        return until(process, self.command.folder.exists) and _lives_on(process, self.rng.uniform(0, 0.05))

    def _acknowledging(self, process: CrawlProcess) -> bool:
        """The archive has grown: it is made durable next, then the database."""
        for _ in range(self.rng.randint(1, 30)):
            size_bytes = self._archive_bytes()
            if not until(process, lambda size_bytes=size_bytes: self._archive_bytes() > size_bytes):
                return False
        return _lives_on(process, self.rng.uniform(0, 0.01))

    def _ending(self, process: CrawlProcess) -> bool:
        """It was asked to stop: a checkpoint is written, and the report."""
        n_requests = len(self.web.requests)
        if not until(process, lambda: len(self.web.requests) > n_requests):
            return False
        if not _lives_on(process, self.rng.uniform(0, self.duration_s / 4)):
            return False
        process.terminate()
        checkpoints = self.command.folder / "checkpoints"
        if self.rng.random() < 0.5:
            return until(process, lambda: any(checkpoints.glob(".new-*")))
        return _lives_on(process, self.rng.uniform(0, 0.3))

    def _among_workers(self, process: CrawlProcess) -> bool:
        """Some workers are killed, one after the other; then sometimes the crawl itself."""
        for _ in range(self.rng.randint(1, 6)):
            n_requests = len(self.web.requests) + self.rng.randint(1, 60)
            if not until(process, lambda n=n_requests: len(self.web.requests) >= n and workers_of(process.pid)):
                return False
            with suppress(ProcessLookupError, IndexError):
                os.kill(self.rng.choice(workers_of(process.pid)), signal.SIGKILL)
                self.ordeal.kills["of a worker"] += 1
        return self.rng.random() < 0.5

    def _archive_bytes(self) -> int:
        n_bytes = 0
        for path in (self.command.folder / "archive").glob("*.gz"):
            with suppress(FileNotFoundError):  # cut off just now
                n_bytes += path.stat().st_size
        return n_bytes


MOMENTS: dict[str, Callable[[Killer, CrawlProcess], bool]] = {
    "while the folder is made": Killer._folder_made,
    "while pages are acknowledged": Killer._acknowledging,
    "at any time": Killer._any_time,
    "while it comes to its end": Killer._ending,
}
AMONG_WORKERS = "after some of its workers"


def workers_of(process: int) -> list[int]:
    """The processes that a crawl has beside it."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _lives_on(process: CrawlProcess, for_s: float) -> bool:
    try:
        process.wait(for_s)
    except subprocess.TimeoutExpired:
        return True
    return False


def until(process: CrawlProcess, happened: Callable[[], object], look_every_s: float = _LOOK_EVERY_S) -> bool:
    """Wait until it has happened; whether the process lives to see it."""
    while process.poll() is None:
        if happened():
            return True
        time.sleep(look_every_s)
    return False
