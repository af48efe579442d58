"""MaxWeight (Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod, checked_depth, seed_method
from orienteer.seeds.weighing import Weighing


@seed_method
class MaxWeight(SeedMethod):
    """The page with the most value left within `depth` links; with depth = hops this is the exact greedy.

    A depth above the hops would not change the cover, so it is limited to the hops.
    """

    name: ClassVar[str] = "max-weight"

    def __init__(self, depth: int = 2) -> None:
        self.depth = checked_depth(depth)

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._weighing = Weighing(cover, min(self.depth, cover.hops), progress)

    def best(self, cover: Cover) -> int | None:
        return self._weighing.best()

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        self._weighing.covered(pages, cover)
