"""The loop of all methods: choose a page, cover what it reaches within h hops, repeat with the remaining values.

The cover of a seed is computed on the full graph: the search passes through covered pages, whose value is 0 from then
on. Choosing the page that covers the most value each time is the greedy algorithm for maximum coverage. Bound: with
non-negative values, no choice of k seeds covers more than e / (e - 1) = 1.58 times as much.

With negative values there is no such bound: a seed may cover pages of negative value, the total is neither monotone nor
submodular, and a later seed may add more than an earlier one. Still, each seed of a method that uses the cover adds a
positive value, and each seed of the greedy method adds the largest value that any page could add.
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
    """A start page, and its gain: the number and value of the pages that it is the first to cover.

    `group` is the host or site it was chosen for, if the graph was split.
    """

    page: int
    n_pages: int
    value: float
    group: int | None = None


class Cover:
    """The pages that the seeds reach within `hops` links. `remaining_values` are those of the pages, 0 if covered."""

    def __init__(self, graph: LinkGraph, hops: int, value: NDArray[np.float64]) -> None:
        self.graph = graph
        self.hops = hops
        self.remaining_values = value.copy()
        self.is_covered = np.zeros(graph.n_pages, np.bool_)

    def added_by(self, page: int) -> NDArray[np.int64]:
        """Return the uncovered pages that this page would cover, in increasing order."""
        reached = within(self.graph, [page], self.hops)
        return reached[~self.is_covered[reached]]

    def add(self, pages: NDArray[np.int64]) -> None:
        self.is_covered[pages] = True
        self.remaining_values[pages] = 0


def choose_seeds(method: SeedMethod, cover: Cover, k: int, progress: Progress = silent) -> list[Seed]:
    """Choose up to k seeds; return them in that order, fewer if the method finds none that adds anything."""
    seeds: list[Seed] = []
    method.begin(cover, k, progress)
    while len(seeds) < k:
        progress("choosing seeds", len(seeds), k)
        page = method.best(cover)
        if page is None:
            break
        new = cover.added_by(page)
        value = float(cover.remaining_values[new].sum())
        if method.uses_cover and value <= 0:
            break
        cover.add(new)
        seeds.append(Seed(page, len(new), value))
        if len(seeds) < k:
            method.covered(new, cover)
    return seeds
