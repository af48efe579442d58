"""Small graphs whose ranks and components are known in closed form."""

from __future__ import annotations

import numpy as np

from orienteer.graph.link_graph import LinkGraph


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
