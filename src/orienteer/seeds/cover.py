"""The frame that all methods share: take a page, cover what it reaches within h hops, go on with what is left.

What a seed covers is counted on the full graph: a search passes through covered pages. Their value is gone from then
on. Choosing the page that covers the most value each time is the greedy algorithm for maximum coverage: with values
that are not negative, no choice of k seeds covers more than e / (e - 1) = 1.58 times as much.

With negative values nothing of that kind is promised: a seed may cover pages that cost more than they are worth, the
total is neither monotone nor submodular, and a later seed may add more than an earlier one. What holds is that each
seed taken by a method that looks at the cover added something, and that the greedy one added the most any page could.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import within
from orienteer.progress import Progress, silent
from orienteer.seeds.seed_method import SeedMethod


@dataclass(frozen=True)
class Seed:
    """A start page, and what it adds to those before it: pages covered for the first time, and their value.

    `part` is the host or site it was chosen for, where the graph was split.
    """

    page: int
    n_pages: int
    value: float
    part: int | None = None


class Cover:
    """What the seeds so far reach within `hops` links. `left` are the values of the pages, 0 where covered."""

    def __init__(self, graph: LinkGraph, hops: int, value: NDArray[np.float64]) -> None:
        self.graph = graph
        self.hops = hops
        self.left = value.copy()
        self.is_covered = np.zeros(graph.n_pages, np.bool_)

    def added_by(self, page: int) -> NDArray[np.int64]:
        """The pages that this one would cover for the first time, in increasing order."""
        reached = within(self.graph, [page], self.hops)
        return reached[~self.is_covered[reached]]

    def add(self, pages: NDArray[np.int64]) -> None:
        self.is_covered[pages] = True
        self.left[pages] = 0


def chosen(method: SeedMethod, cover: Cover, k: int, progress: Progress = silent) -> list[Seed]:
    """Up to k seeds, in the order chosen; fewer where the method finds none that adds anything."""
    seeds: list[Seed] = []
    method.begin(cover, k, progress)
    while len(seeds) < k:
        progress("choosing seeds", len(seeds), k)
        page = method.best(cover)
        if page is None:
            break
        new = cover.added_by(page)
        value = float(cover.left[new].sum())
        if method.looks_at_cover and value <= 0:
            break
        cover.add(new)
        seeds.append(Seed(page, len(new), value))
        if len(seeds) < k:
            method.covered(new, cover)
    return seeds
