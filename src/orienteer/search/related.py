"""Related pages by co-citation: pages that are linked from the same pages.

A common source counts 1 over the number of its links: the fewer links it has, the more specific they are. Pages that
most pages link to are co-cited with everything, so scores are weighted by log(n / number of incoming links), like IDF.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.search.page_columns import LinkColumns

_MAX_SOURCES = 200  # those with the fewest links, which count the most


def co_cited(links: LinkColumns, pages: Collection[int], n: int) -> list[int]:
    """Return the n pages most related to these, most related first; fewer if there are not as many."""
    places = np.flatnonzero(np.isin(links.pages, list(pages)))
    if not len(places) or n <= 0:
        return []
    sources = np.unique(_rows(links.source_offsets, links.sources, places))
    degrees = np.diff(links.offsets)
    sources = sources[np.lexsort((sources, degrees[sources]))][:_MAX_SOURCES].astype(np.int64)
    targets = _rows(links.offsets, links.targets, sources)
    weights = np.repeat(1.0 / np.maximum(degrees[sources], 1), degrees[sources])
    others, which = np.unique(targets, return_inverse=True)
    n_sources = np.diff(links.source_offsets)[others]
    scores = np.bincount(which, weights, len(others)) * np.log(len(links.pages) / n_sources)
    scores[np.isin(others, places)] = 0
    best = np.lexsort((links.pages[others], -scores))
    return [int(page) for page in links.pages[others[best[: n + len(places)]]] if page not in pages][:n]


def _rows(offsets: NDArray[np.int64], targets: NDArray[np.uint32], rows: NDArray[Any]) -> NDArray[np.uint32]:
    if not len(rows):
        return np.zeros(0, np.uint32)
    return np.concatenate([targets[offsets[row] : offsets[row + 1]] for row in rows.tolist()])
