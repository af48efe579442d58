"""PageRank: the most important pages, even if they are close to each other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.progress import Progress
from orienteer.seeds.listed import ListedSeeds, best_first
from orienteer.seeds.seed_method import seed_method

_TOLERANCE = 1e-9


@seed_method
class PageRankSeeds(ListedSeeds):
    """The k pages of the highest uniform PageRank."""

    name: ClassVar[str] = "pagerank"

    def order(self, graph: LinkGraph, progress: Progress) -> NDArray[np.int64]:
        return best_first(pagerank(graph, tolerance=_TOLERANCE, progress=progress))
