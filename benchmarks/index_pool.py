"""Reading by several processes: what an index, an export, an import and a topic's web gain by it, and where it ends.

All real pages of three data sets (see `search_web`), crawled once. Each command runs in a process of its own, with 1, 2
and 4 processes that read (1: none is started), one after the other in each round; the best of the rounds counts. CPU
time is that of this process, of those that read, and of both until all pages were read. What is not reading has one
writer: the text index is made by one thread of tantivy, because the order of its documents is to be the same every
time, and an import reports page after page to the policy. So an index gains what its reading gains, and no more; more
readers than cores gain nothing. Wall time is that of a shared machine, whose load is given, too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import search_web
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized

N_PROCESSES = sized((1, 2, 4), (1, 2))
_TOPIC = '[topic]\nkind = "keywords"\nwords = ["history"]\nthreshold = 0.3\n'


class Spent(NamedTuple):
    """CPU and wall time: here, in processes that read, and until all pages were read."""

    n_pages: int
    own_s: float
    readers_s: float
    wall_s: float
    reading_cpu_s: float
    reading_wall_s: float
    load: float


def run(rounds: int = sized(2, 1)) -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-index-pool-") as place:
        folder = Path(place) / "crawl"
        web = search_web.written_web(Path(place) / "web.tar", 0)
        search_web.crawl(web, folder)
        (Path(place) / "topic.toml").write_text(_TOPIC)
        text = "".join(_section(name, work, folder, rounds) for name, work in WORKS.items())
        return f"{machine('tantivy', 'numpy')}\n\n{web.n_real:,} real pages were served.\n{text}"


def _section(name: str, work: Callable[..., Any], folder: Path, rounds: int) -> str:
    found: dict[int, list[Spent]] = {n: [] for n in N_PROCESSES}
    for _ in range(rounds):
        for n in N_PROCESSES:
            found[n].append(measured(spent, work, folder, n, rounds=1).result)
    best = {n: min(some, key=lambda one: one.wall_s) for n, some in found.items()}
    one = best[1]
    rows = [
        [
            f"{n}", f"{it.own_s:.1f}", f"{it.readers_s:.1f}", f"{it.own_s + it.readers_s:.1f}",
            f"{it.reading_cpu_s:.1f}", f"{it.wall_s:.1f}", f"{it.n_pages / it.wall_s:,.0f}",
            f"{one.wall_s / it.wall_s:.2f}", f"{one.reading_wall_s / it.reading_wall_s:.2f}", f"{it.load:.1f}",
        ]
        for n, it in best.items()
    ]  # fmt: skip
    headings = [
        "processes", "CPU s here", "CPU s of readers", "in all", "until all was read", "wall s", "pages/s",
        "times one", "until all was read", "load",
    ]  # fmt: skip
    return f"\n{name}, {one.n_pages:,} pages:\n\n" + table(headings, rows)


def spent(work: Callable[..., Any], folder: Path, n_processes: int) -> Callable[[], Spent]:
    """What a piece of work takes; `work(folder, n_processes, progress)` returns its pages, and the stage that reads."""
    from orienteer.processes.pool import cpu_time_s

    def run() -> Spent:
        stages: dict[str, tuple[float, float]] = {}
        began, own, all_s = time.monotonic(), time.process_time(), cpu_time_s()

        def progress(stage: str, done: int, total: int) -> None:
            stages.setdefault(stage, (cpu_time_s() - all_s, time.monotonic() - began))

        n_pages, after_reading = work(folder, n_processes, progress)
        wall_s, own_s = time.monotonic() - began, time.process_time() - own
        readers_s = cpu_time_s() - all_s - own_s
        reading = stages.get(after_reading, (own_s + readers_s, wall_s))
        return Spent(n_pages, own_s, readers_s, wall_s, *reading, os.getloadavg()[0])

    return run


def an_index(folder: Path, n_processes: int, progress: Any) -> tuple[int, str]:
    from orienteer.search.indexing import update_index

    return update_index(folder, rebuild=True, processes=n_processes, progress=progress).n_read, "indexing"


def an_export(folder: Path, n_processes: int, progress: Any) -> tuple[int, str]:
    from orienteer.exports.export import export

    out = folder.parent / "out.jsonl"
    report = export(folder, "jsonl", out, force=True, all_pages=True, processes=n_processes, progress=progress)
    return report.n_pages, ""


def an_import(folder: Path, n_processes: int, progress: Any) -> tuple[int, str]:
    from orienteer.imports.import_crawl import import_crawl

    out = folder.parent / "imported"
    shutil.rmtree(out, ignore_errors=True)
    return import_crawl(folder, out, scope="web", processes=n_processes, progress=progress).n_fetched, ""


def a_topic_web(folder: Path, n_processes: int, progress: Any) -> tuple[int, str]:
    from orienteer.focus.topic_web import topic_web
    from orienteer.ledger.topic_reading import LoadedTopic

    topic = LoadedTopic(folder.parent / "topic.toml")
    return topic_web(folder, topic, processes=n_processes, progress=progress).web.graph.n_pages, ""


WORKS = {
    "`orienteer index`": an_index,
    "`orienteer export --format jsonl`": an_export,
    "`orienteer import`": an_import,
    "`compare --topic`: its web": a_topic_web,
}
