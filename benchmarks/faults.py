"""Crawls that are killed: `kill -9` at random moments, the same command again until it comes to its end.

A web of several hosts with latencies, 404s, redirects, errors that pass, rules and sitemaps is crawled over sockets by
the real command, which acknowledges pages every 50 ms. Kills come while the folder is made, while pages are
acknowledged, while a checkpoint and the report are written, and at any time at all. In crawls by several processes,
workers are killed, too, at any time. After each kill another process reads the database. *Lost* and *changed* are pages
that were acknowledged then and are gone, or have another row, in a later state; *requested again* those that the server
received a second request for; *double* those that are in the archive twice; *differing* those that have another outcome
than in an undisturbed crawl. *Acknowledged at a kill* and *s to restart* (from the command to its first request) are
means. A kill leaves what the system has not yet written to the disk; a power failure, which loses it, cannot be tested
here.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, archived_urls, check_archive, outcomes
from tests.faults.kills import AMONG_WORKERS, Killer, KillReport
from tests.faults.webs import RoughWeb

N_PAGES = sized(600, 60)
KILLS_PER_CRAWL = sized(8, 1)
POLICIES = ("certified", "fractional", "breadth-first")
CRAWLERS = [(policy, workers, 1) for policy in POLICIES for workers in (1, 16)]
WITH_PROCESSES = [("certified", 16, 3), ("certified", 16, 2)]
N_WITH_PROCESSES, KILLS_OF_WORKERS = sized((10, 50), (1, 1))
Crawler = tuple[str, int, int]  # policy, workers, processes


@dataclass
class Sum:
    """What came of all crawls of one kind."""

    damages: list[KillReport] = field(default_factory=list)
    n_pages: int = 0
    n_double: int = 0
    n_differing: int = 0
    off_by: float = 0.0  # the certificate's bounds, at most

    def row(self, name: str) -> list[str]:
        harm = [sum(len(urls) for urls in self._all(kind)) for kind in ("lost", "changed", "refetched")]
        safe = [n_pages for n_acknowledged in self._all("n_acknowledged") for n_pages in n_acknowledged[:-1]]
        restarts_s = [seconds for restart_s in self._all("restart_s") for seconds in restart_s]
        counts = [len(self.damages), sum(self._all("n_kills")), self.n_pages, _mean(safe)]
        counts += [*harm, self.n_double, self.n_differing]
        return [name, *(f"{count:,.0f}" for count in counts), f"{self.off_by:.0e}", f"{_mean(restarts_s):.1f}"]

    def _all(self, name: str) -> list[Any]:
        return [getattr(damage, name) for damage in self.damages]


def _mean(values: list[float]) -> float:
    return fmean(values) if values else math.nan


def crawl_of(web: FakeWeb, folder: Path, policy: str, workers: int, processes: int = 1) -> CrawlCommand:
    assert isinstance(web.site, RoughWeb)
    options = ("--policy", policy, "--workers", workers, "--processes", processes)
    return CrawlCommand(web.address, web.site.seeds, folder, *options)


def add_crawl(result: Sum, command: CrawlCommand, whole: CrawlCommand, damage: KillReport) -> None:
    """Compare a crawl that was killed with an undisturbed one."""
    ended, expected = outcomes(command.folder), outcomes(whole.folder)
    in_archive = archived_urls(command.folder)
    result.damages.append(damage)
    result.n_pages += len(ended)
    result.n_double += len(in_archive) - len(set(in_archive))
    result.n_differing += sum(ended.get(url) != expected.get(url) for url in ended | expected)
    proved, truth = (crawl.report()["figures"]["certificate"] for crawl in (command, whole))
    result.off_by = max(result.off_by, *(abs(proved[name] - truth[name]) for name in ("lower", "upper", "blocked")))
    if len(in_archive) == len(set(in_archive)):
        check_archive(command.folder)  # whatever else may be wrong with it


def undisturbed(web: FakeWeb, scratch: Path) -> tuple[CrawlCommand, dict[int, float]]:
    """Run a crawl without kills; return it with its durations by number of workers."""
    durations = {}
    for workers in (1, 16):
        whole = crawl_of(web, scratch / f"whole-{workers}", "certified", workers)
        started = time.monotonic()
        whole.run()
        durations[workers] = time.monotonic() - started
    return whole, durations


def run(n_kills: int = sized(100, 1)) -> str:
    rng = random.Random(2)
    results: dict[Crawler, Sum] = {crawler: Sum() for crawler in (*CRAWLERS, *WITH_PROCESSES)}
    moments: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as scratch, FakeWeb(RoughWeb(N_PAGES)) as web:
        whole, durations = undisturbed(web, Path(scratch))
        for k, crawler in enumerate(cycle(CRAWLERS)):
            command = crawl_of(web, Path(scratch) / f"crawl-{k}", *crawler)
            damage = Killer(command, web, durations[crawler[1]], rng).run(KILLS_PER_CRAWL)
            add_crawl(results[crawler], command, whole, damage)
            moments.update(damage.kills)
            if sum(moments.values()) >= n_kills:
                break
        for k, crawler in zip(range(N_WITH_PROCESSES), cycle(WITH_PROCESSES), strict=False):
            command = crawl_of(web, Path(scratch) / f"processes-{k}", *crawler)
            n_each = KILLS_OF_WORKERS // N_WITH_PROCESSES
            damage = Killer(command, web, durations[crawler[1]], rng).run(n_each, [AMONG_WORKERS])
            add_crawl(results[crawler], command, whole, damage)
            moments.update(damage.kills)
    headings = ["policy, requests at once, processes", "crawls", "kills", "pages", "acknowledged at a kill", "lost",
                "changed", "requested again", "double", "differing", "bounds off by", "s to restart"]  # fmt: skip
    rows = [result.row(", ".join(map(str, crawler))) for crawler, result in results.items()]
    when = ", ".join(f"{n} {moment}" for moment, n in moments.items())
    alone = " and ".join(f"{seconds:.0f} s with {workers}" for workers, seconds in durations.items())
    return (
        f"{sum(moments.values())} kills: {when}. Left alone, a crawl takes {alone} workers. "
        f"{machine('numpy', 'numba', 'pycurl')}\n\n{table(headings, rows)}"
    )
