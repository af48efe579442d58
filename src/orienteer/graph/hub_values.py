"""Hub values: the share of a page's judged link targets that are relevant, or lead to relevant pages.

With p the relevance of judged pages and b its mean so far:

    H(i) = (sum over judged targets u of V(u)  +  w b) / (their number + w)          V = p + (1-p) c H

A fetched target that is not relevant counts against the pages that link to it (Navigational Rank ignores this
evidence); an unfetched target does not count. The prior is the mean b with the weight of w judgements (2), so a page
with few judged targets is close to the average. A target that leads to relevant pages counts c (0.3) as much as one
that is relevant. H is a contraction by c in the maximum norm, so its error is at most c / (1-c) times the last change:
that is the stopping rule.
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
    """Compute H of every page in place, starting from the given `values`; a page without known links has the mean."""
    _settle(
        links.starts, links.ends, links.targets, relevance, is_judged, mean_relevance, prior_weight, hub_share,
        values, _ERROR, _MAX_SWEEPS,
    )  # fmt: skip


def mean_over_sources(links: KnownLinks, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each page, the mean of the values of the pages that link to it; 0 if none does."""
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
