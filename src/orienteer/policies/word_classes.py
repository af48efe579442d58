"""Multinomial naive Bayes over hashed words, for a few classes: what policies that train on other sites share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.tokens import N_BUCKETS

_SMOOTHING = 0.1


class WordClasses:
    """Counts of words by class. All of it is in arrays."""

    def __init__(self, n_classes: int) -> None:
        self._words: NDArray[np.float64] = np.zeros((n_classes, N_BUCKETS))
        self._n_words: NDArray[np.float64] = np.zeros(n_classes)
        self._texts: NDArray[np.float64] = np.zeros(n_classes)

    @property
    def is_trained(self) -> bool:
        return bool(self._texts.any())

    def add(self, kind: int, words: NDArray[np.uint32]) -> None:
        """A text of this class."""
        np.add.at(self._words[kind], words, 1.0)
        self._n_words[kind] += len(words)
        self._texts[kind] += 1

    def chances(self, words: NDArray[np.uint32]) -> NDArray[np.float64]:
        """The probability of each class, by the words of a text."""
        totals = self._n_words[:, None] + _SMOOTHING * N_BUCKETS
        said = np.log((self._words[:, words] + _SMOOTHING) / totals).sum(axis=1)
        logs = said + np.log((self._texts + _SMOOTHING) / (self._texts + _SMOOTHING).sum())
        chances = np.exp(logs - logs.max())
        return np.asarray(chances / chances.sum())
