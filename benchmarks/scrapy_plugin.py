"""An unchanged Scrapy project with one line of settings more: in which order, at what cost, and what survives.

The project is a CrawlSpider with a LinkExtractor (`benchmarks/crawlers/scrapy_project.py`) over the 36 documentation
hosts, served on loopback; 16 requests at once, 8 to a host, no delays. The line is
`ADDONS = {"orienteer.scrapy.Addon": 500}`.

*Until 0.90* is how many answers came until the pages fetched had 90 % of the rank: PageRank from the start pages in the
graph of the spider's requests, as it is known after the whole crawl; who would go to a redirect goes to its target.
*Breadth-first* is Scrapy with the three settings that its documentation gives for that.

CPU is that of the spider's process without its start, which has its own column; two run at a time, each with its like.
*On disk* means that the requests outlive the process: JOBDIR, or ORIENTEER_DIR.

Killed: `kill -9` each time so many items have come, and the same command again, until it comes to its end by itself.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import orienteer as ori
from benchmarks.crawlers.scrapy_project import Ran
from benchmarks.live_crawl import DOCUMENTATION, documentation_site
from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from tests.fake_web.process import FakeWebProcess

ONE_LINE = {"ADDONS": {"orienteer.scrapy.Addon": 500}}
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
SHARES = (0.90, 0.98)
N_KILLS = sized(5, 0)
ITEMS_PER_KILL = sized(900, 3)


@dataclass
class Project:
    """The project with some settings; "FOLDER" in them is a folder of its own."""

    label: str
    settings: Mapping[str, Any]
    folder: Path = field(default_factory=Path)

    def begin(self, folder: Path, address: str, start_urls: list[str]) -> subprocess.Popen[bytes]:
        self.folder = folder / self.label.replace(" ", "-")
        self.folder.mkdir(exist_ok=True)
        state = str(self.folder / "state")
        own = {name: state if value == "FOLDER" else value for name, value in self.settings.items()}
        task = self.folder / "task.json"
        task.write_text(json.dumps({"settings": own, "start_urls": start_urls}))
        proxy = f"http://{address}"
        environment = os.environ | {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""}
        command = [sys.executable, "-m", "benchmarks.crawlers.scrapy_project", str(task)]
        return subprocess.Popen(command, env=environment)

    def items(self) -> list[str]:
        path = self.folder / "items"
        return path.read_text().splitlines() if path.exists() else []

    def ran(self) -> Ran:
        return Ran(**json.loads((self.folder / "ran.json").read_text()))


SCRAPY = Project("Scrapy in memory", {})
SCRAPY_ON_DISK = Project("Scrapy on disk", {"JOBDIR": "FOLDER"})
BREADTH = Project("Scrapy breadth-first", BREADTH_FIRST)
OURS = Project("with Orienteer in memory", ONE_LINE)
OURS_ON_DISK = Project("with Orienteer on disk", ONE_LINE | {"ORIENTEER_DIR": "FOLDER"})
UNTIL = Project("with Orienteer until 0.98", ONE_LINE | {"CLOSESPIDER_COVERAGE": 0.98})
KILLED = Project("with Orienteer killed", ONE_LINE | {"ORIENTEER_DIR": "FOLDER"})
SCRAPY_KILLED = Project("Scrapy killed", {"JOBDIR": "FOLDER"})
WHOLE = (SCRAPY, SCRAPY_ON_DISK, BREADTH, OURS, OURS_ON_DISK)


def run() -> str:
    text = machine("scrapy", "twisted", "lxml") + "\n\n"
    if not DOCUMENTATION.exists():
        return text + f"The real pages are not here: {DOCUMENTATION.name}\n"
    start_urls = [f"http://{host}/" for host in documentation_site().hosts]
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name, ThreadPoolExecutor(2) as pool:
        with FakeWebProcess(documentation_site) as web:
            for pair in ((SCRAPY, OURS), (SCRAPY_ON_DISK, OURS_ON_DISK), (BREADTH, UNTIL)):
                list(pool.map(lambda project: project.begin(Path(name), web.address, start_urls).wait(), pair))
                print(f"  {pair[0].label}, {pair[1].label}: done", flush=True)
            kills = list(pool.map(lambda p: _killed(p, Path(name), web.address, start_urls), (SCRAPY_KILLED, KILLED)))
        return text + _orders() + "\n" + _costs() + "\n" + _kills(kills)


def _killed(project: Project, folder: Path, address: str, start_urls: list[str]) -> int:
    """Run it until it ends by itself; how often it was killed before."""
    n_kills = 0
    while True:
        process = project.begin(folder, address, start_urls)
        n_goal = len(project.items()) + ITEMS_PER_KILL
        while process.poll() is None:
            time.sleep(0.05)
            if n_kills < N_KILLS and len(project.items()) >= n_goal:
                process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            return n_kills
        n_kills += 1


def _orders() -> str:
    rank = _rank_by_url(OURS_ON_DISK.folder / "state" / "requests.db")
    rows = []
    for project in (*WHOLE, UNTIL):
        order = project.ran().order
        gained = _gained(order, rank)
        until = [int(np.searchsorted(gained, share)) + 1 if gained[-1] >= share else 0 for share in SHARES]
        rows.append([project.label, *(f"{n:,}" if n else "—" for n in until), f"{len(order):,}", f"{gained[-1]:.4f}"])
    stats, why = UNTIL.ran().stats, UNTIL.ran().reason
    proved = f"at least {stats['orienteer/coverage_lower']:.4f}, at most {stats['orienteer/coverage_upper']:.4f}"
    headings = ["answers", *(f"until {share:.2f}" for share in SHARES), "in all", "rank in the end"]
    return table(headings, rows) + f"\nThe last one was closed for `{why}`, with {proved} proved.\n"


def _rank_by_url(path: Path) -> dict[str, float]:
    """The PageRank of the page at each URL, from the start requests, by a complete crawl."""
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    pages = database.execute("SELECT url, start FROM page ORDER BY id").fetchall()
    done = database.execute("SELECT page, redirect_to, links FROM done").fetchall()
    database.close()
    redirects = {page: target for page, target, _ in done if target is not None}
    ends = np.arange(len(pages))
    for page in redirects:
        end = page
        while end in redirects:
            end = redirects[end]
        ends[page] = end
    links = [(page, np.frombuffer(blob, "<u4")) for page, target, blob in done if target is None]
    sources = np.repeat([page for page, _ in links], [len(targets) for _, targets in links])
    graph = ori.LinkGraph.from_links(len(pages), sources, ends[np.concatenate([targets for _, targets in links])])
    trust = np.bincount(ends[[k for k, (_, start) in enumerate(pages) if start]], minlength=len(pages))
    rank = ori.pagerank(graph, trust / trust.sum(), tolerance=1e-9)
    by_url: dict[str, float] = {}
    for (url, _), value in zip(pages, rank.tolist(), strict=True):
        by_url[url.partition("#")[0]] = by_url.get(url.partition("#")[0], 0.0) + value  # answers have no fragment
    return by_url


def _gained(order: list[str], rank: Mapping[str, float]) -> np.ndarray:
    """The rank of what was fetched, after each answer."""
    seen: set[str] = set()
    values = []
    for url in order:
        values.append(0.0 if url in seen else rank.get(url, 0.0))
        seen.add(url)
    return np.cumsum(values)


def _costs() -> str:
    rows = []
    for project in WHOLE:
        ran = project.ran()
        ms = 1000 * ran.cpu_s / len(ran.order)
        like = SCRAPY_ON_DISK if "on disk" in project.label else SCRAPY
        more_ms = ms - 1000 * like.ran().cpu_s / len(like.ran().order)
        rows.append([project.label, f"{len(set(project.items())):,}", f"{ran.cpu_s:.1f}", f"{ms:.2f}",
                     f"{more_ms:+.2f}", f"{ran.start_cpu_s:.1f}", f"{ran.wall_s:.0f}"])  # fmt: skip
    headings = ["cost", "pages", "CPU s", "CPU ms an answer", "more than Scrapy's like", "CPU s to start", "wall s"]
    return table(headings, rows)


def _kills(kills: list[int]) -> str:
    expected = set(OURS_ON_DISK.items())
    rows = []
    for project, n_kills in zip((SCRAPY_KILLED, KILLED), kills, strict=True):
        items = project.items()
        lost, other = expected - set(items), set(items) - expected
        counts = [n_kills, len(set(items)), len(lost), len(other), len(items) - len(set(items))]
        rows.append([project.label, *(f"{count:,}" for count in counts)])
    headings = ["killed", "kills", "pages in the end", "missing", "others", "items that came twice"]
    return table(headings, rows)
