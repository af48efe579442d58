"""Methods of choosing seeds, which register themselves when this module is imported."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress
from orienteer.seeds.graph_based import ListedSeeds
from orienteer.seeds.seed_method import seed_method


@seed_method
class FirstPages(ListedSeeds):
    """The pages with the lowest ids."""

    name: ClassVar[str] = "first-pages"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return np.arange(graph.n_pages)


@seed_method
class LastPages(ListedSeeds):
    """The pages with the highest ids."""

    name: ClassVar[str] = "last-pages"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return np.arange(graph.n_pages)[::-1]
