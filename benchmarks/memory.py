"""The memory of a live crawl, and how long its folder takes to open again.

A ledger records 100,000 pages with 40 links each, half of them to new URLs, until it knows 2 million URLs; responses
are generated, without a network. The goal is to be proved, not measured: a survey keeps about 22 bytes a URL more.
Memory is what the process has grown by, without 4 bytes for each link and without SQLite's page cache (64 MiB at most),
divided by the URLs known. To see where it goes, the crawl is taken apart: the memory of a component is what the process
shrinks by when it is dropped, from left to right. Priorities, which the frontier shares, are counted with the policy,
and hosts with the URLs seen. Opening is measured in new processes, once with the checkpoint and once without, and is
over when the next page can be chosen.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontier import resident_bytes
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest
from orienteer.responses.verdict import Verdict, VerdictKind
from orienteer.store.folder import CrawlFolder
from orienteer.workers.fetch_result import FetchResult

POLICIES = ("certified", "fractional")
N_PAGES, LINKS_PER_PAGE, NEW_PER_PAGE = sized(100_000, 100), 40, 20
PAGES_PER_COMMIT = 500
N_HOSTS = 20_000
BYTES_PER_LINK = 4


def url(page: int) -> str:
    """About 60 bytes, as on the web."""
    return f"https://www.host-{page * 7919 % N_HOSTS}.example/section/{page % 97}/article-{page}.html"


def plan_of(policy: str, **crawl: Any) -> CrawlPlan:
    tables = {
        "crawl": {"seeds": [url(0)], "policy": policy, "until": 0.9999, "stop_when": "proved", **crawl},
        "scope": {"kind": "web"},
        "politeness": {"delay_s": 0.0},
    }
    return CrawlPlan.of_tables(tables, "benchmark")


def crawl_pages(ledger: Ledger, n_pages: int, seed: int = 1) -> float:
    """Fetch that many pages; the CPU seconds without those for making up what they link to."""
    rng = np.random.default_rng(seed)
    spent_s, left = 0.0, n_pages
    while left > 0:
        n_known = len(ledger.seen)
        made = [links_of(n_known + NEW_PER_PAGE * k, rng) for k in range(min(left, PAGES_PER_COMMIT))]
        left -= len(made)
        began = time.process_time()
        for links in made:
            crawl_page(ledger, links)
        ledger.acknowledge()
        spent_s += time.process_time() - began
    ledger.crawl.certificate()
    return spent_s


def links_of(n_known: int, rng: np.random.Generator) -> list[str]:
    """Known ones mostly go to old pages: the web links to what it knows."""
    known = (n_known * rng.random(LINKS_PER_PAGE - NEW_PER_PAGE) ** 2).astype(int).tolist()
    return [url(target) for target in (*known, *range(n_known, n_known + NEW_PER_PAGE))]


def crawl_page(ledger: Ledger, links: list[str]) -> None:
    page = ledger.crawl.next(0.0)
    assert page is not None
    body = b"page %d" % page
    verdict = Verdict(VerdictKind.FETCHED, Outcome.OK, page_with(links, f"The title of page {page}"))
    answer = FetchResult(
        PageRequest(ledger.url(page), page), Outcome.OK, verdict, 200, started_at=1.7e9 + page, duration_s=0.1,
        n_bytes=len(body), size_bytes=len(body), content_type="text/html", digest=near_duplicates.digest(body),
    )  # fmt: skip
    ledger.record_response(page, answer, 0.0)


def page_with(links: list[str], title: str) -> Page:
    """A page without text: texts are stored on disk only."""
    return Page(
        links, title, text="", headings=[], anchors=[], description="", language="en", charset="utf-8", canonical=None,
        noindex=False, nofollow=False,
    )  # fmt: skip


def growth(policy: str, n_pages: int, place: Path) -> Callable[[], dict[str, Any]]:
    """What a crawl of so many pages holds in memory, in bytes."""
    plan = plan_of(policy)
    warm_up(plan)
    with CrawlFolder.create(place / "small", plan.to_toml()) as folder:  # SQLite and all the rest is loaded by it
        crawl_pages(Ledger(folder, plan), 10)

    def run() -> dict[str, Any]:
        before = resident_bytes()
        with CrawlFolder.create(place / policy, plan.to_toml()) as folder:
            ledger = Ledger(folder, plan)
            crawl_pages(ledger, n_pages)
            ledger.acknowledge()
            grown_by = held(ledger) - before
            ledger.checkpoint()
            counts = {"urls": len(ledger.seen), "links": ledger.crawl.web.n_links, "total": grown_by}
            return counts | {"components": taken_apart(ledger)}

    return run


def held(ledger: Ledger) -> int:
    """The memory of the process without SQLite's page cache."""
    ledger.database.connection._connection.execute("PRAGMA shrink_memory")
    gc.collect()
    return resident_bytes()


