"""The interface of seed selection methods, and the loop of all of them.

A method returns one seed after the other. The Cover records what the seeds cover; the method reads it and never changes
it. It is pure: arrays in, a page out. Ties go to the lowest page id.

The loop: choose a page, cover what it reaches within h hops, repeat with the remaining values.

The cover of a seed is computed on the full graph: the search passes through covered pages, whose value is 0 from then
on. Choosing the page that covers the most value each time is the greedy algorithm for maximum coverage. Bound: with
non-negative values, no choice of k seeds covers more than e / (e - 1) = 1.58 times as much.

With negative values there is no such bound: a seed may cover pages of negative value, the total is neither monotone nor
submodular, and a later seed may add more than an earlier one. Still, each seed of a method that uses the cover adds a
positive value, and each seed of the greedy method adds the largest value that any page could add.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import within
from orienteer.progress import Progress, silent
from orienteer.registry import ClassRegistry


@dataclass(frozen=True)
class Approximation:
    """The proved quality of seeds chosen by estimates.

    Each seed adds at least the share `at_least` of what the best page would have added in its place; this holds for all
    seeds together with probability `confidence`. Measured results are far better than this bound.
    """

    at_least: float
    confidence: float
    about: str

    def combined_with(self, other: Approximation | None) -> Approximation:
        """Return the bound for the seeds of both: the smaller share, with the union bound of their errors."""
        if other is None:
            return self
        confidence = max(self.confidence + other.confidence - 1, 0.0)
        return Approximation(min(self.at_least, other.at_least), confidence, self.about)

    def __str__(self) -> str:
        return (
            f"approximate: {self.about}; with {100 * self.confidence:.0f} % confidence every seed adds at least "
            f"{100 * self.at_least:.0f} % of what the best page would"
        )


class SeedMethod(ABC):
    """Base of all methods; keyword arguments of `__init__` are the settings.

    A method that `uses_cover` ends when its next seed would add nothing, or less. The others are baselines: they take
    the first k pages of a list, whatever these add.
    """

    name: ClassVar[str]
    uses_cover: ClassVar[bool] = True

    approximation: Approximation | None = None

    @abstractmethod
    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        """Start a selection of about k seeds; nothing is covered yet."""

    @abstractmethod
    def best(self, cover: Cover) -> int | None:
        """Return the page to take next; None if no page is worth taking."""

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:  # noqa: B027 (many methods only read the cover)
        """Receive the pages that the last seed covered, before the next call of `best`."""


METHODS: ClassRegistry[SeedMethod] = ClassRegistry(
    "seed method", SeedMethod, package="orienteer.seeds", group="orienteer.seed_methods"
)
seed_method = METHODS.register  # the decorator that registers a method under its name


def checked_depth(depth: int) -> int:
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be 0 or more")
    return depth


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
