"""A generated web with the structure of a real one: hosts, navigation, hubs, deep pages, dangling pages.

Pages of a host are contiguous, the first is its home page. Hosts have power-law sizes and popularities. A page links to

- the sections of its host (the navigation that a template puts on every page),
- links copied from the pages just before it (pages of one template have similar links),
- neighbours, popular pages of its host, and other hosts, mostly their home pages.

The last pages of a host are *deep*: only the page before each links to it, as in an archive with a "next" button.
About 4 % of the links go to another host, about 10 % of the pages have no links.

Invariant: each host draws from its own stream of random numbers, which depends only on the rng and the host, so the web
is the same however the work is divided among threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import ScratchFolder
from orienteer.graph.url_table import UrlTable
from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent

_CHUNK_PAGES = 500_000
_MAX_ROW = 500
_IN_MEMORY_BYTES = 1 << 31
_DEEP_SHARE = 0.1
_COPY_SHARE = 0.5


def cycle(n_pages: int) -> LinkGraph:
    """Each page links to the next, the last to the first: every rank is 1/n."""
    pages = np.arange(n_pages)
    return LinkGraph.from_links(n_pages, pages, (pages + 1) % max(n_pages, 1))


def chain(n_pages: int) -> LinkGraph:
    """Each page links to the next; the last one is dangling."""
    pages = np.arange(max(n_pages - 1, 0))
    return LinkGraph.from_links(n_pages, pages, pages + 1)


def star(n_leaves: int) -> LinkGraph:
    """Page 0 and its leaves link to each other: with uniform trust the hub has (1 + d·n) / ((1 + d)(n + 1))."""
    leaves = np.arange(1, n_leaves + 1)
    hub = np.zeros(n_leaves, np.int64)
    return LinkGraph.from_links(n_leaves + 1, np.concatenate((hub, leaves)), np.concatenate((leaves, hub)))


def clique(n_pages: int) -> LinkGraph:
    """Every page links to every other: every rank is 1/n."""
    pages = np.arange(n_pages)
    return LinkGraph.from_links(n_pages, np.repeat(pages, n_pages), np.tile(pages, n_pages))


def clique_and_cycle(n_clique: int, n_cycle: int) -> LinkGraph:
    """A clique whose page 0 links into a cycle that never links back: mass drains into the cycle."""
    first = clique(n_clique)
    second = cycle(n_cycle)
    sources = np.concatenate((first.sources(), second.sources().astype(np.int64) + n_clique, [0]))
    targets = np.concatenate((first.targets, second.targets.astype(np.int64) + n_clique, [n_clique]))
    return LinkGraph.from_links(n_clique + n_cycle, sources, targets)


def disconnected(n_pages: int) -> LinkGraph:
    """Pages without any link."""
    return LinkGraph.from_links(n_pages, [], [])


def synthetic_web(
    n_pages: int,
    mean_degree: float = 23.0,
    inter_host: float = 0.04,
    dangling: float = 0.1,
    rng: int | np.random.Generator = 0,
    with_urls: bool = False,
    progress: Progress = silent,
) -> LinkGraph:
    """Generate a web of `n_pages` pages; the same rng gives the same web.

    `mean_degree`, `inter_host` (share of links to another host) and `dangling` (share of pages without links) are met
    closely, not exactly. A web whose links exceed 2 GiB is mapped from a temporary file.
    """
    if not 1 <= n_pages < csr.MAX_PAGES:
        raise InputError(f"a generated web has from 1 to {csr.MAX_PAGES - 1:,} pages, not {n_pages}")
    if not 1 <= mean_degree <= _MAX_ROW / 4:
        raise InputError(f"mean_degree is {mean_degree}; it must be from 1 to {_MAX_ROW // 4}")
    if not 0 <= inter_host <= 1 or not 0 <= dangling <= 1:
        raise InputError("inter_host and dangling are shares: from 0 to 1")
    generator = np.random.default_rng(rng)
    starts = _host_starts(n_pages, generator)
    popular = generator.permutation(len(starts) - 1)
    stream = int(generator.integers(2**63))
    degrees = np.zeros(n_pages, np.int64)
    blocks = _link_blocks(starts, popular, stream, mean_degree, inter_host, dangling, degrees)
    resource, targets = _concatenated(blocks, int(n_pages * mean_degree * 4), n_pages, progress)
    offsets = np.zeros(n_pages + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    hosts = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    urls = _urls(starts) if with_urls else None
    return LinkGraph(offsets, targets, hosts, urls, resource=resource)


def _host_starts(n_pages: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw the first page of each host, followed by n_pages. Sizes are Pareto, at most 50,000 and 1/5 of the web."""
    largest = max(8, min(50_000, n_pages // 5))
    sizes: list[NDArray[np.int64]] = []
    total = 0
    while total < n_pages:
        drawn = np.minimum(8 * (1 - generator.random(10_000)) ** (-1 / 0.9), largest).astype(np.int64)
        sizes.append(drawn)
        total += int(drawn.sum())
    ends = np.cumsum(np.concatenate(sizes))
    starts = np.concatenate(([0], ends[: np.searchsorted(ends, n_pages)], [n_pages]))
    return starts.astype(np.int64)


def _link_blocks(
    starts: NDArray[np.int64],
    popular: NDArray[np.int64],
    stream: int,
    mean_degree: float,
    inter_host: float,
    dangling: float,
    degrees: NDArray[np.int64],
) -> Iterator[NDArray[np.uint32]]:
    """Yield the links of consecutive runs of hosts; two threads generate ahead."""

    def generated(first: int, last: int) -> NDArray[np.uint32]:
        pages = int(starts[last] - starts[first])
        room = int(pages * mean_degree * 1.5) + 4 * _MAX_ROW
        while True:  # a run of large rows may need more room: it is generated again, with the same result
            out = np.empty(room, np.uint32)
            used = _fill_hosts(starts, popular, first, last, stream, mean_degree, inter_host, dangling, out, degrees)
            if used >= 0:
                return out[:used].copy()
            room *= 2

    n_hosts = len(starts) - 1
    with ThreadPoolExecutor(2) as pool:
        waiting: deque[Future[NDArray[np.uint32]]] = deque()
        first = 0
        while first < n_hosts or waiting:
            if first < n_hosts and len(waiting) < 3:
                last = int(np.searchsorted(starts, starts[first] + _CHUNK_PAGES))
                last = min(max(last, first + 1), n_hosts)
                waiting.append(pool.submit(generated, first, last))
                first = last
            else:
                yield waiting.popleft().result()


def _concatenated(
    blocks: Iterator[NDArray[np.uint32]], expected_bytes: int, n_pages: int, progress: Progress
) -> tuple[ScratchFolder | None, NDArray[np.uint32]]:
    """Concatenate the blocks in memory, or in a file mapped from a temporary folder, which is returned first."""
    n_blocks = n_pages // _CHUNK_PAGES + 1
    in_memory: list[NDArray[np.uint32]] = []
    folder = ScratchFolder() if expected_bytes > _IN_MEMORY_BYTES else None
    for k, block in enumerate(blocks):
        if folder is None:
            in_memory.append(block)
        else:
            with (folder.path / "targets.bin").open("ab") as out:
                out.write(block.data)
        progress("generating pages", min((k + 1) * n_pages // n_blocks, n_pages), n_pages)
    if folder is None:
        return None, np.concatenate(in_memory)
    return folder, np.memmap(folder.path / "targets.bin", np.uint32, "c")


def _urls(starts: NDArray[np.int64]) -> UrlTable:
    urls = []
    for host in range(len(starts) - 1):
        urls.append(f"http://h{host}.example/")
        urls.extend(f"http://h{host}.example/p{k}.html" for k in range(1, int(starts[host + 1] - starts[host])))
    return UrlTable.of(urls)


@allocating_kernel
def _next(state: Any) -> Any:
    """Return the next number of a xorshift* stream, in [0, 1)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return ((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@allocating_kernel
def _zipf(state: Any, n: int) -> int:
    """Draw a number below n log-uniformly: k with a probability of about 1/k."""
    return min(n - 1, int(np.exp(np.log(n) * _next(state))) - 1)


@allocating_kernel
def _any_host(state: Any, starts: Any, popular: Any) -> Any:
    """Draw a page of any host; popular hosts and home pages are more likely."""
    host = popular[_zipf(state, len(popular))]
    size = starts[host + 1] - starts[host]
    if _next(state) < 0.6:
        return starts[host]
    return starts[host] + _zipf(state, size)


@allocating_kernel
def _same_host(state: Any, page: int, first: int, n_shallow: int) -> int:
    """Draw a shallow page of the same host: a neighbour of the page, or a popular page."""
    if _next(state) < 0.5:
        step = int(-np.log(1.0 - _next(state)) * 20) + 1
        if _next(state) < 0.5:
            step = -step
        return min(max(page + step, first), first + n_shallow - 1)
    return first + (_zipf(state, n_shallow) * 7919) % n_shallow


@allocating_kernel
def _put(row: Any, n: int, target: int, page: int) -> int:
    """Insert a target into a sorted row without repeats and self-links; return the new length."""
    if target == page or n == len(row):
        return n
    at = n
    while at > 0 and row[at - 1] > target:
        at -= 1
    if at > 0 and row[at - 1] == target:
        return n
    for k in range(n, at, -1):
        row[k] = row[k - 1]
    row[at] = target
    return n + 1


@allocating_kernel
def _fill_hosts(
    starts: Any,
    popular: Any,
    first_host: int,
    last_host: int,
    stream: int,
    mean_degree: float,
    inter_host: float,
    dangling: float,
    out: Any,
    degrees: Any,
) -> int:
    """Write the links of a run of hosts to `out`; return the number written, or -1 if there is no room."""
    state = np.empty(1, np.uint64)
    row = np.empty(_MAX_ROW, np.uint32)
    row_ends = np.zeros(9, np.int64)  # where the rows of the last pages end, newest first
    used = 0
    # A row loses about a fifth of its draws to repeats, and a lognormal's mean is exp(s²/2) above its median.
    median = mean_degree / max(1.0 - dangling, 0.01) * 1.12
    for host in range(first_host, last_host):
        first, last = starts[host], starts[host + 1]
        size = last - first
        n_shallow = size - int(size * _DEEP_SHARE) if size >= 20 else size
        state[0] = (np.uint64(stream) + np.uint64(host) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
        for _ in range(4):
            _next(state)
        n_sections = min(size, 2 + int(_next(state) * min(8.0, mean_degree / 3)))
        n_previous = 0
        for page in range(first, last):
            if used + _MAX_ROW > len(out):
                return -1
            n = 0
            if _next(state) >= dangling:
                normal = np.sqrt(-2 * np.log(1.0 - _next(state))) * np.cos(2 * np.pi * _next(state))
                degree = min(int(median * np.exp(0.8 * normal)) + 1, _MAX_ROW - 20)
                n = _fill_row(state, starts, popular, first, n_shallow, n_sections, page, degree, inter_host,
                              out, row_ends, n_previous, row)  # fmt: skip
            if page + 1 < last and page + 1 - first >= n_shallow:
                n = _put(row, n, page + 1, page)  # the only way to a deep page
            out[used : used + n] = row[:n]
            used += n
            degrees[page] = n
            n_previous = min(n_previous + 1, 8)
            for k in range(8, 0, -1):
                row_ends[k] = row_ends[k - 1]
            row_ends[0] = used
            if n_previous == 1:
                row_ends[1] = used - n
    return used


@allocating_kernel
def _fill_row(
    state: Any,
    starts: Any,
    popular: Any,
    first: int,
    n_shallow: int,
    n_sections: int,
    page: int,
    degree: int,
    inter_host: float,
    out: Any,
    row_ends: Any,
    n_previous: int,
    row: Any,
) -> int:
    """Draw the links of one page, sorted, into `row`; return their number, at most `degree` or a few more."""
    n = 0
    for k in range(n_sections):
        if _next(state) < 0.9:
            n = _put(row, n, first + k, page)
    template = int(_next(state) * n_previous)
    template_end = row_ends[template] if n_previous else 0
    template_size = template_end - row_ends[template + 1] if n_previous else 0
    for _ in range(degree - n):
        if template_size > 0 and _next(state) < _COPY_SHARE:
            target: Any = np.int64(out[template_end - 1 - int(_next(state) * template_size)])
            if target >= first + n_shallow and target < first + n_shallow * 2:
                continue  # "next" links do not belong to the template
        elif n_shallow < 3 or _next(state) < inter_host * 0.92:
            target = _any_host(state, starts, popular)
        else:
            target = _same_host(state, page, first, n_shallow)
        n = _put(row, n, target, page)
    return n
