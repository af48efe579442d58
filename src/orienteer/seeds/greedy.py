"""The exact greedy algorithm for maximum coverage: the default, and the reference for all methods.

The weights of all pages within the hops come from bit-parallel search (graph/reach.py), and after each seed only
changed weights are computed again (weighing.py). The usual lazy evaluation would evaluate tens of thousands of pages
for a single seed, because the neighbourhoods of pages overlap; and it is wrong with negative values.

The cost is proportional to the total size of the neighbourhoods of all pages: seconds for 300,000 pages of one country,
a minute for 200,000 densely linked ones. Above `exact_up_to` pages the sketched method is used, and the result says so.
The method max-weight with depth = hops is exact at any size.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod, seed_method
from orienteer.seeds.sketched_greedy import SketchedGreedy
from orienteer.seeds.weighing import Weighing

EXACT_UP_TO = 500_000


@seed_method
class Greedy(SeedMethod):
    """The page that adds the most. With values that are not negative: at least 1 - 1/e of what any k seeds cover."""

    name: ClassVar[str] = "greedy"

    def __init__(self, exact_up_to: int = EXACT_UP_TO) -> None:
        if exact_up_to < 0:
            raise InputError(f"exact_up_to is {exact_up_to}; it must be 0 pages or more")
        self.exact_up_to = exact_up_to

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        self._sketched: SketchedGreedy | None = None
        if cover.graph.n_pages > self.exact_up_to:
            self._sketched = SketchedGreedy()
            self._sketched.begin(cover, k, progress)
        else:
            self._weighing = Weighing(cover, cover.hops, progress)

    def best(self, cover: Cover) -> int | None:
        if self._sketched is None:
            return self._weighing.best()
        page = self._sketched.best(cover)
        self.approximation = self._sketched.approximation
        return page

    def covered(self, pages: NDArray[np.int64], cover: Cover) -> None:
        if self._sketched is None:
            self._weighing.covered(pages, cover)
