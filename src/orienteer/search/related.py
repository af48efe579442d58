"""Pages that are named in one breath with others: linked from the same pages.

A page that links to both says that they have something in common, the more so the fewer links it has: each source
counts for one over its links. Pages that everybody links to are named with everything, which says nothing: what is said
of a page counts by the logarithm of n over the number of links to it, as with words.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.search.page_columns import LinkColumns

_MAX_SOURCES = 200  # those with the fewest links say the most


def co_cited(links: LinkColumns, pages: Collection[int], n: int) -> list[int]:
    """The n pages most related to these, without them; fewer where there are not so many."""
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
    said = np.bincount(which, weights, len(others)) * np.log(len(links.pages) / n_sources)
    said[np.isin(others, places)] = 0
    best = np.lexsort((links.pages[others], -said))
    return [int(page) for page in links.pages[others[best[: n + len(places)]]] if page not in pages][:n]


def _rows(offsets: NDArray[np.int64], targets: NDArray[np.uint32], rows: NDArray[Any]) -> NDArray[np.uint32]:
    if not len(rows):
        return np.zeros(0, np.uint32)
    return np.concatenate([targets[offsets[row] : offsets[row + 1]] for row in rows.tolist()])
