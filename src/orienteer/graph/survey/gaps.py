"""Gaps of a fixed set of pages: the groups of pages outside where a surfer spends the most time, each with bounds.

Let h be some pages outside the set. W_h is the score of a life for its visits outside if the last of them was in h, and
0 otherwise. Its mean is proportional to the time on h, by the same argument as for the whole score: a visit of page q
is the last one with probability (1 - out), and then scores (1 - d) / (1 - out).

Time behind blocked pages or unknown links belongs to no group. The bounds of a group hold for that group alone: among
many groups, a few may violate theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.survey.survey import FixedSurvey
from orienteer.graph.survey.walking import DANGLING, OUTSIDE, UNKNOWN


@dataclass(frozen=True)
class Gap:
    """A group of pages outside: the `share` of the surfer's time on them, and its bounds, with the survey's confidence.

    `page` is the page of the group with the most time, one with links if there is any: a crawl can start there.
    `n_walks` have ended on these pages.
    """

    name: str
    share: float
    lower: float
    upper: float
    n_walks: int
    page: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def last_pages(survey: FixedSurvey) -> NDArray[np.int64]:
    """Return the last page outside of each walk that counts."""
    return np.array(survey.lives.last_pages[: survey.n_counted], np.int64)


def largest_gaps(survey: FixedSurvey, names: Sequence[str], n: int) -> list[Gap]:
    """Return the n groups with the most time, the largest first; `names` are the groups of the `last_pages`."""
    if not names or n < 1:
        return []
    scores, pages = survey.scores, last_pages(survey)
    known, groups = np.unique(np.array(names), return_inverse=True)
    time = np.bincount(groups, weights=scores[:, OUTSIDE], minlength=len(known))
    largest = [int(group) for group in np.argsort(-time, kind="stable")[:n] if time[group] > 0.0]
    dangling = float(scores[:, DANGLING].mean())
    found = []
    for group in largest:
        is_in = groups == group
        bounds = survey.bounds_of_group(1.0 - survey.confidence)
        bounds.add_scores(_scores_of(scores, is_in))
        share = survey.share_of(float(time[group]) / len(scores), dangling)
        lower, upper = 1.0 - bounds.upper, 1.0 - bounds.lower
        share = min(max(share, lower), upper)
        page = _most_visited(pages[is_in], scores[is_in], survey.lives.damping)
        found.append(Gap(str(known[group]), share, lower, upper, int(is_in.sum()), page))
    return found


def _scores_of(scores: NDArray[np.float64], is_in: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the scores for the time on the pages of one group."""
    of_group = scores.copy()
    of_group[:, UNKNOWN] = 0.0
    of_group[~is_in, OUTSIDE] = 0.0
    return of_group


def _most_visited(pages: NDArray[np.int64], scores: NDArray[np.float64], damping: float) -> int:
    """Return the page with the most time, preferably with links: a walk that ends without any scores d as dangling."""
    has_links = scores[:, DANGLING] < damping * (1.0 - 1e-9)
    known, places = np.unique(pages, return_inverse=True)
    time = np.bincount(places, weights=scores[:, OUTSIDE] * np.where(has_links, 1.0, 1e-9))
    return int(known[np.argmax(time)])
