"""Priorities that a page passes on once, when it is fetched: Fractional PageRank, OPIC, in-link counts.

    fetch the unfetched page with the largest priority f;  add a share to the priority of each unfetched target

    fractional   d f / N; with an inter-host weight M: d M f / (N_intra + M N_inter) across hosts, d f / (...) within
    opic         the same with d = 1
    in-links     1

N counts all distinct links of the page, including those to fetched pages, whose shares are dropped. Fetched pages are
never revisited: each link is read once.

`spread_best_first` simulates a whole crawl in one loop; `spread_row` is one step of it, for a real crawl. Invariant:
both add the shares of `_shares` in the same order, so their priorities are equal to the bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.priority_queue import LACKS_ROOM, best, drop_best, lacks_room, raise_priority
from orienteer.kernel import inlined, kernel

FETCHED = -1.0  # the priority of a page that has been fetched
TINY = 1e-300  # the least share: 0 would mean that the page is unknown


class SpreadRule(NamedTuple):
    """The shares that a fetched page passes on: `damping` of its priority, or, if not 0, `constant` to each target."""

    damping: float
    inter_host_weight: float
    constant: float


@inlined
def _leaves_host(target: Any, host: Any, first: Any, last: Any, hosts: Any) -> Any:
    """Return whether a target is on another host. If hosts are contiguous, first and last bound the page's own."""
    if last >= 0:
        return target < first or target >= last
    return hosts[target] != host


@kernel
def _shares(
    page: Any, start: int, end: int, targets: Any, hosts: Any, host_starts: Any, rule: Any, amount: float
) -> Any:
    """Return the share of a target on the same host and on another host, the host, its first page, its end or -1."""
    if rule.constant > 0.0:
        return rule.constant, rule.constant, 0, 0, 0
    if rule.inter_host_weight == 1.0 or len(hosts) == 0:
        share = max(rule.damping * amount / (end - start), TINY)
        return share, share, 0, 0, 0
    host = np.int64(hosts[page])
    first, last = np.int64(0), np.int64(-1)
    if len(host_starts) > 0:
        first, last = host_starts[host], host_starts[host + 1]
    n_inter = 0
    for k in range(start, end):
        if _leaves_host(targets[k], host, first, last, hosts):
            n_inter += 1
    share = max(rule.damping * amount / ((end - start - n_inter) + rule.inter_host_weight * n_inter), TINY)
    return share, share * rule.inter_host_weight, host, first, last


@kernel
def enter(pages: Any, amounts: Any, pool: Any, heap: Any, priority: Any, bits: Any) -> None:
    """Add pages to the queue; there must be room for all."""
    for k in range(len(pages)):
        page = pages[k]
        old = bits[page]
        priority[page] = amounts[k]
        raise_priority(pool, heap, page, old, bits[page], amounts[k])


@kernel
def spread_best_first(
    starts: Any,
    ends: Any,
    targets: Any,
    hosts: Any,
    host_starts: Any,
    priority: Any,
    bits: Any,
    pool: Any,
    heap: Any,
    rule: Any,
    order: Any,
    n_fetched: int,
    limit: int,
) -> Any:
    """Fetch up to `limit` pages, best first, into `order`; return their number, and 0, NONE or LACKS_ROOM."""
    while n_fetched < limit:
        page = best(pool, heap, priority, bits)
        if page < 0:
            return n_fetched, page
        start, end = starts[page], ends[page]
        if lacks_room(pool, heap, end - start):
            return n_fetched, np.int64(LACKS_ROOM)
        drop_best(pool, heap)
        amount = priority[page]
        priority[page] = FETCHED
        order[n_fetched] = page
        n_fetched += 1
        if end == start:
            continue
        inside, across, host, first, last = _shares(page, start, end, targets, hosts, host_starts, rule, amount)
        for k in range(start, end):
            target = targets[k]
            old = priority[target]
            if old >= 0.0:
                share = inside
                if inside != across and _leaves_host(target, host, first, last, hosts):
                    share = across
                old_bits = bits[target]
                priority[target] = old + share
                raise_priority(pool, heap, target, old_bits, bits[target], old + share)
    return n_fetched, np.int64(0)


@kernel
def spread_row(
    page: int, links: Any, hosts: Any, host_starts: Any, rule: Any, priority: Any, touched: Any
) -> Any:  # fmt: skip
    """Update the priorities after one real fetch, list the targets touched and return their number."""
    amount = priority[page]
    priority[page] = FETCHED
    n_touched = 0
    if len(links) == 0 or amount <= 0.0:
        return n_touched
    inside, across, host, first, last = _shares(page, 0, len(links), links, hosts, host_starts, rule, amount)
    for k in range(len(links)):
        target = links[k]
        if priority[target] >= 0.0:
            share = inside
            if inside != across and _leaves_host(target, host, first, last, hosts):
                share = across
            priority[target] += share
            touched[n_touched] = target
            n_touched += 1
    return n_touched


def contiguous_host_starts(hosts: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """Return the first page of each host, and the number of pages, if every host's pages are contiguous; else empty."""
    if hosts is None or len(hosts) == 0 or (np.diff(hosts) < 0).any():
        return np.empty(0, np.int64)
    return np.searchsorted(hosts, np.arange(int(hosts[-1]) + 2)).astype(np.int64)


def drawn(pages: NDArray[np.uint64], rng: np.uint64) -> NDArray[np.float64]:
    """Return a random number in (0, 1) for each page that depends only on its id and the rng (splitmix64)."""
    with np.errstate(over="ignore"):
        x = (pages + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + rng * np.uint64(0xD1B54A32D192ED03)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54


@kernel
def draw_best_first(
    offsets: Any, targets: Any, draws: Any, priority: Any, bits: Any, pool: Any, heap: Any, order: Any, n_fetched: int,
    limit: int,
) -> Any:  # fmt: skip
    """Crawl like `spread_best_first`, with priorities that are drawn when a page becomes known and never change."""
    while n_fetched < limit:
        page = best(pool, heap, priority, bits)
        if page < 0:
            return n_fetched, page
        start, end = offsets[page], offsets[page + 1]
        if lacks_room(pool, heap, end - start):
            return n_fetched, np.int64(LACKS_ROOM)
        drop_best(pool, heap)
        priority[page] = FETCHED
        order[n_fetched] = page
        n_fetched += 1
        for k in range(start, end):
            target = targets[k]
            if priority[target] == 0.0:
                priority[target] = draws[target]
                raise_priority(pool, heap, target, 0, bits[target], draws[target])
    return n_fetched, np.int64(0)
