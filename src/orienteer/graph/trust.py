"""Trust: the distribution over pages from which a surfer starts and to which she jumps; it sums to 1.

It may be given as weights (floats, one per page), as page ids (ints, uniform over them), as a mask (bools), or as a
mapping from page id to weight. The default is uniform over all pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import page_ids

Trust = ArrayLike | Mapping[int, float] | None


def trust_vector(n_pages: int, trust: Trust = None) -> NDArray[np.float64]:
    """Return the trust of every page, summing to 1."""
    if n_pages == 0:
        raise InputError("the graph has no pages, so none can be trusted")
    if trust is None:
        return np.full(n_pages, 1.0 / n_pages)
    weights = _weights_of(n_pages, trust)
    if not np.isfinite(weights).all():
        raise InputError("trust: NaN or infinite for some page")
    if (weights < 0).any():
        raise InputError(f"trust: negative for page {int(np.flatnonzero(weights < 0)[0])}")
    total = float(weights.sum())
    if total <= 0:
        raise InputError("trust: zero on every page; at least one must be trusted")
    # Weights that already sum to 1 are returned unchanged to the bit: dividing again could change ties.
    return weights if abs(total - 1) < 1e-12 else weights / total


def _weights_of(n_pages: int, trust: Any) -> NDArray[np.float64]:
    if isinstance(trust, Mapping):
        weights = np.zeros(n_pages)
        weights[page_ids("trust", list(trust.keys()), n_pages)] = [float(value) for value in trust.values()]
        return weights
    array = np.asarray(trust)
    if array.ndim != 1:
        raise InputError(f"trust: expected one number per page or a list of page ids, got {array.ndim} dimensions")
    if array.dtype.kind in "iuUS":
        weights = np.zeros(n_pages)
        weights[page_ids("trust", array, n_pages)] = 1.0
        return weights
    if array.dtype.kind not in "fb" or len(array) not in (0, n_pages):
        raise InputError(f"trust: {len(array):,} values of {array.dtype} for {n_pages:,} pages")
    return array.astype(np.float64) if len(array) else np.zeros(n_pages)
