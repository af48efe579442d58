"""The pages that link to a page: their number, and the one that passes on the most rank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.graph.growing_graph import GrowingGraph
from orienteer.kernel import allocating_kernel


class Sources(NamedTuple):
    """For each of some pages: the number of pages that link to it, and the one that passes on the most, or -1."""

    counts: NDArray[np.int64]
    strongest: NDArray[np.int64]


def sources_of(web: GrowingGraph, pages: ArrayLike, rank: NDArray[np.float64]) -> Sources:
    """Find the pages that link to these distinct pages. A page with c links passes on 1/c of its rank. Reads all links.

    Ties go to the lowest page id.
    """
    ids = np.asarray(pages, np.int64)
    place = np.zeros(web.n_pages, np.int32)  # 1 + index into `ids`, 0 for other pages
    place[ids] = np.arange(1, len(ids) + 1)
    counts, strongest = np.zeros(len(ids), np.int64), np.full(len(ids), -1, np.int64)
    _find(web.starts, web.ends, web.targets, rank, place, counts, strongest, np.full(len(ids), -1.0))
    return Sources(counts, strongest)


@allocating_kernel
def _find(
    starts: Any, ends: Any, targets: Any, rank: Any, place: Any, counts: Any, strongest: Any, most: Any
) -> None:  # fmt: skip
    for source in range(len(starts)):
        n_links = ends[source] - starts[source]
        for k in range(starts[source], ends[source]):
            at = place[targets[k]] - 1
            if at >= 0:
                counts[at] += 1
                share = rank[source] / n_links
                if share > most[at]:
                    most[at] = share
                    strongest[at] = source
