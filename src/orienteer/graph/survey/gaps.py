"""Where the time is that a surfer spends outside a fixed set of pages: the largest groups of pages, each with bounds.

Let h be some pages outside the set. W_h is the score of a life for its visits outside if the last page that it came to
is in h, and 0 otherwise. Its mean goes with the time on h, by the argument that makes the score right as a whole: she
is at a page q for the last time with a chance of (1 - out) a visit, and then scores (1 - d) / (1 - out).

Time that is behind blocked pages or links that are not known is in no group. The bounds of a group hold for this group
alone: of many groups a few may lie outside theirs.
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
    """Pages outside where the surfer is: the `share` of her time, and its bounds, with the survey's confidence.

    `page` is the one of them where walks have found the most of it; `n_walks` have ended there.
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
    """For each walk that was heard, the page outside that it came to last."""
    return np.array(survey.lives.last_pages[: survey.n_heard], np.int64)


def largest_gaps(survey: FixedSurvey, names: Sequence[str], n: int) -> list[Gap]:
    """The n groups with the most time, the largest first; `names` are the groups of the `last_pages`."""
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
        bounds.hear(_scores_of(scores, is_in))
        share = survey.share_of(float(time[group]) / len(scores), dangling)
        lower, upper = 1.0 - bounds.upper, 1.0 - bounds.lower
        share = min(max(share, lower), upper)
        page = _most_visited(pages[is_in], scores[is_in, OUTSIDE])
        found.append(Gap(str(known[group]), share, lower, upper, int(is_in.sum()), page))
    return found


def _scores_of(scores: NDArray[np.float64], is_in: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The scores for the time on these pages alone."""
    of_group = scores.copy()
    of_group[:, UNKNOWN] = 0.0
    of_group[~is_in, OUTSIDE] = 0.0
    return of_group


def _most_visited(pages: NDArray[np.int64], time: NDArray[np.float64]) -> int:
    known, places = np.unique(pages, return_inverse=True)
    return int(known[np.argmax(np.bincount(places, weights=time))])
