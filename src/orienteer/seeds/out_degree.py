"""OutDegree: the pages with the most links, though they may all link to the same pages."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress
from orienteer.seeds.listed import ListedSeeds, best_first
from orienteer.seeds.seed_method import seed_method


@seed_method
class OutDegree(ListedSeeds):
    """The k pages with the most links."""

    name: ClassVar[str] = "out-degree"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(graph.out_degrees())
