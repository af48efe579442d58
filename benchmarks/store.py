"""The state of a crawl: URL observations per CPU-second into interner and database, and how fast it all comes back.

Pages have 50 links, of which 80 % are known already; every 500 pages are committed (write-ahead log, synchronous=FULL).
An observation is one link of one page: looked up, numbered, stored if it is new, and added to the page's row. Then the
folder is opened again: all URLs go back into a new interner, all pages come back as arrays. The archive is measured on
pages of text and markup, and compared with the same records compressed by zlib.
"""

from __future__ import annotations

import random
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from orienteer.crawl.seen import SeenUrls
from orienteer.store import record
from orienteer.store.archive import Archive
from orienteer.store.database import Database
from orienteer.store.page_row import PageRow

LINKS_PER_PAGE = 50
NEW_PER_PAGE = 10
PAGES_PER_COMMIT = sized(500, 10)
N_HOSTS = 20_000
N_BODIES = sized(50, 2)  # different pages in the archive


def url(page: int) -> str:
    """About 60 bytes, as on the web."""
    return f"https://www.host-{page * 7919 % N_HOSTS}.example/section/{page % 97}/article-{page}.html"


def pages_of_links(rng: np.random.Generator, first_new: int) -> list[list[str]]:
    """The links of the pages of one commit. Known ones are mostly old: the web links to what it knows."""
    pages = []
    for _ in range(PAGES_PER_COMMIT):
        known = (first_new * rng.random(LINKS_PER_PAGE - NEW_PER_PAGE) ** 2).astype(int).tolist()
        pages.append([url(page) for page in (*known, *range(first_new, first_new + NEW_PER_PAGE))])
        first_new += NEW_PER_PAGE
    return pages


class Clock:
    """Adds up the CPU time of what is measured, part by part."""

    def __init__(self) -> None:
        self.cpu_s: dict[str, float] = {}
        self._since = time.process_time()

    def start(self) -> None:
        self._since = time.process_time()

    def lap(self, part: str) -> None:
        now = time.process_time()
        self.cpu_s[part] = self.cpu_s.get(part, 0.0) + now - self._since
        self._since = now


def crawl_and_reopen(n_urls: int) -> Callable[[], Any]:
    seen = SeenUrls(bytes(16))
    seen.number([url(0)])  # compile
    seen.number_lines(url(1).encode())
    return lambda: _crawl_and_reopen(n_urls)


def _crawl_and_reopen(n_urls: int) -> tuple[dict[str, float], dict[str, int]]:
    rng = np.random.default_rng(1)
    clock = Clock()
    seen = SeenUrls(bytes(16))
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
        path = Path(folder) / "crawl.db"
        with Database.create(path) as database:
            database.urls.add(0, [url(0)])
            seen.number([url(0)])
            order = rng.permutation(n_urls)  # pages are fetched in any order but that of their discovery
            while len(seen) < n_urls:
                pages = pages_of_links(rng, len(seen))
                _write_pages(seen, database, pages, order, rng.bytes(20 * PAGES_PER_COMMIT), clock)
            n_pages = database.history.next_position()
        size_bytes = path.stat().st_size
        with Database.open(path) as database:
            _read_all(database, len(seen), clock)
            counts = {"urls": len(seen), "pages": n_pages, "bytes": size_bytes}
    url_bytes = sum(len(url(page)) for page in range(0, n_urls, 100)) * 100
    return clock.cpu_s, counts | {"url bytes": url_bytes}


def _write_pages(
    seen: SeenUrls, database: Database, pages: list[list[str]], order: np.ndarray, digests: bytes, clock: Clock
) -> None:
    position = database.history.next_position()
    fetched = order[position : position + len(pages)].tolist()
    clock.start()
    for k, urls in enumerate(pages):
        first = len(seen)
        ids, new = seen.number(urls)
        clock.lap("interner")
        database.urls.add(first, [urls[j] for j in new.tolist()])
        row = PageRow(
            id=fetched[k], position=position + k, state=2, outcome="ok", status=200, time=1.7e9 + k,
            archive_file=0, archive_offset=10_000 * k, archive_bytes=10_000, digest=digests[20 * k : 20 * k + 20],
            size_bytes=40_000, content_type="text/html", language="en", title=f"The title of page {position + k}",
            depth=7, links=ids,
        )  # fmt: skip
        database.pages.add(row)
        clock.lap("database")
    database.commit()
    clock.lap("database")