def taken_apart(ledger: Ledger) -> dict[str, int]:
    """Return what the process shrinks by when each component is dropped; shared memory counts for the last of them."""
    crawl = ledger.crawl
    ledger.setup._crawl = None
    owners: dict[str, tuple[Any, str]] = {
        "frontier": (crawl, "frontier"),
        "policy": (crawl, "policy"),
        "coverage": (crawl, "coverage"),
        "graph": (crawl, "web"),
        "states and order": (ledger, "crawl"),
        "depths": (ledger, "_depths"),
        "URLs seen": (ledger, "seen"),
    }
    del crawl
    shrunk_by = {}
    now = held(ledger)
    for name, (owner, attribute) in owners.items():
        owners[name] = (None, "")
        setattr(owner, attribute, None)
        del owner
        before, now = now, held(ledger)
        shrunk_by[name] = before - now
    return shrunk_by


def reopened(policy: str, place: Path) -> Callable[[], Any]:
    plan = plan_of(policy)
    warm_up(plan)
    with CrawlFolder.open(place / "small") as folder:
        Ledger(folder, plan)

    def run() -> int:
        with CrawlFolder.open(place / policy) as folder:
            ledger = Ledger(folder, plan)
            assert ledger.crawl.next(0.0) is not None
            return len(ledger.seen)

    return run


def run(n_pages: int = N_PAGES) -> str:
    sizes, openings = [], []
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
        for policy in POLICIES:
            place = Path(folder) / policy
            place.mkdir()
            started = time.perf_counter()
            grown = measured(growth, policy, n_pages, place, rounds=1)
            took_s = time.perf_counter() - started
            counts = grown.result
            per_url = {name: n_bytes / counts["urls"] for name, n_bytes in counts["components"].items()}
            per_url["graph"] -= BYTES_PER_LINK * counts["links"] / counts["urls"]
            total = (counts["total"] - BYTES_PER_LINK * counts["links"]) / counts["urls"]
            rest = total - sum(per_url.values())
            sizes.append([policy, f"{total:.1f}", *(f"{size:.1f}" for size in per_url.values()), f"{rest:.1f}",
                          f"{grown.peak_mib:,.0f}"])  # fmt: skip
            openings.append([policy, *openings_of(policy, place), f"{took_s:.0f}"])
    return (
        f"{counts['urls']:,} URLs, {counts['links']:,} links, {n_pages:,} pages. {machine('numpy', 'numba')}\n\n"
        + table(["bytes per known URL beyond the links", "total", *per_url, "rest", "peak MiB"], sizes)
        + "\n"
        + table(["opened again", "with checkpoint, wall s", "CPU s", "without, wall s", "CPU s",
                 "(made in, wall s)"], openings)
    )  # fmt: skip


def openings_of(policy: str, place: Path) -> list[str]:
    """Wall and CPU seconds with the checkpoint, and without."""
    with_checkpoint = measured(reopened, policy, place, rounds=1)
    shutil.rmtree(place / policy / "checkpoints")
    without = measured(reopened, policy, place, rounds=1)
    return [f"{figure:.1f}" for opened in (with_checkpoint, without) for figure in (opened.wall_s, opened.cpu_s)]


if __name__ == "__main__":
    print(run())
