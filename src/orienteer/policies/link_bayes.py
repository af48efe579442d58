"""What the words of its links say of a page: naive Bayes, learned while the crawl goes on.

Of each page the first words of the links to it are kept (`WIDTH` of them, each once). When it is judged, its words
have been seen with that relevance. A page that waits is more or less likely to be relevant than the average page, by
the sum over its words of

    log P(word | relevant) - log P(word | not relevant)

where each probability is counted and drawn towards the word's frequency on all pages with the weight of `STRENGTH`
pages: a word that says nothing yet counts nothing.

Words of a link are not independent, and on some sites they say nothing at all. So how far they are believed is learned,
too: of the last pages that were judged it is kept what had been expected of them without the words, and what the words
said *before* the page was seen. The weight of the words is the one that would have foretold these pages best (logistic
regression on top of the expectation, drawn towards 0).
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

_N_REMEMBERED = 1000  # pages that the weight is learned from
_N_NEEDED = 10
_MOST_BELIEVED = 2.0
_NEWTON_STEPS = 6


class LinkBayes:
    """Words of pages by the links to them, and how often each was right. All of it is in arrays."""

    def __init__(self) -> None:
        self._rows: NDArray[np.uint16] = np.zeros((0, WIDTH), np.uint16)  # 0: no word
        self._seen: NDArray[np.float64] = np.zeros((2, N_BUCKETS))  # pages with the word: relevant, not relevant
        self._totals: NDArray[np.float64] = np.zeros(2)
        self._trials: NDArray[np.float64] = np.zeros((3, _N_REMEMBERED))  # expected, by the words, relevance
        self._n_trials = 0

    def note(self, link_words: LinkWords, n_pages: int) -> None:
        """A page has links with these words."""
        if len(link_words.words) == 0:
            return
        if n_pages > len(self._rows):
            self._rows = grown(self._rows.reshape(-1), n_pages * WIDTH).reshape(-1, WIDTH)
        _note(link_words.targets, link_words.offsets, link_words.words, self._rows)

    def judge(self, page: int, relevance: float) -> None:
        """A page has been judged."""
        if page < len(self._rows):
            words = self._rows[page]
            words = words[words > 0]
            self._seen[0, words] += relevance
            self._seen[1, words] += 1 - relevance
            self._totals += (relevance, 1 - relevance)

    def try_on(self, page: int, expected: float, relevance: float) -> None:
        """A page is about to be judged: `expected` are the log odds of its relevance without the words."""
        at = self._n_trials % _N_REMEMBERED
        self._trials[:, at] = expected, self.log_odds(np.array([page]))[0], relevance
        self._n_trials += 1

    def weight(self) -> float:
        """How far the words are to be believed: 0 is not at all, 1 as if they were independent."""
        if self._n_trials < _N_NEEDED:
            return 0.0
        expected, said, relevance = self._trials[:, : self._n_trials]
        bias, weight = 0.0, 0.0
        for _ in range(_NEWTON_STEPS):
            chance = 1 / (1 + np.exp(-np.clip(bias + expected + weight * said, -30, 30)))
            excess, spread = chance - relevance, chance * (1 - chance)
            slope = [excess.sum() + bias, excess @ said + weight]
            mixed = spread @ said
            curve = [[spread.sum() + 1, mixed], [mixed, spread @ said**2 + 1]]
            bias, weight = np.array([bias, weight]) - np.linalg.solve(curve, slope)
        return float(np.clip(weight, 0, _MOST_BELIEVED))

    def log_odds(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much the words speak for each page: the logarithm of the factor on its odds."""
        found = np.zeros(len(pages))
        has_row = pages < len(self._rows)
        words = self._rows[pages[has_row]]
        relevant, other = self._seen[0][words], self._seen[1][words]
        totals = self._totals
        usual = STRENGTH * (relevant + other + 0.5) / (totals.sum() + 1)
        odds = np.log((relevant + usual) / (totals[0] + STRENGTH)) - np.log((other + usual) / (totals[1] + STRENGTH))
        found[has_row] = np.where(words > 0, odds, 0.0).sum(axis=1)
        return found


@kernel
def _note(targets: Any, offsets: Any, words: Any, rows: Any) -> None:
    for link in range(len(targets)):
        row = rows[targets[link]]
        for k in range(offsets[link], offsets[link + 1]):
            for place in range(len(row)):
                if row[place] == words[k]:
                    break
                if row[place] == 0:
                    row[place] = words[k]
                    break
