"""Logistic regression over the words of a page, by stochastic gradient descent.

    log-odds of a page = bias + sum over words of weight(word) * n(word),   n = log(1 + count), scaled to length 1

The weights of words are fitted jointly, not independently as in naive Bayes, so with some hundred examples relevances
are better calibrated, and pages are ranked better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from orienteer.errors import InputError
from orienteer.model_file import Arrays, checked_array
from orienteer.topics.learning import LearningTopic
from orienteer.topics.topic import PageContent, topic
from orienteer.topics.words import DEFAULT_BUCKETS

_WEIGHTS, _BIAS, _STEPS = "weights", "bias", "steps"
_CLASSES = (False, True)


@topic
class Linear(LearningTopic):
    """Logistic regression; `penalty` is the L2 regularization, `passes` is the number of training epochs."""

    name = "linear"

    def __init__(
        self, penalty: float = 1e-5, passes: int = 20, prior: float = 0.0, buckets: int = DEFAULT_BUCKETS
    ) -> None:
        super().__init__(prior, buckets)
        if not (penalty > 0 and math.isfinite(penalty)):
            raise InputError(f"penalty is {penalty}; it must be above 0")
        if passes < 1:
            raise InputError(f"passes is {passes}; it must be 1 or more")
        self.penalty, self.passes = float(penalty), passes
        self._estimator = self._new_estimator()

    @property
    def n_words(self) -> int:
        return int(np.count_nonzero(self._estimator.coef_))

    def train(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        self._learn(pages, is_on_topic, self.passes)

    def _new_estimator(self) -> Any:
        from sklearn.linear_model import SGDClassifier

        # A fixed seed for shuffling makes training deterministic.
        return SGDClassifier(loss="log_loss", alpha=self.penalty, random_state=0)

    def _features(self, pages: Sequence[PageContent]) -> csr_array:
        features = super()._features(pages)
        rows = np.repeat(np.arange(len(pages)), np.diff(features.indptr))
        lengths = np.sqrt(np.bincount(rows, features.data**2, len(pages)))
        features.data /= lengths[rows]
        return features

    def _partial_fit(self, features: csr_array, labels: NDArray[np.bool_], n_passes: int) -> None:
        for _ in range(n_passes):
            self._estimator.partial_fit(features, labels, classes=_CLASSES)

    def _word_weights(self) -> NDArray[np.float64]:
        return np.asarray(self._estimator.coef_[0], np.float64)

    def _bias(self) -> float:
        """Return the intercept, corrected from the share of pages on topic among the examples to the prior."""
        return float(self._estimator.intercept_[0]) + self._prior_odds() - self._example_odds()

    def _parameters(self) -> Arrays:
        estimator = self._estimator
        return {_WEIGHTS: estimator.coef_, _BIAS: estimator.intercept_, _STEPS: np.array([estimator.t_])}

    def _set_parameters(self, learned: Arrays, shape: tuple[int, int]) -> None:
        weights = checked_array(learned, _WEIGHTS, (1, shape[1]))
        bias, steps = checked_array(learned, _BIAS, (1,)), checked_array(learned, _STEPS, (1,))
        self._estimator = self._new_estimator()
        # The estimator allocates its weights in the first fit.
        self._estimator.partial_fit(csr_array((1, shape[1])), [False], classes=_CLASSES)
        self._estimator.coef_, self._estimator.intercept_ = weights.astype(np.float64), bias.astype(np.float64)
        self._estimator.t_ = float(steps[0])
