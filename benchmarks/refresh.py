"""Daily refreshes of a crawl of a changing web: requests, bytes, and changes found.

A generated web of 1,000 pages over 30 days. Of its pages 5 % change every day, 10 % every five days on average, 25 %
every thirty, the rest never; each day 0.3 % new pages appear, linked from a page that is edited for it, and 0.1 %
disappear; for two days a host is down. Four ways to keep up:

- *from nothing*: the whole web is crawled again each day, into a new folder
- *ask for all*: a refresh that takes every page for due (`revisit_chance = 0`); pages that have not changed answer 304
- *refresh*: as it is by default: pages are asked for by how often they were seen to change
- *refresh, budget*: the same with a quarter of the requests that it takes to ask for all

*Changes found* are those seen by the end of the same day, *up to date* the pages that are stored as they are, both
means over the days; *deleted, stored* are deleted pages still stored at the end, *not stored* existing pages that are
missing, of those that the first crawl could reach and of the new ones.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from orienteer.extract.near_duplicates import digest
from orienteer.graph.synthetic import synthetic_web
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import live_crawl, refresh
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from tests.fake_web.changing import ChangingSite, next_epoch
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb

N_PAGES, N_DAYS = sized((1000, 30), (30, 2))
RATES = ((0.05, 1.0), (0.10, 0.2), (0.25, 1 / 30), (0.60, 0.0))  # share of the pages, changes a day
OUTAGE, HOST_DOWN = range(12, 14), "h1.test"


@dataclass
class Days:
    """What was seen, day by day."""

    n_requests: list[int] = field(default_factory=list)
    n_bytes: list[int] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    up_to_date: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    n_deleted_stored: int = 0
    n_lost: int = 0


def followed(kind: str, n_pages: int, n_days: int) -> Days:
    graph = synthetic_web(n_pages, rng=4)
    pages_site = GraphSite(graph, page_bytes=15_000)
    site = ChangingSite(pages_site)
    rng = np.random.default_rng(0)
    seed = pages_site.url_of(int(np.argmax(graph.out_degrees())))
    days, today = Days(), time.time()
    with tempfile.TemporaryDirectory() as folders, FakeWeb(site) as web:
        settings: dict[str, dict[str, Any]] = {
            "crawl": {"robots": False, "workers": 8, "near_duplicates": "off"},
            "politeness": {"delay_s": 0.0, "connections": 8},
            "fetch": {"connect_to": web.address},
            "retry": {"back_off_s": 0.01, "max_back_off_s": 0.05},
            "refresh": {"revisit_chance": 0.0} if kind == "ask for all" else {},
        }
        folder = Path(folders) / "0"
        live_crawl(seed, folder, scope="web", settings=settings)
        pages = set(_held(folder))
        rates = _rates(rng, sorted(pages))
        for day in range(n_days):
            today += DAY_S
            changed = _a_day_passes(rng, site, rates, pages, day)
            site.begin_epoch()
            started = time.process_time()
            if kind == "from nothing":
                folder = Path(folders) / str(day + 1)
                live_crawl(seed, folder, scope="web", settings=settings)
            else:
                budget = len(rates) // 4 if kind == "refresh, budget" else None
                refresh(folder, now=today, budget=budget)
            days.cpu_s.append(time.process_time() - started)
            _look(site, folder, pages, changed, days)
    return days


def _rates(rng: np.random.Generator, urls: list[str]) -> dict[str, float]:
    """Changes a day, for each page."""
    rates = rng.choice([rate for _, rate in RATES], len(urls), p=[share for share, _ in RATES])
    return dict(zip(urls, rates.tolist(), strict=True))


def _a_day_passes(
    rng: np.random.Generator, site: ChangingSite, rates: dict[str, float], pages: set[str], day: int
) -> set[str]:
    """The pages that were edited or are new; the new ones are among the pages from now on."""
    there = set(site.urls()) & pages
    chances = rng.random(len(rates))
    edited = [url for (url, rate), chance in zip(rates.items(), chances, strict=True) if chance < 1 - np.exp(-rate)]
    edited = [url for url in edited if url in there]
    for url in edited:
        site.edit(url, site.body_of(url) + b"<p>Day %d.</p>" % day)
    changes = next_epoch(rng, site, share_new=0.003, share_deleted=0.001, among=sorted(there)[1:])
    pages |= changes.new
    if day == OUTAGE.start:
        site.outage(HOST_DOWN)
    elif day == OUTAGE.stop:
        site.end_outage(HOST_DOWN)
    return (set(edited) | changes.edited | changes.new) - changes.deleted


def _held(folder: Path) -> dict[str, bytes | None]:
    """The pages that a crawl has, with the digest of each."""
    with Database.open(folder / "crawl.db", read_only=True) as database:
        urls = b"\n".join(database.urls.blocks()).decode().split("\n")
        rows = {url: database.pages.row(page) for page, url in enumerate(urls)}
    return {url: row.digest for url, row in rows.items() if row is not None and row.state == PageState.FETCHED}


def _look(site: ChangingSite, folder: Path, pages: set[str], changed: set[str], days: Days) -> None:
    """Hold what is stored against what is there."""
    held = _held(folder)
    there = {url: digest(site.body_of(url)) for url in site.urls() if url in pages}
    is_right = {url for url, content in there.items() if held.get(url) == content}
    days.n_requests.append(site.traffic.n_requests)
    days.n_bytes.append(site.traffic.bytes_sent)
    days.found.append(len(changed & is_right) / max(len(changed), 1))
    days.up_to_date.append(len(is_right) / len(there))
    days.n_deleted_stored = len(set(held) - set(site.urls()))
    days.n_lost = len(set(there) - set(held))


def run(n_pages: int = N_PAGES, n_days: int = N_DAYS) -> str:
    kinds = ["from nothing", "ask for all", "refresh", "refresh, budget"]
    results = {kind: followed(kind, n_pages, n_days) for kind in kinds}
    all_requests, all_bytes = (sum(getattr(results["from nothing"], name)) for name in ("n_requests", "n_bytes"))
    rows = [
        [
            kind, f"{np.mean(days.n_requests):,.0f}", f"{sum(days.n_requests) / all_requests:.3f}",
            f"{sum(days.n_bytes) / all_bytes:.3f}", f"{np.mean(days.found):.3f}", f"{np.mean(days.up_to_date):.4f}",
            f"{days.n_deleted_stored}", f"{days.n_lost}", f"{np.mean(days.cpu_s):.2f}",
        ]
        for kind, days in results.items()
    ]  # fmt: skip
    headings = [
        "", "requests a day", "of from nothing", "bytes, of from nothing", "changes found", "up to date",
        "deleted, stored", "not stored", "CPU s a day",
    ]  # fmt: skip
    head = f"{n_pages:,} pages, {n_days} days. {machine('numpy', 'pycurl')}\n\n"
    return head + table(headings, rows) + "\nCPU time is of crawler and web together, in one process.\n"
