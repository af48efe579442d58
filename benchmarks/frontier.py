"""The frontier of a live crawl: URLs seen per CPU-second, and the cost of a page's turn with few and with many hosts.

URLs arrive 50 at a time, four in five of them seen before. A turn is what follows a fetch: the host is released, ten
priorities change, and the next page is taken; the clock goes on so that most hosts are ready. Were a turn's cost
proportional to the hosts, a hundred times as many would make it a hundred times as long. Not counted: making the URLs,
filling the frontier, and as many turns before. Bytes are those by which the process grew.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from orienteer.crawl.frontier import Frontier
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.seen import SeenUrls
from orienteer.graph.growing_graph import PageHosts

N_URLS, PER_CALL, N_OBSERVED = sized(5_000_000, 5_000), 50, sized(1_000_000, 1_000)
N_PAGES, N_TURNS, N_CHANGES = sized(2_000_000, 5_000), sized(200_000, 200), 10


def resident_bytes() -> int:
    """What the process holds, without the freed memory that the allocator keeps for later."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def url(number: int) -> str:
    return f"https://www.site-{number % 50_021}.example.org/section/{number % 97}/page-{number}.html"


def lines(first: int, end: int, size: int = 10_000) -> Iterator[bytes]:
    for start in range(first, end, size):
        yield "\n".join(url(number) for number in range(start, min(start + size, end))).encode()


def seen_urls() -> Callable[[], Any]:
    """The last stretch on the way to `N_URLS` URLs."""
    for text in lines(0, 5000):
        SeenUrls(bytes(16)).number_lines(text)  # compiles
    seen, n_new = SeenUrls(bytes(16)), N_OBSERVED // 5
    before = resident_bytes()
    for text in lines(0, N_URLS - n_new):
        seen.number_lines(text)
    bytes_per_url = (resident_bytes() - before) / len(seen)
    rng = np.random.default_rng(1)
    repeats = rng.integers(0, len(seen), N_OBSERVED - n_new)
    numbers = rng.permutation(np.concatenate((repeats, np.arange(len(seen), N_URLS)))).tolist()
    calls = [[url(number) for number in numbers[k : k + PER_CALL]] for k in range(0, N_OBSERVED, PER_CALL)]

    def run() -> tuple[int, float]:
        for urls in calls:
            seen.number(urls)
        assert len(seen) == N_URLS
        return N_OBSERVED, bytes_per_url

    return run


def filled(pages: NDArray[np.uint32], priorities: NDArray[np.float64], hosts: NDArray[np.int32]) -> Frontier:
    page_hosts = PageHosts()
    page_hosts.grow_to(len(pages))
    page_hosts.set(pages, hosts)
    frontier = Frontier(Politeness(delay_s=1.0), page_hosts)
    for start in range(0, len(pages), 1000):
        part = slice(start, start + 1000)
        frontier.follow(pages[:0], pages[part], np.zeros(len(pages), np.uint8))
        frontier.put(pages[part], priorities[part])
    return frontier


def slots(n_hosts: int) -> Callable[[], Any]:
    rng = np.random.default_rng(1)
    hosts = rng.integers(0, n_hosts, N_PAGES).astype(np.int32)
    pages = np.arange(N_PAGES, dtype=np.uint32)
    priorities = rng.random(N_PAGES)
    changed = rng.integers(0, N_PAGES, (2 * N_TURNS, N_CHANGES)).astype(np.uint32)
    values = rng.random(changed.shape)
    filled(pages[:5000], priorities[:5000], hosts[:5000]).take(0.0)  # compiles
    before = resident_bytes()
    frontier = filled(pages, priorities, hosts)
    bytes_per_page = (resident_bytes() - before) / N_PAGES

    def take_turns(first: int, end: int) -> None:
        for k in range(first, end):
            now = 2.0 * k / n_hosts  # each host is asked about once in two seconds
            taken = frontier.take(now)
            assert taken is not None
            frontier.release(int(hosts[taken[0]]), now)
            frontier.put(changed[k], values[k])

    take_turns(0, N_TURNS)

    def run() -> tuple[int, float]:
        take_turns(N_TURNS, 2 * N_TURNS)
        return N_TURNS, bytes_per_page

    return run


def run() -> str:
    seen = measured(seen_urls, rounds=1)
    n_observed, bytes_per_url = seen.result
    rows = [[f"{n_hosts:,}", f"{1e6 * result.cpu_s / result.result[0]:.1f}", f"{result.result[1]:.1f}"]
            for n_hosts in sized((1_000, 10_000, 100_000), (10, 100))
            for result in [measured(slots, n_hosts, rounds=1)]]  # fmt: skip
    return (
        f"{N_URLS:,} URLs: {n_observed / seen.cpu_s / 1e6:.2f} million observations per CPU-second, "
        f"{bytes_per_url:.1f} bytes per URL. {machine('numpy', 'numba')}\n\n"
        f"{N_PAGES:,} pages in the frontier:\n\n"
        + table(["hosts", f"us per take + release + put of {N_CHANGES}", "bytes per page"], rows)
    )  # fmt: skip


if __name__ == "__main__":
    print(run())
