"""A generated web of 5 million known pages through the coordinator alone: memory, CPU a page, and opening, as it grows.

The coordinator orders pages, proves coverage and maintains the ledger; responses are generated, without network and
archive. The database and the folder are real. Each page has 40 links, half of them to URLs that are new, as in
`memory`. A crawl grows in stages, each in a process of its own that opens the folder where the last one left it (with
its checkpoint), goes on, and leaves. Bytes a URL are those by which the process has grown, without 4 for each link and
without the cache of SQLite. CPU time is that of the whole stage, without opening and without making up links, a page.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.frontier import resident_bytes
from benchmarks.measure import machine, measured, table
from benchmarks.memory import BYTES_PER_LINK, NEW_PER_PAGE, POLICIES, crawl_pages, held, plan_of
from benchmarks.sizes import sized
from orienteer.ledger.ledger import Ledger
from orienteer.live.warm_up import warm_up
from orienteer.store.folder import CrawlFolder

SIZES = sized((200_000, 1_000_000, 5_000_000), (1_000, 2_000, 4_000))


def stage(policy: str, n_urls: int, place: Path) -> Callable[[], dict[str, Any]]:
    """Open the crawl, or begin it, and go on until it knows so many URLs."""
    plan = plan_of(policy, archive=False)
    warm_up(plan)
    small = Path(tempfile.mkdtemp(dir=place))
    with CrawlFolder.create(small / "small", plan.to_toml()) as folder:  # SQLite and all the rest is loaded by it
        crawl_pages(Ledger(folder, plan), 10)

    def run() -> dict[str, Any]:
        before = resident_bytes()
        is_new = not (place / policy).exists()
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        opened = CrawlFolder.create(place / policy, plan.to_toml()) if is_new else CrawlFolder.open(place / policy)
        with opened as folder:
            ledger = Ledger(folder, plan)
            opening = time.perf_counter() - began_s, time.process_time() - began_cpu_s
            n_pages = max((n_urls - len(ledger.seen)) // NEW_PER_PAGE, 0)
            spent_s = crawl_pages(ledger, n_pages, seed=n_urls)
            n_bytes = held(ledger) - before - BYTES_PER_LINK * ledger.crawl.web.n_links
            ledger.checkpoint()
            size = sum(file.stat().st_size for file in (place / policy).rglob("*") if file.is_file())
            return {"urls": len(ledger.seen), "bytes": n_bytes, "opening": opening, "pages": n_pages, "cpu_s": spent_s,
                    "disk": size}  # fmt: skip

    return run


def run(sizes: tuple[int, ...] = SIZES) -> str:
    rows = []
    for policy in POLICIES:
        with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
            stages = [measured(stage, policy, size, Path(folder), rounds=1) for size in (*sizes, sizes[-1])]
        for done, following in pairwise(stages):
            found = done.result
            wall_s, cpu_s = following.result["opening"]
            rows.append([f"{policy}, {found['urls']:,}", f"{found['bytes'] / found['urls']:.1f}",
                         f"{1000 * found['cpu_s'] / found['pages']:.2f}", f"{wall_s:.1f}", f"{cpu_s:.1f}",
                         f"{done.peak_mib:,.0f}", f"{found['disk'] / 2**30:.1f}"])  # fmt: skip
    headings = ["policy, known URLs", "bytes a URL", "CPU ms a page", "opened, wall s", "CPU s", "peak MiB",
                "folder, GiB"]  # fmt: skip
    return f"{machine('numpy', 'numba')}\n\n{table(headings, rows)}"


if __name__ == "__main__":
    print(run())
