"""A long crawl of an endless web: what grows, by how much for each URL, and what does not.

Every page links to two that are new, to two that are known and to itself; it is served on loopback by another process,
on 64 hosts, with 32 connections at once and the settings that a crawl has by default, but for the delay. The process is
inspected at equal steps: its memory without freed blocks and SQLite's page cache (which ends at 64 MiB), its folder,
descriptors, threads, and the objects that Python's collector knows. What is not proportional to the URLs shows as
growth of the last two rows that the URLs do not explain; descriptors, threads and objects must not grow at all.

The memory of a component is what the process shrinks by when it is dropped at the end.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.memory import BYTES_PER_LINK, held, taken_apart
from benchmarks.sizes import sized
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.session import open_crawl
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import RequestHeaders, Site

N_PAGES = sized(200_000, 20)
N_STEPS = sized(8, 2)
N_HOSTS = 64
_WARM_UP_PAGES = sized(2_000, 5)
_TEXT = "words of a page that goes on and on " * 20


class EndlessSite(Site):
    """Page n is on host n mod 64, and links to pages 2n + 1 and 2n + 2, to n - 1, to n // 2 and to itself."""

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt" or not target.startswith("/page-"):
            return FakeResponse(status=404) if target != "/" else _page(0)
        return _page(int(target.removeprefix("/page-").removesuffix(".html")))


def url(page: int) -> str:
    """About 60 bytes, as on the web."""
    return f"http://www.host-{page % N_HOSTS}.example.test/page-{page:024}.html"


def _page(page: int) -> FakeResponse:
    links = "".join(f"<a href={url(other)}>page {other}</a> " for other in _links(page))
    return FakeResponse(f"<!DOCTYPE html><title>Page {page}</title><h1>Page {page}</h1><p>{page} {_TEXT}</p>{links}")


def _links(page: int) -> tuple[int, ...]:
    return 2 * page + 1, 2 * page + 2, max(page - 1, 0), page // 2, page


def soaked(n_pages: int, n_steps: int, address: str, place: Path) -> Callable[[], dict[str, Any]]:
    """Crawl some pages to warm up, then the measured crawl."""
    with open_crawl(place / "warm-up", _plan(_WARM_UP_PAGES, address)) as live:
        live.run()

    def run() -> dict[str, Any]:
        with open_crawl(place / "soak", _plan(n_pages, address)) as live:
            rows: list[dict[str, float]] = [_look(live, place / "soak")]
            started = time.monotonic()

            def tick() -> None:
                if len(live.crawl.order) >= n_pages * len(rows) // n_steps:
                    rows.append(_look(live, place / "soak"))
                    facts = ", ".join(f"{name} {figure:,.0f}" for name, figure in rows[-1].items())
                    print(f"{time.monotonic() - started:.0f} s: {facts}", file=sys.stderr, flush=True)

            live.run(tick)
            rows.append(_look(live, place / "soak"))
            components = taken_apart(live.ledger)
        return {"rows": rows, "components": components}

    return run


def _plan(n_pages: int, address: str) -> CrawlPlan:
    tables = {
        "crawl": {"seeds": [url(0)], "budget": n_pages, "until": 0.9999},
        "scope": {"kind": "web"},
        "politeness": {"delay_s": 0.0, "connections": 4},
        "fetch": {"connect_to": address, "allow_private": True},
    }
    return CrawlPlan.of_tables(tables, "benchmark")


def _look(live: Any, folder: Path) -> dict[str, float]:
    memory = held(live.ledger)
    return {
        "pages": len(live.crawl.order),
        "URLs": len(live.ledger.seen),
        "links": live.crawl.web.n_links,
        "memory": memory,
        "disk": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
    }


def run(n_pages: int = N_PAGES, n_steps: int = N_STEPS) -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name, FakeWebProcess(EndlessSite) as web:
        result = measured(soaked, n_pages, n_steps, web.address, Path(name), rounds=1)
    rows, components = result.result["rows"], result.result["components"]
    first, last = rows[0], rows[-1]
    lines = [
        [f"{row['pages']:,}", f"{row['URLs']:,}", f"{row['memory'] / 2**20:,.0f}", _per_url(row, first, "memory"),
         f"{row['disk'] / 2**20:,.0f}", _per_url(row, first, "disk"), f"{row['descriptors']}", f"{row['threads']}",
         f"{row['objects']:,}"]
        for row in rows
    ]  # fmt: skip
    headings = [
        "pages", "URLs", "memory MiB", "bytes a URL", "disk MiB", "bytes a URL", "descriptors", "threads", "objects",
    ]  # fmt: skip
    consists = ", ".join(f"{name} {n_bytes / last['URLs']:.1f}" for name, n_bytes in components.items())
    links = BYTES_PER_LINK * last["links"] / last["URLs"]
    cost = f"{result.wall_s:,.0f} s, {result.cpu_s:,.0f} CPU s, peak {result.peak_mib:,.0f} MiB"
    return (
        f"{machine('numpy', 'numba')}; {cost}\n\n{table(headings, lines)}\n"
        f"Bytes for each URL by component, with {links:.1f} for its links in the graph: {consists}.\n"
    )


def _per_url(row: dict[str, float], first: dict[str, float], name: str) -> str:
    n_urls = row["URLs"] - first["URLs"]
    return f"{(row[name] - first[name]) / n_urls:.0f}" if n_urls > 1000 else ""


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
