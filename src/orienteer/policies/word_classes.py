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

    def add(self, kinds: NDArray[np.int64], offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> None:
        """Texts of these classes; text k has `words[offsets[k]:offsets[k+1]]`."""
        lengths = np.diff(offsets)
        np.add.at(self._words, (np.repeat(kinds, lengths), words), 1.0)
        np.add.at(self._n_words, kinds, lengths)
        np.add.at(self._texts, kinds, 1.0)

    def chances(self, offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> NDArray[np.float64]:
        """The probability of each class (columns) for each text (rows), by its words."""
        totals = self._n_words[:, None] + _SMOOTHING * N_BUCKETS
        said = np.log((self._words[:, words] + _SMOOTHING) / totals)
        sums = np.concatenate([np.zeros((len(said), 1)), np.cumsum(said, axis=1)], axis=1)
        known = np.log((self._texts + _SMOOTHING) / (self._texts + _SMOOTHING).sum())
        logs = (sums[:, offsets[1:]] - sums[:, offsets[:-1]]).T + known
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))
