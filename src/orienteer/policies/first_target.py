"""Where to look while nothing relevant has been found: breadth-first, with excursions.

Breadth-first finds what is near, but reads a long list to its end before it looks behind the next. An excursion goes to
a page whose sources have been tried least: with n(i) judged pages among the links of i, the mean over its sources of

    w / (n(i) + w)      times 0.9 for every link from the start

Of the first t pages about (e/2) ln(1 + t/e) are excursions: every second one at first, ever fewer as the search goes
on. So whatever breadth-first finds as its b-th page is found as page b + (e/2) ln(1 + t/e) at the latest, up to a
batch: how much longer a search can take grows with the logarithm of its length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.hub_values import mean_over_sources, settle_hub_values
from orienteer.graph.navigational import KnownLinks
from orienteer.graph.reach import breadth_first
from orienteer.kernel import kernel

_DEPTH_DECAY = 0.9


def search_scores(
    links: KnownLinks,
    seeds: NDArray[np.uint32],
    is_done: NDArray[np.bool_],
    is_judged: NDArray[np.bool_],
    n_fetched: int,
    excursions: float,
) -> NDArray[np.float64]:
    """A score for every known page that is not done, so that their order is that of the search, from now on."""
    depth, near_first = breadth_first(links.starts, links.ends, links.targets, seeds, len(is_done))
    near_first = near_first[~is_done[near_first]]
    value = _untried(links, is_judged) * _DEPTH_DECAY**depth
    untried_first = near_first[np.argsort(-value[near_first], kind="stable")]
    done_by = n_fetched + np.arange(len(near_first) + 1)
    due = np.floor(n_excursions(done_by, excursions))
    scores = np.full(len(is_done), -np.inf)
    _merge(near_first, untried_first, np.diff(due) > 0, scores)
    return scores


def n_excursions(n_fetched: NDArray[np.int64], excursions: float) -> NDArray[np.float64]:
    """How many of the first pages are excursions, where `excursions` is e; 0 is breadth-first."""
    return np.asarray(excursions / 2 * np.log1p(n_fetched / excursions)) if excursions else np.zeros(len(n_fetched))


def _untried(links: KnownLinks, is_judged: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Hub values as they would be if the average page were relevant, and none of those that were tried."""
    value = np.zeros(len(is_judged))
    settle_hub_values(links, np.zeros(len(is_judged)), is_judged, 1.0, value, hub_share=0.0)
    return mean_over_sources(links, value)


@kernel
def _merge(near_first: Any, untried_first: Any, is_excursion: Any, scores: Any) -> None:
    """Both orders in one, each page where it comes first: scores fall from 0 on."""
    near, untried = 0, 0
    for k in range(len(near_first)):
        if is_excursion[k]:
            while scores[untried_first[untried]] > -np.inf:
                untried += 1
            scores[untried_first[untried]] = -k
        else:
            while scores[near_first[near]] > -np.inf:
                near += 1
            scores[near_first[near]] = -k
