"""The order of results: by text score, by PageRank, or by both.

    score = (1 - weight) text + weight rank_score

`text` is the BM25 score of the page divided by the best one; `rank_score` is its rank r on a logarithmic scale, divided
by the best in the crawl: log(1 + n r) / log(1 + n r_max) for n pages. Both are between 0 and 1.

    text      the words alone
    local     with the rank inside the crawl                 local and global have weights large enough that
    global    with the estimated rank in the whole web       the effect of the ranks is visible
    blend     with the mean of both rank scores, or the local one if the global rank was not estimated. A query of more
              words identifies a page better, so the weight is divided by the square of their number; then queries for
              a known page find it as well as with words alone (see benchmarks/search.py)

Only the best N_REORDERED by text are reordered, so a popular page that merely mentions the words does not come first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, unknown_name
from orienteer.search.page_columns import LinkColumns, PageColumns, PageFigures

WEIGHTS = {"text": 0.0, "local": 0.3, "global": 0.3, "blend": 0.2}
N_REORDERED = 100
_MAX_SOURCES = 200  # those with the fewest links, which count the most


class Candidates(NamedTuple):
    """Matching pages, best text score first, one for each group of duplicates; `n_repeating` counts the others."""

    pages: NDArray[np.int64]
    text: NDArray[np.float64]
    figures: PageFigures
    n_repeating: NDArray[np.int64]


def check_rank(rank: str) -> None:
    if rank not in WEIGHTS:
        raise unknown_name("rank", rank, WEIGHTS)


def checked_weight(rank: str, weight: float | None, n_words: int) -> float:
    """Return `weight` if it is valid, or the default of the order for a query of `n_words` words or phrases."""
    check_rank(rank)
    if weight is None:
        return WEIGHTS[rank] / (max(n_words, 1) ** 2 if rank == "blend" else 1)
    if not 0 <= weight <= 1:
        raise InputError(f"weight is {weight}; it must be between 0 (words alone) and 1 (rank alone)")
    if rank == "text" and weight:
        raise InputError(f"weight is {weight}, but rank 'text' has none; choose local, global or blend")
    return weight


def without_duplicates(pages: NDArray[np.int64], text: NDArray[np.float64], columns: PageColumns) -> Candidates:
    """Sort matches by text score, ties by local rank, and keep one page of each group of duplicates.

    It is the page that the others name as canonical, or else the best; its position is that of the best.
    """
    figures = columns.of(pages)
    n_repeating = np.zeros(len(pages), np.int64)
    are_different = len(set(figures.group.tolist())) == len(pages)
    if are_different and bool((text[1:] < text[:-1]).all()):  # already in order, as tantivy returns them
        return Candidates(pages, text, figures, n_repeating)
    best = listed = np.lexsort((pages, -figures.local, -text))
    if not are_different:
        group = figures.group[best]
        _, first, n_pages = np.unique(group, return_index=True, return_counts=True)
        most_named = np.lexsort((-figures.named[best], group))[np.cumsum(n_pages) - n_pages]
        by_position = np.argsort(first)
        listed, n_repeating = best[most_named[by_position]], n_pages[by_position] - 1
        best = best[first[by_position]]
    return Candidates(pages[listed], text[best], figures.at(listed), n_repeating)


class ResultOrders:
    """The possible orders of the candidates. `best` is the text score that is normalized to 1, by default the best."""

    def __init__(self, candidates: Candidates, columns: PageColumns, best: float | None = None) -> None:
        best = float(candidates.text.max(initial=0.0)) if best is None else best
        n_pages, figures = len(columns), candidates.figures
        self._text = candidates.text / best if best > 0 else np.zeros(len(candidates.text))
        self._rank_scores = {"local": _rank_score(figures.local, columns.largest("local"), n_pages)}
        if columns.has_outside:
            self._rank_scores["global"] = _rank_score(figures.outside, columns.largest("outside"), n_pages)

    def scores(self, rank: str, weight: float) -> NDArray[np.float64]:
        """Return the scores of all candidates, between 0 and 1."""
        if not weight:
            return self._text
        rank_score = self._rank_scores.get(rank)
        if rank_score is None:
            rank_scores = list(self._rank_scores.values())
            rank_score = rank_scores[0] if len(rank_scores) == 1 else np.mean(rank_scores, axis=0)
        return np.asarray((1 - weight) * self._text + weight * rank_score)

    def positions(self) -> dict[str, NDArray[np.int64] | None]:
        """Return the positions of all candidates in each order, from 1 on; None for an order without ranks."""
        positions: dict[str, NDArray[np.int64] | None] = {"text": np.arange(1, len(self._text) + 1)}
        for rank in ("local", "global"):
            positions[rank] = _positions(order(self.scores(rank, WEIGHTS[rank]))) if rank in self._rank_scores else None
        return positions


def order(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of candidates by decreasing score; only the first N_REORDERED are reordered.

    Candidates are in the order of their text scores, which breaks ties.
    """
    first = np.argsort(-scores[:N_REORDERED], kind="stable")
    return np.concatenate((first, np.arange(len(first), len(scores))))


def _positions(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    position = np.empty(len(ordered), np.int64)
    position[ordered] = np.arange(1, len(ordered) + 1)
    return position


def _rank_score(rank: NDArray[np.float64], largest: float, n_pages: int) -> NDArray[np.float64]:
    if largest <= 0:
        return np.zeros(len(rank))
    return np.asarray(np.log1p(n_pages * rank) / np.log1p(n_pages * largest))


def co_cited(links: LinkColumns, pages: Collection[int], n: int) -> list[int]:
    """Return the n pages most related to these, most related first; fewer if there are not as many.

    Related pages are linked from the same pages. A common source counts 1 over the number of its links: the fewer links
    it has, the more specific they are. Pages that most pages link to are co-cited with everything, so scores are
    weighted by log(n / number of incoming links), like IDF.
    """
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
