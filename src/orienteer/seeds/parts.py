"""A graph split by host or by site, and how many seeds each part gets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.graph.hosts import host_ids, site_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.kernel import allocating_kernel

PER = ("host", "site")


class Part(NamedTuple):
    """The pages of one host or site, in increasing order, and the links among them."""

    pages: NDArray[np.int64]
    graph: LinkGraph


class Division(NamedTuple):
    """The part each page belongs to, dense ids; and the names of the parts, where they are known."""

    labels: NDArray[np.int32]
    n_parts: int
    names: list[str] | None

    @classmethod
    def of(cls, graph: LinkGraph, per: str) -> Division:
        """The division of a graph by "host" or "site"."""
        if per not in PER:
            raise unknown_name("division of the graph", per, PER)
        if per == "host" and graph.hosts is not None:
            return cls(graph.hosts, int(graph.hosts.max(initial=-1)) + 1, _names_of(graph, graph.hosts))
        if graph.urls is None:
            raise InputError(f"seeds per {per} need URLs{' or hosts' * (per == 'host')}, and the graph has none")
        labels, names = site_ids(graph.urls) if per == "site" else host_ids(graph.urls)
        return cls(labels, len(names), names)


def parts_of(graph: LinkGraph, division: Division) -> list[Part]:
    """The parts by their ids; links between parts are left out. A host id without pages is an empty part."""
    labels = division.labels
    order = np.argsort(labels, kind="stable")
    place = np.empty(graph.n_pages, np.uint32)  # of each page in its part
    starts = np.searchsorted(labels[order], np.arange(division.n_parts + 1))
    place[order] = np.arange(graph.n_pages) - starts[labels[order]]
    degrees, targets = _inner_links(graph.offsets, graph.targets, labels, order, place)
    offsets = np.concatenate(([0], np.cumsum(degrees)))
    parts = []
    for first, last in pairwise(starts.tolist()):
        rows = offsets[first : last + 1]
        inner = LinkGraph(rows - rows[0], targets[rows[0] : rows[-1]])
        parts.append(Part(order[first:last], inner))
    return parts


def shared_out(k: int, values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of k seeds each part gets: in proportion to its value, where that is above 0, but at most its pages.

    By largest remainder, ties to the first. What is too much for small parts goes to the others in the same way.

    >>> shared_out(10, np.array([60.0, 30.0, -5.0, 10.0]), np.array([99, 99, 99, 99])).tolist()
    [6, 3, 0, 1]
    >>> shared_out(10, np.array([60.0, 30.0, 10.0]), np.array([2, 99, 99])).tolist()
    [2, 6, 2]
    """
    seeds = np.zeros(len(values), np.int64)
    open_parts = np.flatnonzero((values > 0) & (sizes > 0))
    while len(open_parts) and seeds.sum() < k:
        quotas = (k - seeds.sum()) * values[open_parts] / values[open_parts].sum()
        shares = np.floor(quotas).astype(np.int64)
        n_over = int(k - seeds.sum() - shares.sum())
        shares[np.argsort(shares - quotas, kind="stable")[:n_over]] += 1
        full = shares >= sizes[open_parts]
        if not full.any():
            seeds[open_parts] = shares
            break
        seeds[open_parts[full]] = sizes[open_parts[full]]
        open_parts = open_parts[~full]
    return seeds


def _names_of(graph: LinkGraph, hosts: NDArray[np.int32]) -> list[str] | None:
    """The names of the hosts by their ids, where the URLs tell the same hosts as the ids do."""
    if graph.urls is None or graph.n_pages == 0:
        return None
    told, names = host_ids(graph.urls)
    told_of = np.zeros(int(hosts.max()) + 1, np.int64)
    told_of[hosts] = told
    return [names[one] for one in told_of.tolist()] if np.array_equal(told_of[hosts], told) else None


@allocating_kernel
def _inner_links(offsets: Any, targets: Any, labels: Any, order: Any, place: Any) -> Any:
    """(links inside its part of each page of `order`, their targets as places): rows stay sorted."""
    degrees = np.zeros(len(order), np.int64)
    n_links = 0
    for row in range(len(order)):
        page = order[row]
        for k in range(offsets[page], offsets[page + 1]):
            degrees[row] += labels[targets[k]] == labels[page]
        n_links += degrees[row]
    inner = np.empty(n_links, np.uint32)
    at = 0
    for row in range(len(order)):
        page = order[row]
        for k in range(offsets[page], offsets[page + 1]):
            if labels[targets[k]] == labels[page]:
                inner[at] = place[targets[k]]
                at += 1
    return degrees, inner
