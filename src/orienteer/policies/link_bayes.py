"""Relevance of a page from the words of the links to it: naive Bayes, learned during the crawl.

The first distinct words of the links to each page are stored (up to `WIDTH`). When the page is judged, its relevance is
counted for these words. The log odds that a queued page is relevant, relative to the average page, are the sum over its
words of

    log P(word | relevant) - log P(word | not relevant)

where each probability is smoothed towards the word's frequency on all pages with the weight of `STRENGTH` pages, so a
word without evidence contributes 0.

Words of a link are not independent, and on some sites they carry no information. So their weight is learned, too: for
the last judged pages, the expectation without the words and the log odds of the words *before* the page was judged are
stored. The weight is the one that would have predicted these pages best (logistic regression with the expectation as an
offset, regularised towards 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.extract.tokens import N_BUCKETS
from orienteer.kernel import kernel
from orienteer.policies.focused import LinkWords

WIDTH = 16
STRENGTH = 1.0

_N_TRIALS = 1000  # judged pages from which the weight is learned
_MIN_TRIALS = 10
_MAX_WEIGHT = 2.0
_NEWTON_STEPS = 6


class LinkBayes:
    """The words of the links to each page, and their counts on relevant and other pages, all in arrays."""

    def __init__(self) -> None:
        self._rows: NDArray[np.uint16] = np.zeros((0, WIDTH), np.uint16)  # 0: no word
        self._seen: NDArray[np.float64] = np.zeros((2, N_BUCKETS))  # pages with the word: relevant, not relevant
        self._totals: NDArray[np.float64] = np.zeros(2)
        self._trials: NDArray[np.float64] = np.zeros((3, _N_TRIALS))  # expected, by the words, relevance
        self._n_trials = 0

    def add_links(self, link_words: LinkWords, n_pages: int) -> None:
        """Store the words of a page's links."""
        if len(link_words.words) == 0:
            return
        if n_pages > len(self._rows):
            self._rows = grown(self._rows.reshape(-1), n_pages * WIDTH).reshape(-1, WIDTH)
        _add_words(link_words.targets, link_words.offsets, link_words.words, self._rows)

    def judge(self, page: int, relevance: float) -> None:
        """Count the relevance of a judged page for its words."""
        if page < len(self._rows):
            words = self._rows[page]
            words = words[words > 0]
            self._seen[0, words] += relevance
            self._seen[1, words] += 1 - relevance
            self._totals += (relevance, 1 - relevance)

    def add_trial(self, page: int, expected: float, relevance: float) -> None:
        """Store a trial before `judge`; `expected` are the log odds of the page's relevance without the words."""
        at = self._n_trials % _N_TRIALS
        self._trials[:, at] = expected, self.log_odds(np.array([page]))[0], relevance
        self._n_trials += 1

    def weight(self) -> float:
        """Return the weight of the words: 0 ignores them, 1 treats them as independent."""
        if self._n_trials < _MIN_TRIALS:
            return 0.0
        expected, evidence, relevance = self._trials[:, : self._n_trials]
        bias, weight = 0.0, 0.0
        for _ in range(_NEWTON_STEPS):
            chance = 1 / (1 + np.exp(-np.clip(bias + expected + weight * evidence, -30, 30)))
            excess, spread = chance - relevance, chance * (1 - chance)
            slope = [excess.sum() + bias, excess @ evidence + weight]
            mixed = spread @ evidence
            curve = [[spread.sum() + 1, mixed], [mixed, spread @ evidence**2 + 1]]
            bias, weight = np.array([bias, weight]) - np.linalg.solve(curve, slope)
        return float(np.clip(weight, 0, _MAX_WEIGHT))

    def log_odds(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log odds of each page by its words, relative to the average page."""
        found = np.zeros(len(pages))
        has_row = pages < len(self._rows)
        words = self._rows[pages[has_row]]
        relevant, other = self._seen[0][words], self._seen[1][words]
        totals = self._totals
        prior = STRENGTH * (relevant + other + 0.5) / (totals.sum() + 1)
        odds = np.log((relevant + prior) / (totals[0] + STRENGTH)) - np.log((other + prior) / (totals[1] + STRENGTH))
        found[has_row] = np.where(words > 0, odds, 0.0).sum(axis=1)
        return found


@kernel
def _add_words(targets: Any, offsets: Any, words: Any, rows: Any) -> None:
    for link in range(len(targets)):
        row = rows[targets[link]]
        for k in range(offsets[link], offsets[link + 1]):
            for slot in range(len(row)):
                if row[slot] == words[k]:
                    break
                if row[slot] == 0:
                    row[slot] = words[k]
                    break
