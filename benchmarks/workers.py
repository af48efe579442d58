"""Workers: pages a second and CPU time by process, with 1, 2 and 4 processes (8 and 16 where there are cores).

The 36 documentation hosts of `live_crawl`, 6,093 real pages, are crawled by a new process each time. The fake web runs
in a process of its own on the same machine, so it takes its share of the cores; its CPU time is listed. With one
process everything is done there. With more, the *coordinator* keeps the order, the certificate and the ledger, and the
workers fetch, unpack, read, hash, sign and compress. "All by default" is what a user gets; "links only" does the work
that the peers of `live_crawl` do. They are compared with the quickest Scrapy there, in one process.

Pages a second are wall time, the best of some rounds, each after the other: on a machine that does other things these
are too low. They are given for the whole crawl, which lasts some seconds, until workers are ready one of them, and for
its second half, as it would be in a longer one. Ratios are to one process in the same run.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crawlers import orienteer_crawler, scrapy_crawler
from benchmarks.crawlers.scrapy_crawler import AIOHTTP, QuickSpider
from benchmarks.crawlers.task import Archived, Task, archived
from benchmarks.live_crawl import DOCUMENTATION, documentation_site
from benchmarks.measure import Measurement, machine, measured, table
from benchmarks.sizes import sized
from orienteer.inspect.figures import CrawlFigures
from orienteer.live.session import live_crawl
from orienteer.processes.pool import usable_cores
from tests.fake_web.process import FakeWebProcess

IN_FLIGHT = 64
ROUNDS = sized(3, 1)
WORK = {"all by default": orienteer_crawler.DEFAULTS, "links only": orienteer_crawler.SAME_WORK}
SCRAPY = "Scrapy, on disk, aiohttp"


@dataclass(frozen=True)
class Crawled:
    """`workers_s` is the CPU time of worker processes, `web_s` that of the fake web."""

    measurement: Measurement
    archived: Archived
    workers_s: float
    web_s: float
    later_per_s: float | None  # pages a second in the second half of the crawl

    @property
    def pages_per_s(self) -> float:
        return len(self.archived.pages) / self.measurement.wall_s


def run(rounds: int = ROUNDS) -> str:
    if not DOCUMENTATION.exists():
        return f"The real pages are not here: {DOCUMENTATION.name}\n"
    counts = [n for n in (1, 2, 4, 8, 16) if n <= max(4, usable_cores())]
    contenders: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        f"{work}, {n} {'process' if n == 1 else 'processes'}": (prepare, (settings, n))
        for work, settings in WORK.items()
        for n in counts
    }
    contenders[SCRAPY] = (scrapy_crawler.prepare, (QuickSpider, AIOHTTP, True))
    seeds = tuple(f"http://{host}/" for host in documentation_site().hosts)
    best: dict[str, Crawled] = {}
    with FakeWebProcess(documentation_site) as web:
        for _ in range(rounds):
            for label, (start, arguments) in contenders.items():
                crawled = _crawled(start, arguments, seeds, web)
                if label not in best or crawled.pages_per_s > best[label].pages_per_s:
                    best[label] = crawled
    return machine("scrapy", "pycurl") + f", {usable_cores()} of them usable\n\n" + _table(best)


def prepare(task: Task, work: orienteer_crawler.Tables, processes: int) -> Callable[[], dict[str, float]]:
    settings = orienteer_crawler.settings_of(task, work, IN_FLIGHT, processes)
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
        live_crawl(task.seeds, folder, settings=settings, budget=50)

    def run() -> dict[str, float]:
        before, seen = _children_s(), Seen()
        live_crawl(task.seeds, task.folder, settings=settings, watch=seen)
        return {"workers_s": _children_s() - before, "later_per_s": seen.later_per_s()}

    return run


class Seen:
    """How far a crawl was when."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []

    def __call__(self, figures: CrawlFigures) -> None:
        self._marks.append((time.monotonic(), figures.n_fetched))

    def later_per_s(self) -> float:
        """Pages a second from the first half of its pages on, until the last ones: few hosts have these."""
        times, counts = np.array(self._marks).T
        first, last = 0.5 * counts[-1], 0.97 * counts[-1]
        began, ended = np.interp([first, last], counts, times)  # a quick crawl is seen only a few times
        return float((last - first) / (ended - began))


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _crawled(
    start: Callable[..., Any], arguments: tuple[Any, ...], seeds: tuple[str, ...], web: FakeWebProcess
) -> Crawled:
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name:
        folder = Path(name)
        before_s = _cpu_of(web)
        measurement = measured(start, Task(seeds, web.address, folder), *arguments, rounds=1)
        web_s = _cpu_of(web) - before_s
        facts = measurement.result if isinstance(measurement.result, dict) else {}
        return Crawled(measurement, archived(folder), facts.get("workers_s", 0.0), web_s, facts.get("later_per_s"))


def _cpu_of(web: FakeWebProcess) -> float:
    """Of all threads, in seconds."""
    fields = Path(f"/proc/{web.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _table(crawls: dict[str, Crawled]) -> str:
    rows = []
    for label, crawled in crawls.items():
        n_pages, first = len(crawled.archived.pages), crawls.get(f"{label.split(',')[0]}, 1 process")
        later, first_later = crawled.later_per_s, None if first is None else first.later_per_s
        rows.append([
            label, f"{n_pages:,}", f"{crawled.pages_per_s:,.0f}",
            "" if first is None else f"{crawled.pages_per_s / first.pages_per_s:.2f}",
            "" if later is None else f"{later:,.0f}",
            "" if later is None or first_later is None else f"{later / first_later:.2f}",
            f"{(later or crawled.pages_per_s) / crawls[SCRAPY].pages_per_s:.2f}",
            f"{1000 * crawled.measurement.cpu_s / n_pages:.2f}", f"{1000 * crawled.workers_s / n_pages:.2f}",
            f"{1000 * crawled.web_s / n_pages:.2f}", f"{crawled.measurement.wall_s:.1f}",
        ])  # fmt: skip
    headings = [
        "",
        "pages",
        "pages/s",
        "x one process",
        "second half, pages/s",
        "second half, x one process",
        "second half, x Scrapy",
        "coordinator, CPU ms a page",
        "workers, CPU ms a page",
        "fake web, CPU ms a page",
        "wall s",
    ]
    return table(headings, rows)
