"""Multinomial naive Bayes over the words of a page.

    log-odds of a page = log prior odds + sum over words of n(word) * log(P(word | on) / P(word | off))
    P(word | c) = (occurrences in c + smoothing) / (all occurrences in c + smoothing * buckets),   n = log(1 + count)

Learning page by page gives the same result as learning from all pages at once, since only occurrences are added up. The
model assumes that the words of a page are independent, which they are not, so most relevances are close to 0 or 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orienteer.errors import InputError
from orienteer.model_file import Arrays, checked_array
from orienteer.topics.learning import LearningTopic
from orienteer.topics.topic import topic
from orienteer.topics.words import DEFAULT_BUCKETS

_OCCURRENCES = "occurrences"
_CLASSES = (False, True)


@topic
class Bayes(LearningTopic):
    """Naive Bayes over word counts of pages on topic and off topic (McCallum & Nigam 1998)."""

    name = "bayes"

    def __init__(self, smoothing: float = 0.01, prior: float = 0.0, buckets: int = DEFAULT_BUCKETS) -> None:
        super().__init__(prior, buckets)
        if not (smoothing > 0 and math.isfinite(smoothing)):
            raise InputError(f"smoothing is {smoothing}; it must be above 0")
        self.smoothing = float(smoothing)
        self._estimator = self._new_estimator()

    @property
    def n_words(self) -> int:
        return int(self._estimator.feature_count_.any(axis=0).sum())

    def _new_estimator(self) -> Any:
        from sklearn.naive_bayes import MultinomialNB

        return MultinomialNB(alpha=self.smoothing)

    def _partial_fit(self, features: csr_array, labels: NDArray[np.bool_], n_passes: int) -> None:
        self._estimator.partial_fit(features, labels, classes=_CLASSES)

    def _word_weights(self) -> NDArray[np.float64]:
        off, on = self._estimator.feature_log_prob_
        return np.asarray(on - off)

    def _bias(self) -> float:
        return self._prior_odds()

    def _parameters(self) -> Arrays:
        return {_OCCURRENCES: self._estimator.feature_count_}

    def _set_parameters(self, learned: Arrays, shape: tuple[int, int]) -> None:
        occurrences = checked_array(learned, _OCCURRENCES, shape)
        if (occurrences < 0).any():
            raise InputError(f"{_OCCURRENCES} holds numbers below 0")
        # Fitting two pages, one of each class, with all the words of the examples restores the counts.
        self._estimator = self._new_estimator()
        self._estimator.partial_fit(csr_array(occurrences), _CLASSES, classes=_CLASSES)
