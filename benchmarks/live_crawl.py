"""Live crawls: pages per CPU-second of Orienteer, Scrapy and Crawlee on the same webs, served on loopback.

All do the same work: fetch every page on the hosts of the seeds, parse it, take its links, make their URLs canonical
(each in its own way), fetch each URL once, and write every answer into a WARC file; robots.txt is not asked for.
There are 32 connections at once, 16 to a host. A queue "on disk" outlives the process; Orienteer's always does, and
every second what was fetched is made durable.

The peers are tuned (see `benchmarks/crawlers`): whatever the task does not need is off, and they get our WARC writer
and the quickest way to take links that we found. `aiohttp` is Scrapy with an HTTP client that it calls experimental;
`LinkExtractor` is Scrapy as its documentation has it, under the same settings. The last row is Orienteer with all that
it does by default: the words of each page, duplicates and near-duplicates, robots.txt and sitemaps.

The web is served by another process, and no crawler starts one, so CPU time is that of the crawler alone. All hosts are
at one port: Orienteer connects there whatever the host (`connect_to`); the peers take it for a proxy, which costs
Scrapy no more than a web at port 80 would. What was fetched is counted in the archives that the crawlers wrote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.crawlers import orienteer_crawler, scrapy_crawler
from benchmarks.crawlers.scrapy_crawler import AIOHTTP, TWISTED, ExtractorSpider, QuickSpider
from benchmarks.crawlers.task import Archived, Task, archived
from benchmarks.measure import Measurement, NotInstalledError, machine, measured, table
from benchmarks.sizes import DATA, IS_TINY, sized
from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.page_site import PageSite
from tests.fake_web.process import FakeWebProcess

DOCUMENTATION = DATA / "dev-docs-web.tar.zst"
OURS = "Orienteer, the same work"


def _crawlee(task: Task) -> Callable[[], float]:
    """Imported late: it may not be installed."""
    from benchmarks.crawlers import crawlee_crawler

    return crawlee_crawler.prepare(task)


CONTENDERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    OURS: (orienteer_crawler.prepare, (orienteer_crawler.SAME_WORK,)),
    "Scrapy, on disk": (scrapy_crawler.prepare, (QuickSpider, TWISTED, True)),
    "Scrapy, in memory": (scrapy_crawler.prepare, (QuickSpider, TWISTED, False)),
    "Scrapy, on disk, aiohttp": (scrapy_crawler.prepare, (QuickSpider, AIOHTTP, True)),
    "Scrapy, on disk, LinkExtractor": (scrapy_crawler.prepare, (ExtractorSpider, TWISTED, True)),
    "Crawlee, in memory": (_crawlee, ()),
    "Orienteer, all by default": (orienteer_crawler.prepare, (orienteer_crawler.DEFAULTS,)),
}
MAX_DIFFERENCE = 0.01  # the share of pages that may be fetched by a crawler and not by the others


@dataclass(frozen=True)
class Crawled:
    measurement: Measurement
    archived: Archived


def documentation_site() -> PageSite:
    return PageSite(DOCUMENTATION)


def generated_site(n_pages: int) -> GraphSite:
    return GraphSite(synthetic_web(n_pages), page_bytes=15_000, relative=True, cache_bytes=1 << 30)


def run(n_pages: int = sized(5000, 30), rounds: int = 1) -> str:
    text = machine("scrapy", "twisted", "aiohttp", "crawlee", "impit", "lxml", "pycurl") + "\n\n"
    if IS_TINY:
        text += "The pages of documentation are those of the benchmark `workers`.\n\n"
    elif DOCUMENTATION.exists():
        text += _section("36 documentation hosts, real pages", documentation_site, (), rounds)
    else:
        text += f"The real pages are not here: {DOCUMENTATION.name}\n\n"
    return text + _section("A generated web, pages of 15 kB", generated_site, (n_pages,), rounds)


def _section(title: str, site: Callable[..., PageSite | GraphSite], arguments: tuple[Any, ...], rounds: int) -> str:
    seeds = tuple(f"http://{host}/" for host in site(*arguments).hosts)
    best: dict[str, Crawled] = {}
    with FakeWebProcess(site, *arguments) as web:
        for _ in range(rounds):
            for label in CONTENDERS:
                try:
                    crawled = _crawled(label, seeds, web.address)
                except NotInstalledError:
                    continue
                if label not in best or crawled.measurement.cpu_s < best[label].measurement.cpu_s:
                    best[label] = crawled
    return f"**{title}**\n\n{_comparison(best)}\n\n{_table(best)}\n"


def _crawled(label: str, seeds: tuple[str, ...], address: str) -> Crawled:
    prepare, arguments = CONTENDERS[label]
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name:
        folder = Path(name)
        measurement = measured(prepare, Task(seeds, address, folder), *arguments, rounds=1)
        return Crawled(measurement, archived(folder))


def _comparison(crawls: dict[str, Crawled]) -> str:
    """Whether all fetched the same pages; an error where they did not."""
    everywhere = frozenset.intersection(*(crawled.archived.pages for crawled in crawls.values()))
    more = {label: len(crawled.archived.pages) - len(everywhere) for label, crawled in crawls.items()}
    for label, n_more in more.items():
        if n_more > MAX_DIFFERENCE * len(everywhere):
            raise RuntimeError(f"{label} fetched {n_more:,} pages more than the {len(everywhere):,} of all crawlers")
    differing = "; ".join(f"{label} {n_more:,} more" for label, n_more in more.items() if n_more)
    return f"{len(everywhere):,} pages were fetched by all of them" + (f" ({differing})." if differing else ".")


def _table(crawls: dict[str, Crawled]) -> str:
    ours = _pages_per_cpu_s(crawls[OURS])
    rows = []
    for label, crawled in crawls.items():
        measurement, speed = crawled.measurement, _pages_per_cpu_s(crawled)
        rows.append([label, f"{len(crawled.archived.pages):,}", f"{crawled.archived.n_answers:,}",
                     f"{measurement.cpu_s:.1f}", f"{speed:,.0f}", f"{ours / speed:.2f}", f"{measurement.wall_s:.1f}",
                     f"{measurement.result:,.0f}"])  # fmt: skip
    headings = [
        "",
        "pages",
        "answers",
        "CPU s",
        "pages per CPU-s",
        "Orienteer is ... times as fast",
        "wall s",
        "peak MiB",
    ]
    return table(headings, rows)


def _pages_per_cpu_s(crawled: Crawled) -> float:
    return len(crawled.archived.pages) / crawled.measurement.cpu_s
