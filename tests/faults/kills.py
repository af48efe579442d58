"""Kill a crawl at random moments, run it again, and check that no committed page is lost or changed."""

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

from tests.fake_web.server import FakeWeb
from tests.fake_web.site import host_and_target
from tests.faults.crawl_process import CrawlCommand, CrawlProcess, acknowledged

_POLL_EVERY_S = 0.0005


@dataclass
class KillReport:
    """The kills of a crawl until its end, and their damage.

    For pages committed before a kill: `lost` are URLs that are missing afterwards, `changed` those with a different
    row, `refetched` those that were requested again.
    """

    n_runs: int = 0
    kills: Counter[str] = field(default_factory=Counter)  # by moment
    n_acknowledged: list[int] = field(default_factory=list)  # after each run
    restart_s: list[float] = field(default_factory=list)  # from a restart to the first request
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    refetched: list[str] = field(default_factory=list)

    @property
    def n_kills(self) -> int:
        return sum(self.kills.values())


class Killer:
    """Runs a command repeatedly until it finishes, killing it on the way."""

    def __init__(self, command: CrawlCommand, web: FakeWeb, duration_s: float, rng: random.Random) -> None:
        """`duration_s` is the duration of the command without kills."""
        self.command = command
        self.web = web
        self.duration_s = duration_s
        self.rng = rng
        self.damage = KillReport()
        self._safe: dict[str, tuple[Any, ...]] = {}  # rows of committed pages

    def run(self, n_kills: int, moments: Sequence[str] = ()) -> KillReport:
        """Kill it `n_kills` times, unless it ends before, at each of the moments (default: all) in turn."""
        names = moments or list(MOMENTS)
        has_ended = False
        while not has_ended:
            is_left_alone = self.damage.n_kills >= n_kills
            has_ended = self._run(None if is_left_alone else names[self.damage.n_runs % len(names)])
        return self.damage

    def _run(self, moment: str | None) -> bool:
        """Run it once; return whether it finished."""
        n_before, started = len(self.web.requests), time.time()
        self.damage.n_runs += 1
        with self.command.started() as process:
            if moment is not None and self._moment(moment)(self, process):
                process.kill()
                self.damage.kills[moment] += 1
            code, stderr = process.ended()
        assert moment is not None or code == 0, stderr
        requests = self.web.requests[n_before:]
        if self._safe and requests:
            self.damage.restart_s.append(requests[0][0] - started)
        self._compare({(host, target) for _, host, target in requests})
        return code == 0

    @staticmethod
    def _moment(name: str) -> Callable[[Killer, CrawlProcess], bool]:
        return Killer._among_workers if name == AMONG_WORKERS else MOMENTS[name]

    def _compare(self, asked: set[tuple[str, str]]) -> None:
        """Compare the committed pages before and after a run with these requests."""
        now, before, damage = acknowledged(self.command.folder), self._safe, self.damage
        damage.n_acknowledged.append(len(now))
        damage.lost += [url for url in before if url not in now]
        damage.changed += [url for url, row in before.items() if now.get(url, row) != row]
        damage.refetched += [url for url in before if host_and_target(url) in asked]
        self._safe = now

    # -- moments: each waits for one, and returns whether the process is still alive ------------------------------

    def _any_time(self, process: CrawlProcess) -> bool:
        return _lives_on(process, self.rng.uniform(0, self.duration_s))

    def _folder_made(self, process: CrawlProcess) -> bool:
        return until(process, self.command.folder.exists) and _lives_on(process, self.rng.uniform(0, 0.05))

    def _acknowledging(self, process: CrawlProcess) -> bool:
        """The archive has grown: it is synced next, then the database is committed.

        The first kill comes early, because the crawl may end before the archive has grown several times.
        """
        for _ in range(self.rng.randint(1, 30) if self.damage.n_kills else 1):
            size_bytes = self._archive_bytes()
            if not until(process, lambda size_bytes=size_bytes: self._archive_bytes() > size_bytes):
                return False
        return _lives_on(process, self.rng.uniform(0, 0.01))

    def _ending(self, process: CrawlProcess) -> bool:
        """It is stopping: it writes a checkpoint and the report."""
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
                self.damage.kills["of a worker"] += 1
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
    """Return the worker processes of a crawl."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _lives_on(process: CrawlProcess, for_s: float) -> bool:
    try:
        process.wait(for_s)
    except subprocess.TimeoutExpired:
        return True
    return False


def until(process: CrawlProcess, happened: Callable[[], object], look_every_s: float = _POLL_EVERY_S) -> bool:
    """Wait until it has happened; whether the process lives to see it."""
    while process.poll() is None:
        if happened():
            return True
        time.sleep(look_every_s)
    return False
