"""A graph split into groups by host or by site, and the number of seeds of each group."""

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


class PageGroup(NamedTuple):
    """The pages of one host or site, in increasing order, and the links among them."""

    pages: NDArray[np.int64]
    graph: LinkGraph


class Division(NamedTuple):
    """The group of each page, as dense ids, and the names of the groups, if known."""

    labels: NDArray[np.int32]
    n_groups: int
    names: list[str] | None

    @classmethod
    def of(cls, graph: LinkGraph, per: str) -> Division:
        """Divide a graph by "host" or "site"."""
        if per not in PER:
            raise unknown_name("division of the graph", per, PER)
        if per == "host" and graph.hosts is not None:
            return cls(graph.hosts, int(graph.hosts.max(initial=-1)) + 1, _host_names(graph, graph.hosts))
        if graph.urls is None:
            raise InputError(f"seeds per {per} need URLs{' or hosts' * (per == 'host')}, and the graph has none")
        labels, names = site_ids(graph.urls) if per == "site" else host_ids(graph.urls)
        return cls(labels, len(names), names)


def groups_of(graph: LinkGraph, division: Division) -> list[PageGroup]:
    """Return the groups by their ids; links between groups are left out. A host id without pages is an empty group."""
    labels = division.labels
    order = np.argsort(labels, kind="stable")
    place = np.empty(graph.n_pages, np.uint32)  # index of each page in its group
    starts = np.searchsorted(labels[order], np.arange(division.n_groups + 1))
    place[order] = np.arange(graph.n_pages) - starts[labels[order]]
    degrees, targets = _inner_links(graph.offsets, graph.targets, labels, order, place)
    offsets = np.concatenate(([0], np.cumsum(degrees)))
    groups = []
    for first, last in pairwise(starts.tolist()):
        rows = offsets[first : last + 1]
        inner = LinkGraph(rows - rows[0], targets[rows[0] : rows[-1]])
        groups.append(PageGroup(order[first:last], inner))
    return groups


def apportioned(k: int, values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Apportion k seeds to groups in proportion to their value, where it is above 0, but at most one per page.

    By largest remainder, ties to the first group. The excess of small groups goes to the others in the same way.

    >>> apportioned(10, np.array([60.0, 30.0, -5.0, 10.0]), np.array([99, 99, 99, 99])).tolist()
    [6, 3, 0, 1]
    >>> apportioned(10, np.array([60.0, 30.0, 10.0]), np.array([2, 99, 99])).tolist()
    [2, 6, 2]
    """
    seeds = np.zeros(len(values), np.int64)
    open_groups = np.flatnonzero((values > 0) & (sizes > 0))
    while len(open_groups) and seeds.sum() < k:
        quotas = (k - seeds.sum()) * values[open_groups] / values[open_groups].sum()
        shares = np.floor(quotas).astype(np.int64)
        n_over = int(k - seeds.sum() - shares.sum())
        shares[np.argsort(shares - quotas, kind="stable")[:n_over]] += 1
        full = shares >= sizes[open_groups]
        if not full.any():
            seeds[open_groups] = shares
            break
        seeds[open_groups[full]] = sizes[open_groups[full]]
        open_groups = open_groups[~full]
    return seeds


def _host_names(graph: LinkGraph, hosts: NDArray[np.int32]) -> list[str] | None:
    """Return the names of the hosts by their ids, if the hosts of the URLs agree with the ids."""
    if graph.urls is None or graph.n_pages == 0:
        return None
    derived, names = host_ids(graph.urls)
    derived_of = np.zeros(int(hosts.max()) + 1, np.int64)
    derived_of[hosts] = derived
    return [names[one] for one in derived_of.tolist()] if np.array_equal(derived_of[hosts], derived) else None


@allocating_kernel
def _inner_links(offsets: Any, targets: Any, labels: Any, order: Any, place: Any) -> Any:
    """Return, for each page of `order`, the number of links inside its group, and their targets as indices, sorted."""
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
