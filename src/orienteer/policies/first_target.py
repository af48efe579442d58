"""The search for the first relevant page: breadth-first, with excursions.

Breadth-first finds near pages, but fetches all targets of a long list before those of the next page. An excursion
fetches a page whose sources have been tried least: with n(i) judged pages among the links of i, the highest mean over
its sources i of

    w / (n(i) + w)      times 0.9 for every link from the start

Bound: of the first t pages about (e/2) ln(1 + t/e) are excursions: every second page at first, then ever fewer. So the
b-th page of breadth-first is fetched as page b + (e/2) ln(1 + t/e) at the latest, up to a batch: the delay grows with
the logarithm of the length of the search.
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
    """Return a score for every known page that is not done; their order is the order of the search from now on."""
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
    """Return how many of the first pages are excursions, where `excursions` is e; 0 is breadth-first."""
    return np.asarray(excursions / 2 * np.log1p(n_fetched / excursions)) if excursions else np.zeros(len(n_fetched))


def _untried(links: KnownLinks, is_judged: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return hub values under the assumption that the average page is relevant, and no tried page is."""
    value = np.zeros(len(is_judged))
    settle_hub_values(links, np.zeros(len(is_judged)), is_judged, 1.0, value, hub_share=0.0)
    return mean_over_sources(links, value)


@kernel
def _merge(near_first: Any, untried_first: Any, is_excursion: Any, scores: Any) -> None:
    """Merge both orders, each page at its first occurrence; scores decrease from 0."""
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