def _read_all(database: Database, n_urls: int, clock: Clock) -> None:
    clock.start()
    blocks = list(database.urls.blocks())
    clock.lap("read URLs")
    again = SeenUrls(bytes(16))
    for block in blocks:
        again.number_lines(block)
    clock.lap("URLs into the interner")
    n_links = sum(len(done.links) for done in database.history.pages_after())
    clock.lap("read pages")
    assert len(again) == n_urls
    assert n_links == LINKS_PER_PAGE * database.history.next_position()
    clock.start()
    assert database.urls.find(url(n_urls - 1)) == n_urls - 1
    clock.lap("find one URL")
    database.pages.linking_to(n_urls - 1)
    clock.lap("find the pages that link to one")


def page_of_text(rng: random.Random) -> bytes:
    """About 30 kB of paragraphs, with links and words as frequent as in a language."""
    words = ["".join(random.Random(k).choices("etaoinshrdlu", k=2 + k % 7)) for k in range(4000)]
    weights = [1 / (k + 1) for k in range(4000)]
    paragraphs = (
        f'<p class="text">{" ".join(rng.choices(words, weights, k=60))} <a href="/page/{rng.randrange(10**6)}">'
        f"{' '.join(rng.choices(words, weights, k=4))}</a></p>\n"
        for _ in range(90)
    )
    return f"<html><body>\n{''.join(paragraphs)}</body></html>".encode()


def archive(compress: str, n_pages: int) -> Callable[[], Any]:
    if compress == "zlib":
        record.isal_zlib = zlib  # type: ignore[attr-defined]
        record._COMPRESSION_LEVEL = 6
    bodies = [page_of_text(random.Random(k)) for k in range(N_BODIES)]

    def run() -> tuple[int, int]:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: nginx\r\n\r\n"
        with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
            out = Archive(Path(folder))
            for k in range(n_pages):
                out.append(record.ArchivedResponse(url(k), 1.7e9, head, bodies[k % N_BODIES], "192.0.2.1", "http/1.1"))
            end = out.sync()
            out.close()
        return sum(map(len, bodies)) * n_pages // N_BODIES, end.size_bytes

    return run


def run(n_urls: int = sized(5_000_000, 200)) -> str:
    result = measured(crawl_and_reopen, n_urls, rounds=1)
    cpu_s, counts = result.result
    n_observations = counts["pages"] * LINKS_PER_PAGE
    both = cpu_s["interner"] + cpu_s["database"]
    writing = [
        [part, f"{seconds:.1f}", f"{n_observations / seconds:,.0f}", f"{1e6 * seconds / counts['pages']:.0f}"]
        for part, seconds in (("interner", cpu_s["interner"]), ("database", cpu_s["database"]), ("both", both))
    ]
    reading = [
        [part, f"{cpu_s[part]:.2f}", f"{counts[what] / cpu_s[part]:,.0f} {what}"]
        for part, what in (("read URLs", "urls"), ("URLs into the interner", "urls"), ("read pages", "pages"),
                           ("find one URL", "urls"), ("find the pages that link to one", "pages"))
    ]  # fmt: skip
    size = counts["bytes"]
    return "\n".join(
        [
            f"{counts['urls']:,} URLs, {counts['pages']:,} pages, {n_observations:,} observations. crawl.db is "
            f"{size / 1e6:,.0f} MB: {size / counts['urls']:.0f} bytes a URL, links and all; the URL itself is "
            f"{counts['url bytes'] / n_urls:.0f}. Memory: {result.peak_mib:,.0f} MiB. {machine('numpy', 'numba')}",
            "",
            table(["writing", "CPU s", "observations per CPU-s", "µs per page"], writing),
            table(["reading", "CPU s", "per CPU-s"], reading),
            _archive_table(),
        ]
    )


def _archive_table(n_pages: int = sized(2000, 50)) -> str:
    rows = []
    for compress in ("ISA-L", "zlib"):
        result = measured(archive, compress, n_pages)
        n_bytes, archived = result.result
        speed = n_bytes / result.cpu_s / 1e6
        rows.append([compress, f"{1e6 * result.cpu_s / n_pages:.0f}", f"{speed:.0f}", f"{archived / n_bytes:.3f}"])
    return table(["archive, compressed by", "CPU µs per page", "MB per CPU-s", "size of the archive / pages"], rows)
