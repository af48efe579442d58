"""In which order results are shown: by their words, by what their pages are worth, or by both.

    score = (1 - weight) text + weight worth

`text` is the page's BM25 score as a share of the best one; `worth` is its rank on a scale of logarithms, as a share of
the best in the crawl: log(1 + n r) / log(1 + n r_max) for n pages. Both lie between 0 and 1.

    text      the words alone
    local     with the rank inside the crawl                 inside and outside weigh so much that one sees
    global    with the rank in the whole web, as estimated   what the ranks make of the results
    blend     with the mean of both worths, or the local one where nothing was estimated. The more words, the more they
              say which page is meant: the weight is divided by the square of their number, so that who looks for one
              page by its words finds it as well as by words alone (see benchmarks/search.py)

Only the best by their words are put in another order: what merely mentions them does not come first for being famous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.search.page_columns import Figures, PageColumns

WEIGHTS = {"text": 0.0, "local": 0.3, "global": 0.3, "blend": 0.2}
N_REORDERED = 100


class Found(NamedTuple):
    """Pages that were found, best text first, one for each group of repetitions; how many more are in its group."""

    pages: NDArray[np.int64]
    text: NDArray[np.float64]
    figures: Figures
    n_repeating: NDArray[np.int64]


def expect_rank(rank: str) -> None:
    if rank not in WEIGHTS:
        raise unknown_name("rank", rank, WEIGHTS)


def checked_weight(rank: str, weight: float | None, n_words: int) -> float:
    """The weight of the rank: the one that was asked for, or that of the order, for so many words or phrases."""
    expect_rank(rank)
    if weight is None:
        return WEIGHTS[rank] / (max(n_words, 1) ** 2 if rank == "blend" else 1)
    if not 0 <= weight <= 1:
        raise InputError(f"weight is {weight}; it must lie between 0 (words alone) and 1 (rank alone)")
    if rank == "text" and weight:
        raise InputError(f"weight is {weight}, but rank 'text' has none; choose local, global or blend")
    return weight


def collapsed(pages: NDArray[np.int64], text: NDArray[np.float64], columns: PageColumns) -> Found:
    """What was found, in order; ties go to the page that is worth more. Of pages that repeat each other one is there,
    in the place of the best: the one that the others name as canonical, or else the best itself."""
    figures = columns.of(pages)
    n_repeating = np.zeros(len(pages), np.int64)
    are_different = len(set(figures.group.tolist())) == len(pages)
    if are_different and bool((text[1:] < text[:-1]).all()):  # as the text index has them
        return Found(pages, text, figures, n_repeating)
    kept = shown = np.lexsort((pages, -figures.local, -text))
    if not are_different:
        group = figures.group[kept]
        _, first, n_pages = np.unique(group, return_index=True, return_counts=True)
        most_named = np.lexsort((-figures.named[kept], group))[np.cumsum(n_pages) - n_pages]
        by_place = np.argsort(first)
        shown, n_repeating = kept[most_named[by_place]], n_pages[by_place] - 1
        kept = kept[first[by_place]]
    return Found(pages[shown], text[kept], figures.at(shown), n_repeating)


class Orders:
    """The orders that something found can be shown in. `best` is the text score that counts as 1: by default that of
    the best page."""

    def __init__(self, found: Found, columns: PageColumns, best: float | None = None) -> None:
        best = float(found.text.max(initial=0.0)) if best is None else best
        n_pages, figures = len(columns), found.figures
        self._text = found.text / best if best > 0 else np.zeros(len(found.text))
        self._worths = {"local": _worth(figures.local, columns.largest("local"), n_pages)}
        if columns.has_outside:
            self._worths["global"] = _worth(figures.outside, columns.largest("outside"), n_pages)

    def scores(self, rank: str, weight: float) -> NDArray[np.float64]:
        """Between 0 and 1, for each place of what was found."""
        if not weight:
            return self._text
        worth = self._worths.get(rank)
        if worth is None:
            worths = list(self._worths.values())
            worth = worths[0] if len(worths) == 1 else np.mean(worths, axis=0)
        return np.asarray((1 - weight) * self._text + weight * worth)

    def positions(self) -> dict[str, NDArray[np.int64] | None]:
        """By order, where each place of what was found stands in it, from 1 on; None for one there are no ranks for."""
        places: dict[str, NDArray[np.int64] | None] = {"text": np.arange(1, len(self._text) + 1)}
        for rank in ("local", "global"):
            places[rank] = _positions(order(self.scores(rank, WEIGHTS[rank]))) if rank in self._worths else None
        return places


def order(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of what was found in the order of their scores; only the first N_REORDERED change places.

    What was found is in the order of the words, which decides where scores are equal.
    """
    first = np.argsort(-scores[:N_REORDERED], kind="stable")
    return np.concatenate((first, np.arange(len(first), len(scores))))


def _positions(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    position = np.empty(len(ordered), np.int64)
    position[ordered] = np.arange(1, len(ordered) + 1)
    return position


def _worth(rank: NDArray[np.float64], largest: float, n_pages: int) -> NDArray[np.float64]:
    if largest <= 0:
        return np.zeros(len(rank))
    return np.asarray(np.log1p(n_pages * rank) / np.log1p(n_pages * largest))
