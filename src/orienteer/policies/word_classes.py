"""Multinomial naive Bayes over hashed words, for a few classes: the model of policies trained on other sites."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.extract.tokens import N_BUCKETS
from orienteer.model_file import Arrays, checked_array

_SMOOTHING = 0.1
_WORDS, _TEXTS = "words", "texts"


class WordClasses:
    """Counts of words by class, in arrays."""

    def __init__(self, n_classes: int) -> None:
        self._words: NDArray[np.float64] = np.zeros((n_classes, N_BUCKETS))
        self._n_words: NDArray[np.float64] = np.zeros(n_classes)
        self._texts: NDArray[np.float64] = np.zeros(n_classes)

    @classmethod
    def of_counts(cls, n_classes: int, counts: Arrays) -> WordClasses:
        """Create it from the arrays of `counts`; an InputError if they do not fit the number of classes."""
        made = cls(n_classes)
        made._words = checked_array(counts, _WORDS, (n_classes, N_BUCKETS)).astype(np.float64)
        made._texts = checked_array(counts, _TEXTS, (n_classes,)).astype(np.float64)
        if (made._words < 0).any() or (made._texts < 0).any():
            raise InputError(f"{_WORDS} or {_TEXTS} have negative numbers")
        made._n_words = made._words.sum(axis=1)
        return made

    def counts(self) -> Arrays:
        """Return the counts as arrays."""
        return {_WORDS: self._words, _TEXTS: self._texts}

    @property
    def is_trained(self) -> bool:
        return bool(self._texts.any())

    def add(self, kinds: NDArray[np.int64], offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> None:
        """Add texts of these classes; text k has `words[offsets[k]:offsets[k+1]]`."""
        lengths = np.diff(offsets)
        np.add.at(self._words, (np.repeat(kinds, lengths), words), 1.0)
        np.add.at(self._n_words, kinds, lengths)
        np.add.at(self._texts, kinds, 1.0)

    def chances(self, offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the probability of each class (columns) for each text (rows), by its words.

        Invariant: equal words give equal numbers to the last bit, whatever other texts are in the batch, so that ties
        stay ties.
        """
        totals = self._n_words[:, None] + _SMOOTHING * N_BUCKETS
        likelihoods = np.log((self._words[:, words] + _SMOOTHING) / totals)
        lengths = np.diff(offsets)
        texts = np.repeat(np.arange(len(lengths)), lengths)
        sums = np.stack([np.bincount(texts, by_class, len(lengths)) for by_class in likelihoods], axis=1)
        prior = np.log((self._texts + _SMOOTHING) / (self._texts + _SMOOTHING).sum())
        logs = sums + prior
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))
