"""The memory of a crawl whose pages are as large as they may be.

64 pages (16 of the last kind) are served on loopback by another process, all linked from the first. A page of *text* is
10 MB of words, the most that is taken from the wire; one that is *packed* is 30 MB of them behind gzip, the most that
is unpacked; one of *tags* is 30 MB of headings, links and image texts, packed as well, which costs a reader the most.
32 are asked for at once. Peak memory is that of the crawling process; *small* is what a crawl takes anyway.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import RequestHeaders, Site

N_PAGES = sized(64, 2)
N_PAGES_OF_TAGS = sized(16, 1)  # each takes seconds to read
N_HOSTS = 16
KINDS = ("small", "text", "packed", "tags")
_WIRE_BYTES, _UNPACKED_BYTES = sized((10_000_000, 30_000_000), (10_000, 30_000))


class MaximalSite(Site):
    """Pages of a kind; the home page of host 0 links to all of them."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt" or "sitemap" in target:
            return FakeResponse(status=404)
        if target == "/":
            n_pages = N_PAGES_OF_TAGS if self._kind == "tags" else N_PAGES
            return FakeResponse("".join(f"<a href={url(page)}>{page}</a>" for page in range(n_pages)))
        body = _body(self._kind)
        if self._kind in ("packed", "tags"):
            return FakeResponse(body, headers=(("Content-Encoding", "gzip"),))
        return FakeResponse(body)


def url(page: int) -> str:
    return f"http://host-{page % N_HOSTS}.test/{page}"


@cache
def _body(kind: str) -> bytes:
    if kind == "small":
        return b"<p>some words"
    if kind == "tags":
        html = "".join(f"<h2>ab<a href=/x{k}>cd<img alt='ef gh'>" for k in range(_UNPACKED_BYTES // 45))
        return gzip.compress(html[:_UNPACKED_BYTES].encode())
    words = b"words of a page that goes on and on, caf\xc3\xa9 "
    size = _WIRE_BYTES if kind == "text" else _UNPACKED_BYTES
    html = b"<p>" + words * (size // len(words) - 1)
    return gzip.compress(html) if kind == "packed" else html


def crawled(kind: str, address: str, place: Path) -> Callable[[], int]:
    from orienteer.live.session import live_crawl

    settings = {
        "politeness": {"delay_s": 0.0, "connections": 16},
        "fetch": {"connect_to": address, "allow_private": True},
    }

    def run() -> int:
        return live_crawl(
            "http://host-0.test/", place, scope="web", settings=settings, budget=N_PAGES + 1
        ).figures.n_fetched

    return run


def run(*kinds: str) -> str:
    rows = []
    for kind in kinds or KINDS:
        with (
            tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name,
            FakeWebProcess(MaximalSite, kind) as web,
        ):
            result = measured(crawled, kind, web.address, Path(name) / "crawl", rounds=1)
        rows.append(
            [kind, f"{result.result}", f"{result.peak_mib:,.0f}", f"{result.cpu_s:.1f}", f"{result.wall_s:.1f}"]
        )
    return f"{machine('numpy', 'numba')}\n\n{table(['pages', 'fetched', 'peak MiB', 'CPU s', 'wall s'], rows)}"


if __name__ == "__main__":
    print(run(*sys.argv[1:]))
