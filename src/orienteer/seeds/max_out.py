"""MaxOut (Zheng et al., Graph-based seed selection for web-scale crawlers, CIKM 2009)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from orienteer.kernel import allocating_kernel
from orienteer.progress import Progress, silent
from orienteer.seeds.cover import Cover
from orienteer.seeds.seed_method import SeedMethod, seed_method


@seed_method
class MaxOut(SeedMethod):
    """Among the uncovered pages, the one with the most links to uncovered pages. Values are ignored."""

    name: ClassVar[str] = "max-out"

    def begin(self, cover: Cover, k: int, progress: Progress = silent) -> None:
        pass

    def best(self, cover: Cover) -> int | None:
        page = int(_with_most_links(cover.graph.offsets, cover.graph.targets, cover.is_covered))
        return page if page >= 0 else None


@allocating_kernel
def _with_most_links(offsets: Any, targets: Any, is_covered: Any) -> Any:
    best, most = np.int64(-1), np.int64(-1)
    for page in range(len(is_covered)):
        if is_covered[page] or offsets[page + 1] - offsets[page] <= most:
            continue
        n_links = np.int64(0)
        for k in range(offsets[page], offsets[page + 1]):
            n_links += not is_covered[targets[k]]
        if n_links > most:
            best, most = np.int64(page), n_links
    return best
