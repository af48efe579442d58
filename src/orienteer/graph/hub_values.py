"""Hub values: how many of the pages behind a page's links are relevant, as far as they have been seen.

With p the relevance of judged pages and b its mean so far:

    H(i) = (sum over judged targets u of V(u)  +  w b) / (their number + w)          V = p + (1-p) c H

A target that was fetched and is not relevant counts against the page that links to it (Navigational Rank does not know
such evidence); one that has not been fetched does not count at all. A page of whose targets few are known is taken to
be like the average: w judgements' worth (2). A target that leads to relevant pages is worth c (0.3) as much as one that
is relevant. H is a contraction by c in the largest deviation: it has settled to within c / (1-c) of its last change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.navigational import KnownLinks
from orienteer.kernel import kernel

_ERROR = 1e-9
_MAX_SWEEPS = 1000


def settle_hub_values(
    links: KnownLinks,
    relevance: NDArray[np.float64],
    is_judged: NDArray[np.bool_],
    mean_relevance: float,
    values: NDArray[np.float64],
    prior_weight: float = 2.0,
    hub_share: float = 0.3,
) -> None:
    """H of every page in place, from whatever `values` are now; of a page without known links it is the mean."""
    _settle(
        links.starts, links.ends, links.targets, relevance, is_judged, mean_relevance, prior_weight, hub_share,
        values, _ERROR, _MAX_SWEEPS,
    )  # fmt: skip


def mean_over_sources(links: KnownLinks, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the values of the pages that link to each page; 0 where none does."""
    sums = np.zeros(len(values))
    _add_to_targets(links.starts, links.ends, links.targets, values, sums)
    return np.asarray(sums / np.maximum(links.in_degrees, 1))


@kernel
def _settle(
    starts: Any, ends: Any, targets: Any, relevance: Any, is_judged: Any, mean: float, prior_weight: float,
    hub_share: float, values: Any, error: float, n: int,
) -> None:  # fmt: skip
    for _ in range(n):
        change = 0.0
        for page in range(len(values) - 1, -1, -1):
            total, count = prior_weight * mean, prior_weight
            for k in range(starts[page], ends[page]):
                target = targets[k]
                if is_judged[target]:
                    p = relevance[target]
                    total += p + (1 - p) * hub_share * values[target]
                    count += 1
            new = total / count
            change = max(change, abs(new - values[page]))
            values[page] = new
        if change * hub_share <= error * (1 - hub_share):
            break


@kernel
def _add_to_targets(starts: Any, ends: Any, targets: Any, values: Any, sums: Any) -> None:
    for page in range(len(values)):
        for k in range(starts[page], ends[page]):
            sums[targets[k]] += values[page]
