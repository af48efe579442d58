"""Random: the baseline of all methods."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress
from orienteer.seeds.listed import ListedSeeds
from orienteer.seeds.seed_method import seed_method


@seed_method
class RandomSeeds(ListedSeeds):
    """Distinct pages with equal probability; fewer seeds with the same rng are a prefix of more."""

    name: ClassVar[str] = "random"

    def __init__(self, rng: int = 0) -> None:
        if rng < 0:
            raise InputError(f"rng is {rng}; it must be 0 or more")
        self.rng = rng

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return np.random.default_rng(self.rng).permutation(graph.n_pages)
