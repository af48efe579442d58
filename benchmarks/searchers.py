"""Two hundred people search in the browser's pages while the crawl goes on.

The crawl is of 36 documentation hosts on loopback, a request a second to each, and is indexed as it runs. `orienteer
serve` shows it. Each of the 200 looks at what was found for 2 to 8 s, then searches again, by words of the pages: 40
searches a second, as whole pages with facets. Crawl, indexing, server, the web and the people share the machine.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import DATA, IS_TINY, sized
from orienteer.errors import CrawlFolderError
from orienteer.search.search_index import SearchIndex
from tests.fake_web.page_site import PageSite
from tests.fake_web.process import FakeWebProcess

DOCUMENTATION = DATA / "dev-docs-web.tar.zst"
LEAST_PAGES = sized(200, 1)  # in the index, before people search
N_PEOPLE = sized(200, 2)
READING_S = sized((2.0, 8.0), (0.01, 0.1))
MEASURED_S = sized(60.0, 0.3)
WORDS = (
    "install", "list of functions", "string format", "thread", "time zone", "regular expression", "unicode",
    "how to build", "error handling", "database connection", "template", "configuration file", "class", "test",
    "xml parser", "http request", "module index", "options", "environment variable", "security", "lisence",
)  # fmt: skip


def run() -> str:
    orienteer = [sys.executable, "-m", "orienteer"]
    with tempfile.TemporaryDirectory() as scratch, FakeWebProcess(PageSite, DOCUMENTATION) as web:
        folder = Path(scratch) / "crawl"
        seeds = [f"http://{host}/" for host in PageSite(DOCUMENTATION).hosts]
        options = ["--budget", "100000", "--until", "none", "--index", "--render", "never", "--quiet"]
        reach = ["--connect-to", web.address, "--allow-private"]
        crawl = subprocess.Popen([*orienteer, "crawl", *seeds, "-o", str(folder), *options, *reach])
        server = None
        try:
            _wait_for_index(folder)
            server = subprocess.Popen(
                [*orienteer, "serve", str(folder), "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
            )
            assert server.stdout is not None
            output = server.stdout.readline()
            while not output.rstrip().endswith("}"):
                output += server.stdout.readline()
            took, failed = _searched(json.loads(output)["port"])
            assert IS_TINY or crawl.poll() is None, "the crawl ended too early"
            n_pages = _n_pages(folder)
        finally:
            for process in (server, crawl):
                if process is not None:
                    process.terminate()
                    process.wait()
    quantiles = [f"{1000 * np.quantile(took, share):.0f}" for share in (0.5, 0.95, 0.99)]
    row = [f"{N_PEOPLE} people", f"{len(took):,}", f"{len(took) / MEASURED_S:.0f}", *quantiles, f"{failed:,}"]
    heads = ["", "searches", "a second", "wall ms p50", "p95", "p99", "failed"]
    return f"{machine('tantivy', 'uvicorn')}\n\n{n_pages:,} pages were searched in at the end.\n\n{table(heads, [row])}"


def _wait_for_index(folder: Path) -> None:
    for _ in range(600):
        if _n_pages(folder) >= LEAST_PAGES:
            return
        time.sleep(0.5)
    raise RuntimeError("no index came")


def _n_pages(folder: Path) -> int:
    try:
        with SearchIndex.open(folder) as index:
            return index.n_pages
    except CrawlFolderError:
        return 0


def _searched(port: int) -> tuple[list[float], int]:
    """How long searches took, and how many failed; by a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result: tuple[list[float], int] = pool.apply(_people, (port,))
        return result


def _people(port: int) -> tuple[list[float], int]:
    return asyncio.run(_all_search(port))


async def _all_search(port: int) -> tuple[list[float], int]:
    took: list[float] = []
    failures: list[Any] = []
    await _ask(port, "install", [], failures)  # the first one loads the index
    end = time.monotonic() + MEASURED_S
    await asyncio.gather(*(_person(number, port, end, took, failures) for number in range(N_PEOPLE)))
    return took, len(failures)


async def _person(number: int, port: int, end: float, took: list[float], failures: list[Any]) -> None:
    rng = random.Random(number)
    await asyncio.sleep(rng.uniform(0, READING_S[1]))
    while time.monotonic() < end:
        await _ask(port, " ".join(rng.sample(WORDS, rng.choice((1, 1, 2)))), took, failures)
        await asyncio.sleep(rng.uniform(*READING_S))


async def _ask(port: int, words: str, took: list[float], failures: list[Any]) -> None:
    began = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = (f"GET /?q={quote_plus(words)} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", "", "")
        writer.write("\r\n".join(lines).encode())
        answer = await reader.read()
        writer.close()
    except OSError as error:
        failures.append(error)
        return
    took.append(time.perf_counter() - began)
    if not answer.startswith(b"HTTP/1.1 200"):
        failures.append(answer[:200])
